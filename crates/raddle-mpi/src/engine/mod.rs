//! Owns: the proxy: what is under way, the lock under which MPI is called, and who looks after it.
//! May use: `auto`, `channel`, `choice`, `late`, `link`, `post`, `shim`, `traced`, `raddle-core`,
//! `raddle-syscall`.
//! Never: a switch of stacks, or a wait, while the lock is held.
//!
//! Any OS thread may poll, one at a time (`MPI_THREAD_SERIALIZED`). Who does depends on the mode. Polls that come
//! too soon after one that has found nothing are left out: the gap begins with 200 us, doubles after each poll that
//! finds nothing, up to 2 ms, and halves when something is done. While somebody waits, nothing is left out, but in a
//! lull (`lull`).

mod begin;
mod channels;
mod choose;
mod end;
mod give_up;
mod look;
mod lull;
mod wait;

pub(crate) use channels::{AtDeadline, WaitsAtEnd, WaitsLong};

use crate::auto::Auto;
use crate::channel::ChannelTable;
use crate::choice::Choices;
use crate::late::OnLate;
use crate::link::{EmulatedLink, Pipes};
use crate::post::Post;
use crate::shim::{MpiRefusal, Shim};
use crate::traced::Traced;
use raddle_core::door::poller::Poller;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

const GAP_MIN_NS: u64 = 200_000;
pub(crate) const GAP_MAX_NS: u64 = 2_000_000;
/// How soon an idle worker looks again while somebody waits.
const IDLE: Duration = Duration::from_micros(20);
/// The code by which a job ends in which something came too late; `sysexits.h` calls it an internal error.
pub(crate) const LATE_CODE: i32 = 70;

#[derive(Default)]
struct Tally {
    polls: AtomicU64,
    empty: AtomicU64,
    longest_gap_ns: AtomicU64,
    /// The same since mode `Auto` has asked last.
    gap_of_late_ns: AtomicU64,
    polling_ns: AtomicU64,
    /// As much of that was not the keeper's.
    by_others_ns: AtomicU64,
    /// The processor time of the keeper.
    keeper_ns: AtomicU64,
}

/// What came of a message.
type TransferResult = Result<usize, MpiRefusal>;

/// A message under way.
struct ActiveRequest {
    word: u64,
    index: usize,
    post: Arc<Post>,
    /// What an emulated link has yet to move of it, and what MPI has said of it meanwhile.
    left: f64,
    told: Option<TransferResult>,
}

#[derive(Default)]
struct Underway {
    active: Vec<ActiveRequest>,
    /// Those that are active, and those that wait for one of them; what channels have under way.
    pending: usize,
    poller: Option<Arc<Poller>>,
    pipes: Option<Pipes>,
    /// What tasks await, and when that is late.
    awaited: Vec<(u64, Weak<Post>)>,
    /// Posts of plans that went while they were under way: their requests are still to be freed.
    orphans: Vec<Arc<Post>>,
    /// When it was last asked whether another rank has given up.
    heard_ns: u64,
    /// The ends of channels, which count in `pending`, too.
    channels: ChannelTable,
    is_over: bool,
}

/// Messages that are done, and what came of each.
type Finished = Vec<(Arc<Post>, usize, TransferResult)>;

pub(crate) struct Engine {
    pub(crate) shim: Shim,
    state: Mutex<Underway>,
    /// As much as `state.pending`.
    outstanding: AtomicUsize,
    waiting: AtomicUsize,
    /// How many calls are awaited.
    pub(crate) awaited: AtomicUsize,
    mode: AtomicU8,
    core: AtomicI32,
    choices: Choices<Auto>,
    on_late: OnLate,
    /// The rank, and how many there are.
    place: OnceLock<(usize, usize)>,
    /// Which rank has given up, and why, if this or another one has told all.
    given_up: OnceLock<(usize, String)>,
    /// How many persistent requests there are.
    pub(crate) requests: AtomicUsize,
    gap_ns: AtomicU64,
    next_ns: AtomicU64,
    last_ns: AtomicU64,
    /// When something last moved here: see `lull`.
    stirred_ns: AtomicU64,
    tally: Tally,
    pub(crate) traced: Traced,
    epoch: Instant,
    /// Changed whenever the keeper has something to look at; its lowest bit says that it is to end.
    pub(crate) doorbell: AtomicU32,
    /// Something came too late: the job cannot end in good order any more.
    pub(crate) is_broken: AtomicBool,
}

/// The modes in which workers look, and in which the keeper does; 0 is `Inline`.
const SHARED: u8 = 1;
const DEDICATED: u8 = 2;
const WATCHED: u8 = 3;

impl Engine {
    pub(crate) fn new(shim: Shim, link: Option<EmulatedLink>, on_late: OnLate) -> Engine {
        Engine {
            shim,
            state: Mutex::new(Underway { pipes: link.map(Pipes::new), ..Underway::default() }),
            outstanding: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            awaited: AtomicUsize::new(0),
            mode: AtomicU8::new(0),
            core: AtomicI32::new(-1),
            choices: Choices::new(),
            on_late,
            place: OnceLock::new(),
            given_up: OnceLock::new(),
            requests: AtomicUsize::new(0),
            gap_ns: AtomicU64::new(GAP_MIN_NS),
            next_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            stirred_ns: AtomicU64::new(0),
            tally: Tally::default(),
            traced: Traced::default(),
            epoch: Instant::now(),
            doorbell: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.load(Ordering::Relaxed) != 0
    }

    fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0 || self.awaited.load(Ordering::Relaxed) != 0
    }

    fn is_due(&self) -> bool {
        let now = self.now();
        if self.has_waiters() { self.is_lull_over(now) } else { now >= self.next_ns.load(Ordering::Relaxed) }
    }

    /// A point in a long task.
    #[inline]
    pub(crate) fn point(&self) {
        let is_shared = || matches!(self.mode.load(Ordering::Relaxed), SHARED | WATCHED);
        if self.is_outstanding() && is_shared() && self.is_due() {
            self.poll();
        }
    }

    /// Has the keeper look at what has changed.
    pub(crate) fn ring(&self, quit: u32) {
        // Release pairs with the keeper's acquire: it sees what was changed before.
        self.doorbell.fetch_add(2, Ordering::Release);
        self.doorbell.fetch_or(quit, Ordering::Release); // pairs with the same
        raddle_syscall::futex_wake(&raw const self.doorbell, 1);
    }

    /// Which rank of how many this is.
    pub(crate) fn set_place(&self, rank: usize, size: usize) {
        let _once = self.place.set((rank, size));
    }
}
