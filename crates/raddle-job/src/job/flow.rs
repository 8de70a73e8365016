//! Owns: `Flow`, the running flow of control with its list of forks, and the ways to get one.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a worker kept over a call of the user's code.
//!
//! | caller | its forks |
//! |---|---|
//! | a process, inside of a `join` or `scope` | hang in the list that the outermost one made in its frame |
//! | a process, outside | the call makes the list, and what is left in it at the end is promoted |
//! | what was taken from a list | hang in one of its own, and what is left there is promoted before its end is told |
//! | a task's poll | there are none: both closures run here, one after the other, since a poll must not wait |
//! | an OS thread, or a process in a `blocking` | the call is run by a process of `runtime::here`, with a roomy stack |
//! | who holds up others' transactions | there are none, as in a poll: `in_turn` |
//! | who is in a region that may be cancelled | as above; a fork that is taken is in that region, too |

use raddle_core::process::make;
use raddle_core::runtime::{Shared, place};
use raddle_core::worker::{Here, Worker, current_header};
use raddle_protocol::header::{AWAY, CANCELLABLE, Header, IN_TURN, Kind};
use raddle_protocol::protocol::jobs::{Forks, Node};
use std::panic::Location;

/// The running flow of control and its list. Stays right over waits: a process keeps its header.
#[derive(Clone, Copy)]
pub(super) struct Flow<'a>(&'a Header);

/// Where a call comes from that has no list to fork into.
pub(super) enum Without<'a> {
    /// A process: it can have one.
    Process(&'a Header),
    /// A task's poll.
    Poll,
    /// An OS thread, or a process that is away on one.
    Thread,
}

impl<'a> Flow<'a> {
    /// The flow that calls, if it has a list already.
    #[inline(always)]
    pub(super) fn current() -> Option<Self> {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let header = unsafe { current_header().as_ref() }?;
        if header.forks.get().is_null() { None } else { Some(Flow(header)) }
    }

    /// Its list. Asked for anew each time: one register less to keep over the user's calls.
    #[inline(always)]
    pub(super) fn forks(self) -> &'a Forks {
        // SAFETY: not null, see `current`: an open list in a frame below the caller's.
        unsafe { &*self.0.forks.get() }
    }

    /// The worker that it runs on now: its public half.
    #[inline(always)]
    pub(super) fn worker(self) -> &'a Worker {
        debug_assert!(!self.0.is(AWAY), "who is away has no worker");
        // SAFETY: a running flow has a worker, whose runtime lives.
        unsafe { Worker::of(self.0) }
    }

    /// The worker that it runs on now, for one who is about to use it.
    ///
    /// # Safety
    /// As for [`Here::current`].
    #[inline(always)]
    pub(super) unsafe fn here(self) -> Here<'a> {
        debug_assert!(!self.0.is(AWAY), "who is away has no worker");
        // SAFETY: a running flow has a worker, and this is its OS thread; the rest is passed on to the caller.
        unsafe { Here::of(self.0) }
    }

    /// The runtime that it belongs to, also while it is away.
    pub(super) fn shared(self) -> &'a Shared {
        // SAFETY: it has a worker, whose runtime lives.
        let worker: &'a Worker = unsafe { Worker::of(self.0) };
        worker.shared()
    }

    /// Looks whether jobs are wanted, and promotes if so.
    #[inline(always)]
    pub(super) fn poll(self) {
        if self.worker().jobs.is_wanted() {
            // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
            unsafe { self.here() }.answer(self.forks());
        }
    }

    /// A job lies open that will take long.
    pub(super) fn rouse_for_long(self) {
        // SAFETY: as in `poll`.
        unsafe { self.here() }.rouse_for_long();
    }

    /// Whether a job lies open at another worker.
    pub(super) fn sees_jobs(self) -> bool {
        self.worker().sees_jobs()
    }

    /// Whether there are more workers awake than cores.
    pub(super) fn is_crowded(self) -> bool {
        self.shared().is_crowded()
    }

    /// As [`poll`](Self::poll), and gives back what it was given.
    ///
    /// PERF: what the caller needs after it goes through the cold call, and so takes no register that the common way
    /// would have to save: bench `fib`. What is no register's content stays where it is.
    #[inline(always)]
    pub(super) fn poll_with<T>(self, kept: T) -> T {
        if size_of::<T>() > 2 * size_of::<usize>() {
            self.poll();
            return kept;
        }
        if self.worker().jobs.is_wanted() { self.answer_with(kept) } else { kept }
    }

    #[cold]
    #[inline(never)]
    fn answer_with<T>(self, kept: T) -> T {
        // SAFETY: as in `poll`.
        unsafe { self.here() }.answer(self.forks());
        // Else the compiler knows that it is what it was, and keeps it over the call all the same.
        std::hint::black_box(kept)
    }
}

