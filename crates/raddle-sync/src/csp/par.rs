//! Owns: `par!` and `par_for`: several pieces of code that run as concurrent processes until all have ended.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a return, even by a panic, while a branch lives.
//!
//! The caller runs one branch itself; it would wait else. So `par!` of two costs one process. When the caller's branch
//! is over before anybody has started that process, the caller takes it back and runs it as well, as a call: it has
//! nothing else to do, so that it may wait in it as in its own.
//!
//! `par_for` does not make a process for each index. A *runner* takes index after index from a range and runs their
//! bodies one after the other; only when a body waits, so that its runner cannot go on, does the next process start: a
//! runner whose first act is to spawn a successor, which waits behind all else for just that case. An idle worker that
//! takes such a successor takes half of what is left of the range with it. So indices whose bodies never wait cost a
//! counter's step each, and those that wait for each other cost a process each, and all of them can run. Where two
//! workers are slower than one, the half goes back: `share`.

use super::share::{Half, Indices, Share};
use raddle_core::message;
use raddle_core::process::handle::Joiner;
use raddle_core::process::make::Settings;
use raddle_core::process::scope::ScopeData;
use raddle_core::region;
use raddle_core::spawn;
use raddle_core::wait::park;
use raddle_core::worker::Worker;
use raddle_protocol::prim::{AtomicU32, Ordering};
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `first` as a process and `last` in the caller, and returns what both returned when both have ended.
/// [`par!`](super::par!) does it for more.
///
/// A process that nobody has started when `last` is over may be run by the caller, as a call:
/// [`csp::current`](super::current) is the caller then, and of the stack up to a sixteenth is in use.
///
/// # Panics
/// As `first` or, if that did not, `last`, when both have ended. Inside a task, which must not wait. If the default
/// runtime cannot be started.
///
/// ```
/// use raddle::csp;
/// let (mut to, mut from) = csp::channel();
/// let ((), n) = csp::par2(|| to.send(7).unwrap(), || from.recv().unwrap());
/// assert_eq!(n, 7);
/// ```
#[inline]
#[track_caller]
pub fn par2<A, B, R, S>(first: A, last: B) -> (R, S)
where
    A: FnOnce() -> R + Send,
    B: FnOnce() -> S,
    R: Send,
{
    // Refuses a task here: with a child alive it would be too late to panic.
    park::caller("csp::par!");
    let region = region::for_scope();
    let first = move || region::born_into(region, first);
    // SAFETY: the child has ended when this returns, even by a panic, so what `first` borrows outlives it.
    let child = unsafe { spawn::spawn_with(Settings::PLAIN, std::ptr::null(), first) };
    let child: Joiner<R> = message::started(child);
    let last = catch_unwind(AssertUnwindSafe(last));
    match (child.join_or_run(), last) {
        (Ok(first), Ok(last)) => (first, last),
        (Err(panic), _) | (_, Err(panic)) => resume_unwind(panic),
    }
}

/// Runs `body` for each index of `range`, all of them concurrently, and returns when all have ended: occam's replicated
/// `PAR`. A body may wait for another's. In a region that is cancelled no further body begins.
///
/// # Panics
/// As the first body that panicked, when all have ended. If there is no stack for one of its processes. Inside a task.
/// If the default runtime cannot be started.
///
/// ```
/// use raddle::csp;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// csp::par_for(0..1_000_000, |n| {
///     sum.fetch_add(n, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_999_500_000);
/// ```
#[track_caller]
pub fn par_for<F: Fn(usize) + Sync>(range: Range<usize>, body: F) {
    park::caller("csp::par_for");
    let length = range.end.saturating_sub(range.start);
    // A range is two halves of one word.
    let length = u32::try_from(length).expect("par_for runs at most 2^32 - 1 bodies");
    let indices = Arc::new(Indices::new((0, length), here()));
    let share = Share::new(indices.clone(), now_ns());
    let all =
        Replicated { start: range.start, body, share, panic: Mutex::new(None), runners: ScopeData::open() };
    // It could panic only if the runtime refuses a runner, and must wait for the others even then.
    let ours = catch_unwind(AssertUnwindSafe(|| all.run(indices, None)));
    all.runners.wait(Location::caller());
    ours.unwrap_or_else(|refused| resume_unwind(refused));
    let has_lost_bodies = all.runners.has_panicked();
    if let Some(panic) = all.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
    // It was refused a stack, or the payload of a second panic has panicked in its drop.
    assert!(!has_lost_bodies, "a process of `par_for` has ended before its bodies: some may not have run");
}

/// The worker that runs the caller; none on an OS thread.
fn here() -> Option<usize> {
    Worker::with_current(|worker| worker.index)
}

/// The worker that runs the caller, and what counts who has run there; none on an OS thread.
#[inline]
fn seen() -> Option<(usize, u32)> {
    Worker::with_current(|worker| (worker.index, worker.dispatch_count()))
}

