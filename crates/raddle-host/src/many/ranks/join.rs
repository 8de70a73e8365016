//! Owns: how a rank joins the program: the same as all others', and the memory that rank 0 gives it.
//! May use: `outcome`, `raddle-core`, `raddle-vm`.
//! Never: anything that runs meanwhile on this rank.

use super::alive::HeardOf;
use super::frame::{Account, FRAMES, RankFrame};
use super::{Keeper, KeeperState, not_understood};
use crate::outcome::RankOutcome;
use raddle_core::engine::Link;
use raddle_vm::{Machine, UsedEnds};
use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

impl Keeper {
    /// All ranks are to run the same program.
    ///
    /// # Errors
    /// If they do not, or if this one has nothing to do.
    pub(crate) fn compare_programs(&self, hash: u64) -> Result<(), RankOutcome> {
        let mut state = self.state();
        if self.rank != 0 {
            self.send(&mut state, 0, &RankFrame::Program { frames: FRAMES, hash });
            return Ok(());
        }
        let mut heard = BTreeSet::from([0]);
        while heard.len() < self.size {
            let (from, frame) = self.hear().map_err(RankOutcome::told)?;
            match frame {
                Some(RankFrame::Program { frames, .. }) if frames != FRAMES => {
                    let text = format!(
                        "rank {from} is of another build of Raddle than rank 0: it speaks frames {frames}, rank 0 \
                         frames {FRAMES}; all are to be of one build"
                    );
                    return Err(RankOutcome::told(text));
                }
                Some(RankFrame::Program { hash: theirs, .. }) if theirs == hash => {
                    heard.insert(from);
                }
                Some(RankFrame::Program { .. }) => {
                    let text = format!(
                        "rank {from} runs another program than rank 0: channels between them would carry other messages"
                    );
                    return Err(RankOutcome::told(text));
                }
                Some(RankFrame::End { .. }) => {
                    return Err(RankOutcome { ended_by: Some(from), ..RankOutcome::default() });
                }
                // Before its image no rank says anything else.
                _ => return Err(RankOutcome::told(not_understood(from))),
            }
        }
        Ok(())
    }

    /// Waits for what is said, before anything runs here.
    fn hear(&self) -> Result<(usize, Option<RankFrame>), String> {
        loop {
            let came = self.link.receive(self.patience())?;
            let frame = came.map(|(from, bytes)| (from, RankFrame::read(&bytes)));
            self.note_heard(frame.as_ref().map(|(from, _)| *from))?;
            match frame {
                Some((_, Some(RankFrame::Alive))) | None => {}
                Some(frame) => return Ok(frame),
            }
        }
    }

    fn heard_of(&self) -> MutexGuard<'_, HeardOf> {
        self.heard_of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long to wait for a message.
    pub(super) fn patience(&self) -> Duration {
        self.heard_of().patience()
    }

    /// Something has come of that rank, or nothing.
    ///
    /// # Errors
    /// Which rank is given up.
    pub(super) fn note_heard(&self, from: Option<usize>) -> Result<(), String> {
        let noted = self.heard_of().note(from);
        noted.inspect_err(|_| self.state().outcome.is_lost = true)
    }

    /// Waits until there is something to do for this rank, and makes that of the machine's main process. False if
    /// there is nothing any more.
    ///
    /// # Errors
    /// Why this rank cannot.
    pub(crate) fn wait_for_image(&self, machine: &Machine<Link>) -> Result<bool, RankOutcome> {
        loop {
            let (from, frame) = self.hear().map_err(RankOutcome::told)?;
            let mut state = self.state();
            match frame {
                Some(RankFrame::Image { epoch, image }) => {
                    return self.take_image(machine, &mut state, epoch, &image).map(|()| true);
                }
                Some(RankFrame::End { well: true }) => return Ok(false),
                Some(RankFrame::End { well: false }) => {
                    return Err(RankOutcome { ended_by: Some(from), ..RankOutcome::default() });
                }
                Some(RankFrame::Ask { wave }) => {
                    let answer = RankFrame::Answer { wave, still: true, counts: state.counts };
                    self.send(&mut state, 0, &answer);
                }
                Some(RankFrame::Tell) => {
                    self.send_to_others(&mut state, &RankFrame::Uses(UsedEnds::default()));
                    let text = format!("rank {} waits for a PLACED PAR to begin\n", self.rank);
                    self.send(&mut state, 0, &RankFrame::Told(Account { waits: Vec::new(), text }));
                }
                Some(RankFrame::Uses(_)) => {}
                Some(frame) => state.early.push((from, frame)),
                None => return Err(RankOutcome::told(not_understood(from))),
            }
        }
    }

    pub(super) fn take_image(
        &self,
        machine: &Machine<Link>,
        state: &mut KeeperState,
        epoch: u32,
        image: &[u8],
    ) -> Result<(), RankOutcome> {
        state.counts.handled += 1;
        state.begin_epoch(epoch);
        machine.become_image(image).ok_or_else(|| {
            let bytes = machine.memory_bytes();
            RankOutcome::told(format!(
                "rank {}: what the program has in memory at rank 0 does not fit into the {} MiB that there are here",
                self.rank,
                bytes >> 20
            ))
        })
    }
}
