//! Owns: a PLACED PAR, as a worker comes to it: where it begins, and where its branches have ended.
//! May use: `many`, `raddle-core`, `raddle-vm`.
//! Never: a wait; who has to wait for other ranks is parked.

use super::Keeper;
use super::KeeperState;
use super::frame::RankFrame;
use crate::many::MachineHost;
use crate::many::outside::FromOutside;
use raddle_core::engine::{Handle, Link};
use raddle_vm::{Process, Ranks};

impl Keeper {
    /// Its handle, by which the machine's stand-ins come back.
    pub(in crate::many) fn has_stand_ins(&self, handle: Handle) {
        assert!(self.stand_ins.set(handle).is_ok(), "one machine to a keeper");
    }

    pub(in crate::many) fn is_placed(&self) -> bool {
        self.state().is_placed
    }

    /// Among which ranks it is placed.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(in crate::many) fn begin(
        &self,
        host: &MachineHost<'_>,
        process: &Process<Link>,
        may: bool,
    ) -> Result<Ranks, String> {
        let mut state = self.state();
        if self.size == 1 || state.is_placed {
            return Ok(Ranks::ALONE);
        }
        if !may {
            return Err("of its source, `raddle check --deny O0506` says why".to_owned());
        }
        if !host.machine.lives_alone(process) {
            return Err("it stands beside other processes, which all ranks would have".to_owned());
        }
        if self.rank == 0 {
            let epoch = state.epoch + 1;
            state.begin_epoch(epoch);
            let no_memory = || "there is no memory for what others need to begin".to_owned();
            let image = host.machine.image(process).ok_or_else(no_memory)?;
            let frame = RankFrame::Image { epoch: state.epoch, image };
            self.send_to_others(&mut state, &frame);
        }
        state.is_placed = true;
        if self.rank == 0 {
            self.hearing.expect(true);
        }
        Ok(self.ranks())
    }

    /// It mentions that channel.
    pub(in crate::many) fn place_channel(&self, channel: u32) {
        self.state().placed.insert(channel);
    }

    /// Its branches have ended on this rank.
    pub(in crate::many) fn end_placed(&self, host: &MachineHost<'_>) -> Result<(), String> {
        // What they have written is to be read before they have ended.
        host.screen.flush();
        let mut state = self.state();
        self.let_all_go(host, &mut state)?;
        if self.rank == 0 {
            self.has_done(host, &mut state, 0);
        } else {
            state.is_placed = false;
            let frame = RankFrame::Done { epoch: state.epoch };
            self.send(&mut state, 0, &frame);
        }
        Ok(())
    }

    /// A rank has ended its branches; when all have, rank 0 goes on.
    pub(super) fn has_done(&self, host: &MachineHost<'_>, state: &mut KeeperState, rank: usize) {
        state.done.insert(rank);
        if state.done.len() == self.size {
            state.done.clear();
            state.is_placed = false;
            self.hearing.expect(false);
            host.machine.ring(&FromOutside { host }, host.machine.main().id());
        }
    }
}