/// What the worker's clock says; 0 on an OS thread, where a loop is shared without a question.
fn now_ns() -> u64 {
    Worker::with_current(Worker::now_ns).unwrap_or(0)
}

/// So often a runner of a half asks whether that pays.
const ASKS: u32 = 64;

/// A runner takes from these indices while this lives.
struct AtWork<'a>(&'a AtomicU32);

impl<'a> AtWork<'a> {
    fn begin(runners: &'a AtomicU32) -> Self {
        runners.fetch_add(1, Ordering::Relaxed);
        AtWork(runners)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all runners of one `par_for` share.
struct Replicated<F> {
    start: usize,
    body: F,
    share: Share,
    /// The first panic of a body.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    runners: ScopeData,
}

impl<F: Fn(usize) + Sync> Replicated<F> {
    /// Runs bodies until none are left in `indices`, whose next was `next` when this runner was spawned; `None` if that
    /// is who began the loop.
    fn run(&self, indices: Arc<Indices>, next: Option<u32>) {
        let mut mine = indices;
        let (at, home) = (here(), mine.home());
        if at != home {
            // What an OS thread has begun goes to the workers; what cannot be sent home is not left there.
            let tries = home.is_some() && Worker::with_current(Worker::sends_where_told).unwrap_or(false);
            if tries && !self.may_take(&mine) {
                return self.spawn_successor(mine, Settings::later_at(home));
            }
            if let Some(half) = mine.split(at) {
                // Taken by another worker: half comes along, and the rest still needs somebody to start if its runner
                // waits. There, not here: this worker would take from it again.
                let rest = std::mem::replace(&mut mine, Arc::new(half));
                if tries {
                    self.share.took(&mine, now_ns());
                }
                self.spawn_successor(rest, Settings::later_at(home));
            }
        } else if next.is_some_and(|next| mine.get_on_since(next)) {
            // It begins since it has waited for long, but others are getting on. PERF: bench `granularity`, two
            // workers: else one more body is under way every half millisecond, and all of them end at once, on one
            // worker earlier than on the other.
            return self.spawn_successor(mine, Settings::LATER);
        }
        let Some(mut index) = mine.take() else { return };
        // If they have another home by now, they were given back.
        let (mut seen, mut home) = (seen(), at);
        let _running = AtWork::begin(&mine.runners);
        self.spawn_successor(mine.clone(), Settings::LATER);
        loop {
            if !self.run_body(index) {
                return;
            }
            let before = std::mem::replace(&mut seen, self::seen());
            if before != seen {
                mine.note_wait();
                if let (at, Some((now, _))) = (before.map(|(at, _)| at), seen)
                    && at != Some(now)
                    && !self.share.is_dear()
                {
                    home = mine.follow(at, now);
                }
            }
            if index.is_multiple_of(ASKS) && !self.share.pays(&mine, now_ns()) {
                mine.give_back();
            }
            if mine.home() != home {
                // The successor, which has not begun, takes the rest to where it belongs now.
                return;
            }
            match mine.take() {
                Some(next) => index = next,
                None => return,
            }
        }
    }

    /// Whether who has come for a half of these may take it.
    #[cold]
    fn may_take(&self, indices: &Indices) -> bool {
        // It is known soon, by a clock that goes.
        for _ in 0..1000 {
            match self.share.may_take(indices, now_ns()) {
                Half::Taken => return true,
                Half::Left => return false,
                Half::Unknown => std::hint::spin_loop(),
            }
        }
        true
    }

    /// The next runner of the same indices, to start when this one waits, or when another worker has time.
    fn spawn_successor(&self, indices: Arc<Indices>, set: Settings) {
        let (next, end) = indices.left();
        if next >= end {
            return;
        }
        let entered = self.runners.enter();
        let run = move || self.run(indices, Some(next));
        // SAFETY: `par_for` waits for all who have entered, and `self` lives until then.
        let runner = unsafe { spawn::spawn_with(set, &self.runners, run) };
        drop(message::started(runner));
        entered.keep();
    }

    /// False if it has been cancelled before the body began: no further one is to begin.
    fn run_body(&self, index: u32) -> bool {
        let may_begin = self.runners.region().is_none() || !region::is_cancelled_now();
        let body = || if may_begin { (self.body)(self.start + index as usize) } else { region::unwind() };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            self.keep(panic);
        }
        may_begin
    }

    #[cold]
    fn keep(&self, panic: Box<dyn Any + Send>) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        let (graver, unwanted) = match kept.take() {
            None => (panic, None),
            Some(first) => {
                let (graver, lost) = region::graver(first, panic);
                (graver, Some(lost))
            }
        };
        *kept = Some(graver);
        drop(kept);
        // Outside of the lock: its drop is the user's code, and may wait.
        drop(unwanted);
    }
}
