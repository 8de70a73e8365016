//! Owns: `Keeper`: one program over ranks: what this one says to others, hears of them, and who stands in for them.
//! May use: `outcome`, `raddle-core`, `raddle-vm`.
//! Never: MPI; who calls brings a [`RankLink`].
//!
//! | file | what |
//! |---|---|
//! | `join` | how a rank joins the program |
//! | `placed` | a PLACED PAR begins and ends, by a worker |
//! | `hear` | what others say while the program runs, and who hears it |
//! | `pauses` | who pauses before it looks for that, and who is woken |
//! | `far` | channels whose other end is on another rank |
//! | `touch` | which rank uses which end of a channel |
//! | `still` | whether anything can go on, anywhere |
//! | `alive` | whether each rank still says that it is there |
//! | `frame` | what is said |
//! | `screen` | the screen of ranks that are not the first |
//!
//! The program begins at rank 0. Others wait for the image that rank 0 makes where a PLACED PAR begins, go on as that,
//! run the branches that are theirs, and wait for the next one: what stands behind a PLACED PAR is rank 0's alone, as
//! are the screen, to which others' output is sent, and the keyboard.
//!
//! Workers send by themselves, for which nothing ever waits, and hear by themselves. All that is known of other ranks
//! is under one lock.

mod alive;
mod far;
mod frame;
mod hear;
mod join;
mod pauses;
mod placed;
mod screen;
mod still;
mod touch;

pub(crate) use screen::FarScreen;

use crate::outcome::RankOutcome;
use alive::{HeardOf, SaysAlive};
use far::{FarEnd, OwedFrames};
use frame::{FrameCounts, RankFrame};
use hear::Hearing;
use raddle_core::engine::Handle;
use raddle_vm::{Ranks, WorkerLocal};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
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

    /// A message that is here. Never waits; called by one OS thread at a time, and not while one waits by
    /// [`receive`](Self::receive).
    ///
    /// # Errors
    /// Why none comes any more.
    fn look(&self) -> Result<Option<(usize, Vec<u8>)>, String>;

    /// How long one may pause before the next look: a part of the time in which nothing has moved, and next to nothing
    /// while the bytes of a message do, which they may only when somebody looks.
    fn lull(&self) -> Duration;

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
    hearing: Hearing,
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
    owed: OwedFrames,
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
        let (state, stand_ins, hearing) = (Mutex::default(), OnceLock::new(), Hearing::new());
        Keeper { link, rank, size, state, stand_ins, heard_of, says, hearing }
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

    /// The same, if nobody has it.
    fn try_state(&self) -> Option<MutexGuard<'_, KeeperState>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn ranks(&self) -> Ranks {
        Ranks { rank: self.rank as u32, size: self.size as u32 }
    }

    fn send(&self, state: &mut KeeperState, rank: usize, frame: &RankFrame) {
        if state.owed.is_to(rank) {
            self.pay(state);
        }
        state.counts.sent += u64::from(frame.is_work());
        let sent = self.link.send(rank, frame.write());
        self.hearing.stir();
        // A rank that has ended well may be gone before this one hears so: that this one stands still it need not know.
        if let Some(error) = sent.err().filter(|_| frame.is_work()) {
            state.outcome.told.get_or_insert(error);
        }
    }

    fn send_to_others(&self, state: &mut KeeperState, frame: &RankFrame) {
        let others = (0..self.size).filter(|rank| *rank != self.rank);
        others.for_each(|rank| self.send(state, rank, frame));
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

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}