impl Flow<'_> {
    /// Whether what it forks needs more than a place in its list: it is in a region that may be cancelled, or nobody
    /// else is to run its forks.
    #[inline(always)]
    pub(super) fn forks_with_care(self) -> bool {
        self.0.is(CANCELLABLE | IN_TURN)
    }

    /// Whether it is in a region that may be cancelled.
    #[inline(always)]
    pub(super) fn is_in_region(self) -> bool {
        self.0.is(CANCELLABLE)
    }

    /// What tells it from all other flows.
    #[inline(always)]
    pub(super) fn home(self) -> *const () {
        std::ptr::from_ref(self.0).cast()
    }
}

/// The running flow, perhaps away, if it is the one of this [`home`](Flow::home).
pub(super) fn at_home<'a>(home: *const ()) -> Option<Flow<'a>> {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let header = unsafe { current_header().as_ref() }?;
    std::ptr::eq(std::ptr::from_ref(header).cast(), home).then_some(Flow(header))
}

/// For a process without a list: one that it keeps to its end.
#[cold]
#[inline(never)]
pub(super) fn with_own_list<'a>() -> Option<Flow<'a>> {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let header = unsafe { current_header().as_ref() }?;
    if header.kind != Kind::Process || header.is(AWAY) {
        return None;
    }
    let forks = Box::leak(Box::new(Forks::new()));
    forks.open();
    header.forks.set(forks);
    Some(Flow(header))
}

/// Hands a new slot over: to the list of the flow that made it, or at once to everybody. It was made at `site` in the
/// program.
///
/// # Safety
/// `node` begins a slot that was just made, and that stays until it has been run.
#[inline(always)]
pub(super) unsafe fn place(flow: Option<Flow<'_>>, node: *mut Node, site: &'static Location<'static>) {
    match flow {
        Some(flow) => {
            // SAFETY: passed on to the caller.
            unsafe { flow.forks().push(node) };
            flow.poll();
        }
        // SAFETY: passed on to the caller.
        None => unsafe { place_without_list(node, site) },
    }
}

#[cold]
#[inline(never)]
unsafe fn place_without_list(node: *mut Node, site: &'static Location<'static>) {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match (with_own_list(), unsafe { Here::current() }) {
        (Some(flow), _) => {
            // SAFETY: passed on to the caller.
            unsafe { flow.forks().push(node) };
            flow.poll();
        }
        // SAFETY: passed on to the caller.
        (None, Some(worker)) => unsafe { worker.promote_new(node) },
        (None, None) => {
            // SAFETY: passed on to the caller.
            place::with_runtime(|runtime| unsafe { make::inject_job(runtime, node, site) });
        }
    }
}

impl Without<'_> {
    pub(super) fn of_caller() -> Self {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        match unsafe { current_header().as_ref() } {
            Some(header) if header.is(AWAY) => Without::Thread,
            Some(header) if header.kind == Kind::Process => Without::Process(header),
            Some(_) => Without::Poll,
            None => Without::Thread,
        }
    }
}

/// Runs `f` with a list for the forks of `header`, a process that has none and calls.
pub(super) fn with_list<T>(header: &Header, f: impl FnOnce() -> T) -> T {
    struct Close<'a>(&'a Header);
    impl Drop for Close<'_> {
        fn drop(&mut self) {
            // SAFETY: it was opened below and lives.
            if let Some(forks) = unsafe { self.0.forks.replace(std::ptr::null()).as_ref() }
                && (forks.top().is_some() || forks.bag.is_used())
            {
                // SAFETY: the flow that calls runs on its worker's OS thread.
                unsafe { Here::of(self.0) }.promote_rest(forks);
            }
        }
    }
    let forks = Forks::new();
    forks.open();
    header.forks.set(&raw const forks);
    // A new computation, perhaps of another grain: its first forks answer again.
    // SAFETY: the flow that calls runs, so its runtime lives.
    unsafe { Worker::of(header) }.jobs.ask();
    let _close = Close(header);
    f()
}

/// Runs `f` in a process of the default runtime, for an OS thread, which has called at `site` and waits.
pub(super) fn in_runtime<T: Send>(site: &'static Location<'static>, f: impl FnOnce() -> T + Send) -> T {
    place::with_runtime(|runtime| make::run_at(runtime, site, f))
}
