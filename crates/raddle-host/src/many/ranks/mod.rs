//! Owns: `Keeper`: one program over ranks: what this one says to others, hears of them, and who stands in for them.
//! May use: `outcome`, `world`, `raddle-core`, `raddle-vm`.
//! Never: MPI; who calls brings a [`RankLink`].
//!
//! | file | what |
//! |---|---|
//! | here | a PLACED PAR begins and ends, by a worker; the OS thread that hears |
//! | `far` | channels whose other end is on another rank |
//! | `touch` | which rank uses which end of a channel |
//! | `still` | whether anything can go on, anywhere |
//! | `alive` | whether each rank still says that it is there |
//! | `frame` | what is said |
//!
//! The program begins at rank 0. Others wait for the image that rank 0 makes where a PLACED PAR begins, go on as that,
//! run the branches that are theirs, and wait for the next one: what stands behind a PLACED PAR is rank 0's alone, as
//! are the screen, to which others' output is sent, and the keyboard.
//!
//! Workers send by themselves, for which nothing ever waits; an OS thread hears. All that is known of other ranks is
//! under one lock.

mod alive;
mod far;
mod frame;
mod still;
mod touch;

use super::MachineHost;
use crate::Failure;
use crate::many::outside::FromOutside;
use crate::outcome::RankOutcome;
use crate::world::World;
use alive::{HeardOf, SaysAlive};
use far::FarEnd;
use frame::{Account, FrameCounts, RankFrame};
use raddle_core::engine::{Handle, Link};
use raddle_vm::{Machine, Port, Process, Ranks, UsedEnds, WorkerLocal};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use still::StillTable;
use touch::TouchTable;

/// What carries messages between the ranks that run one program.
pub trait RankLink: Send + Sync + 'static {
    /// This one's number, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Sends a message to a rank, perhaps this one, and does not wait until it is received. What is sent to one rank
    /// arrives in its order.
    ///
    /// # Errors
    /// Why it cannot.
    fn send(&self, rank: usize, message: Vec<u8>) -> Result<(), String>;

    /// Waits for a message, for at most so long: then there is none. Called by one OS thread at a time.
    ///
    /// # Errors
    /// Why none comes any more.
    fn receive(&self, patience: Duration) -> Result<Option<(usize, Vec<u8>)>, String>;

    /// After what time a rank that says nothing is given up.
    fn deadline(&self) -> Duration;
}

/// One rank's part.
pub(crate) struct Keeper {
    link: Arc<dyn RankLink>,
    rank: usize,
    size: usize,
    state: Mutex<KeeperState>,
    /// Whose the stand-ins are.
    stand_ins: OnceLock<Handle>,
    heard_of: Mutex<HeardOf>,
    says: SaysAlive,
}

#[derive(Default)]
pub(super) struct KeeperState {
    /// Which PLACED PAR it is, from 1.
    epoch: u32,
    /// It has begun here and not ended.
    is_placed: bool,
    local: WorkerLocal,
    /// The channels that it mentions.
    placed: BTreeSet<u32>,
    touches: TouchTable,
    far: BTreeMap<u32, FarEnd>,
    by_process: BTreeMap<u32, u32>,
    /// Stand-ins that nobody needs.
    idle: Vec<u32>,
    /// Those that nobody needs when a worker has run them.
    leaving: BTreeSet<u32>,
    /// Rank 0: who has ended its branches.
    done: BTreeSet<usize>,
    /// What was said of a PLACED PAR that has not begun here.
    early: Vec<(usize, RankFrame)>,
    counts: FrameCounts,
    still: StillTable,
    outcome: RankOutcome,
}

impl Keeper {
    pub(crate) fn new(link: Arc<dyn RankLink>) -> Keeper {
        let (rank, size) = (link.rank(), link.size());
        let heard_of = Mutex::new(HeardOf::new((rank, size), link.deadline()));
        let says = SaysAlive::begin(&link);
        Keeper { link, rank, size, state: Mutex::default(), stand_ins: OnceLock::new(), heard_of, says }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.size == 1
    }

    pub(crate) fn is_first(&self) -> bool {
        self.rank == 0
    }

    fn state(&self) -> MutexGuard<'_, KeeperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ranks(&self) -> Ranks {
        Ranks { rank: self.rank as u32, size: self.size as u32 }
    }

    fn send(&self, state: &mut KeeperState, rank: usize, frame: &RankFrame) {
        state.counts.sent += u64::from(frame.is_work());
        if let Err(error) = self.link.send(rank, frame.write()) {
            state.outcome.told.get_or_insert(error);
        }
    }

    fn send_to_others(&self, state: &mut KeeperState, frame: &RankFrame) {
        let others = (0..self.size).filter(|rank| *rank != self.rank);
        others.for_each(|rank| self.send(state, rank, frame));
    }

    /// All ranks are to run the same program.
    ///
    /// # Errors
    /// If they do not, or if this one has nothing to do.
    pub(crate) fn compare_programs(&self, hash: u64) -> Result<(), RankOutcome> {
        let mut state = self.state();
        if self.rank != 0 {
            self.send(&mut state, 0, &RankFrame::Program(hash));
            return Ok(());
        }
        let mut heard = BTreeSet::from([0]);
        while heard.len() < self.size {
            let (from, frame) = self.hear().map_err(RankOutcome::told)?;
            match frame {
                Some(RankFrame::Program(theirs)) if theirs == hash => {
                    heard.insert(from);
                }
                Some(RankFrame::Program(_)) => {
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

    fn hear(&self) -> Result<(usize, Option<RankFrame>), String> {
        let mut heard_of = self.heard_of.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let came = self.link.receive(heard_of.patience())?;
            let frame = came.map(|(from, bytes)| (from, RankFrame::read(&bytes)));
            if let Err(lost) = heard_of.note(frame.as_ref().map(|(from, _)| *from)) {
                self.state().outcome.is_lost = true;
                return Err(lost);
            }
            match frame {
                Some((_, Some(RankFrame::Alive))) | None => {}
                Some(frame) => return Ok(frame),
            }
        }
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

    fn take_image(
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

    /// Nothing more is to be received: whoever hears is told.
    pub(super) fn quit(&self) {
        let _gone = self.link.send(self.rank, RankFrame::Quit.write());
    }

    /// The program has ended here: tells all others, and says what was heard of them.
    pub(crate) fn end(&self, well: bool) -> RankOutcome {
        self.says.end();
        let mut state = self.state();
        let outcome = state.outcome.clone();
        // Who goes on as long as rank 0 does has nothing to tell.
        if !well || self.rank == 0 {
            self.send_to_others(&mut state, &RankFrame::End { well });
        }
        outcome
    }

    /// The same, of one that could not begin.
    pub(crate) fn end_unbegun(&self, outcome: RankOutcome) -> RankOutcome {
        let mut state = self.state();
        let is_lost = state.outcome.is_lost;
        state.outcome = RankOutcome { is_lost, ..outcome };
        drop(state);
        self.end(false)
    }
}

impl KeeperState {
    /// What others have touched in the last one, after it had ended here, is over.
    fn begin_epoch(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.touches.forget_others();
    }
}

fn not_understood(from: usize) -> String {
    format!("rank {from} says what cannot be read: is it the same raddle?")
}

/// The world of a rank that is not the first: its screen is rank 0's.
pub(crate) struct FarScreen {
    pub(crate) world: Arc<dyn World>,
    pub(crate) keeper: Arc<Keeper>,
}

impl World for FarScreen {
    fn output(&self, port: Port, bytes: &[u8]) {
        let frame = RankFrame::Output { port, bytes: bytes.to_vec() };
        let _gone = self.keeper.link.send(0, frame.write());
    }

    fn key(&self) -> Option<u8> {
        None
    }

    fn wants_end(&self) -> bool {
        self.world.wants_end()
    }

    fn holds_memory(&self) -> bool {
        self.world.holds_memory()
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.world.call(number, words)
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

/// A PLACED PAR, as a worker comes to it.
impl Keeper {
    /// Its handle, by which the machine's stand-ins come back.
    pub(super) fn has_stand_ins(&self, handle: Handle) {
        assert!(self.stand_ins.set(handle).is_ok(), "one machine to a keeper");
    }

    pub(super) fn is_placed(&self) -> bool {
        self.state().is_placed
    }

    /// Among which ranks it is placed.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn begin(
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
        Ok(self.ranks())
    }

    /// It mentions that channel.
    pub(super) fn place_channel(&self, channel: u32) {
        self.state().placed.insert(channel);
    }

    /// Its branches have ended on this rank.
    pub(super) fn end_placed(&self, host: &MachineHost<'_>) -> Result<(), String> {
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
    fn has_done(&self, host: &MachineHost<'_>, state: &mut KeeperState, rank: usize) {
        state.done.insert(rank);
        if state.done.len() == self.size {
            state.done.clear();
            state.is_placed = false;
            host.machine.ring(&FromOutside { host }, host.machine.main().id());
        }
    }
}

/// The OS thread that hears.
impl Keeper {
    /// Hears until it is told to [quit](Self::quit), or that the program is over.
    pub(super) fn listen(&self, host: &MachineHost<'_>) {
        loop {
            match self.hear() {
                Ok((from, Some(frame))) => {
                    if !self.handle(host, from, frame) {
                        return;
                    }
                }
                Ok((from, None)) => return self.fail(host, not_understood(from)),
                Err(error) => return self.fail(host, error),
            }
        }
    }

    /// What another rank says; false if that is the last that is heard.
    fn handle(&self, host: &MachineHost<'_>, from: usize, frame: RankFrame) -> bool {
        let mut state = self.state();
        match frame {
            RankFrame::Quit => return false,
            RankFrame::End { well: true } => {
                host.end(None);
                host.gate.stop();
                return false;
            }
            RankFrame::End { well: false } => {
                state.outcome.ended_by.get_or_insert(from);
                host.end_from_outside(Failure::Quit);
                return false;
            }
            RankFrame::Output { port, bytes } => host.screen.write(port, &bytes),
            frame => {
                let heard = self.handle_work(host, &mut state, from, frame);
                drop(state);
                if let Err(text) = heard {
                    self.fail(host, text);
                    return false;
                }
            }
        }
        true
    }

    fn handle_work(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        from: usize,
        frame: RankFrame,
    ) -> Result<(), String> {
        if let RankFrame::Image { epoch, image } = frame {
            return self.next_image(host, state, epoch, &image);
        }
        if frame.epoch().is_some_and(|epoch| epoch > state.epoch) {
            state.early.push((from, frame));
            return Ok(());
        }
        state.counts.handled += u64::from(frame.is_work());
        if frame.epoch().is_some_and(|epoch| epoch < state.epoch) {
            // A first touch whose channel nobody used here: its rank has ended that PLACED PAR since, and rank 0, whose
            // frames come another way, begun the next one.
            return Ok(());
        }
        match frame {
            RankFrame::Touched { channel, end, .. } => self.others_touch(host, state, (channel, end), from),
            RankFrame::Offer { channel, message, .. } => self.offered(host, state, (from, channel), &message),
            RankFrame::Taken { channel, .. } => self.taken(host, state, channel),
            RankFrame::Done { .. } => {
                self.has_done(host, state, from);
                Ok(())
            }
            frame => self.handle_still(host, state, from, frame),
        }
    }

    /// Another PLACED PAR: the machine has come to the end of the last one.
    fn next_image(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        epoch: u32,
        image: &[u8],
    ) -> Result<(), String> {
        if state.is_placed {
            return Err(not_understood(0));
        }
        let taken = self.take_image(host.machine, state, epoch, image);
        taken.map_err(|outcome| outcome.told.unwrap_or_default())?;
        self.handle_early(host, state)?;
        host.machine.ring(&FromOutside { host }, host.machine.main().id());
        Ok(())
    }

    /// What was said too early is no longer.
    pub(super) fn begin_to_hear(&self, host: &MachineHost<'_>) {
        let mut state = self.state();
        let heard = self.handle_early(host, &mut state);
        drop(state);
        if let Err(text) = heard {
            self.fail(host, text);
        }
    }

    fn handle_early(&self, host: &MachineHost<'_>, state: &mut KeeperState) -> Result<(), String> {
        for (from, frame) in std::mem::take(&mut state.early) {
            self.handle_work(host, state, from, frame)?;
        }
        Ok(())
    }

    /// The program ends for a reason that is not one process's.
    pub(super) fn fail(&self, host: &MachineHost<'_>, text: String) {
        self.state().outcome.told.get_or_insert(text);
        host.end_from_outside(Failure::Quit);
    }

    /// Notes why a process cannot go on, which its report says less well.
    pub(super) fn note(&self, text: String) {
        self.state().outcome.told.get_or_insert(text);
    }
}
