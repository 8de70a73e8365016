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
//! counter's step each, and those that wait for each other cost a process each, and all of them can run.

use raddle_core::message;
use raddle_core::process::handle::Joiner;
use raddle_core::process::make::Settings;
use raddle_core::process::scope::ScopeData;
use raddle_core::region;
use raddle_core::spawn;
use raddle_core::wait::park;
use raddle_core::worker::Worker;
use raddle_protocol::prim::{AtomicU32, AtomicU64, Ordering};
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
    let all = Replicated { start: range.start, body, panic: Mutex::new(None), runners: ScopeData::open() };
    // It could panic only if the runtime refuses a runner, and must wait for the others even then.
    let ours = catch_unwind(AssertUnwindSafe(|| all.run(Arc::new(Indices::new(0, length)), (here(), 0))));
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

/// Indices that nobody has taken yet.
struct Indices {
    /// The next in the upper half, the end in the lower.
    word: AtomicU64,
    /// How many runners take from them.
    runners: AtomicU32,
}

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

impl Indices {
    fn new(next: u32, end: u32) -> Self {
        Indices { word: AtomicU64::new(word(next, end)), runners: AtomicU32::new(0) }
    }

    // Relaxed throughout: the word is all that its users share; the bodies' data comes with the processes.

    /// What is left, as `(next, end)`.
    fn left(&self) -> (u32, u32) {
        parts(self.word.load(Ordering::Relaxed))
    }

    fn take(&self) -> Option<u32> {
        let step = |before| matches!(parts(before), (next, end) if next < end).then_some(before + (1 << 32));
        let before = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok()?;
        Some(parts(before).0)
    }

    /// Takes the upper half of what is left, and at least one.
    fn split(&self) -> Option<Indices> {
        let middle = |next, end| next + (end - next) / 2;
        let halve = |before| match parts(before) {
            (next, end) if next < end => Some(word(next, middle(next, end))),
            _ => None,
        };
        let before = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, halve).ok()?;
        let (next, end) = parts(before);
        Some(Indices::new(middle(next, end), end))
    }

    /// Whether, since `next` was the next, each runner has taken one, or as many have been taken: they get on, and do
    /// not wait.
    fn get_on_since(&self, next: u32) -> bool {
        let taken = self.left().0 - next;
        taken > 0 && taken >= self.runners.load(Ordering::Relaxed)
    }
}

fn word(next: u32, end: u32) -> u64 {
    u64::from(next) << 32 | u64::from(end)
}

fn parts(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// What all runners of one `par_for` share.
struct Replicated<F> {
    start: usize,
    body: F,
    /// The first panic of a body.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    runners: ScopeData,
}

impl<F: Fn(usize) + Sync> Replicated<F> {
    /// Runs bodies until none are left in `indices`, which belong to the worker `home`, and whose next was `next` when
    /// this runner was spawned.
    fn run(&self, indices: Arc<Indices>, (home, next): (Option<usize>, u32)) {
        let mut mine = indices;
        let at = here();
        if at != home {
            if let Some(half) = mine.split() {
                // Taken by another worker: half comes along, and the rest still needs somebody to start if its runner
                // waits. There, not here: this worker would take from it again.
                let rest = std::mem::replace(&mut mine, Arc::new(half));
                self.spawn_successor(rest, home, Settings::later_at(home));
            }
        } else if mine.get_on_since(next) {
            // It begins since it has waited for long, but others are getting on. PERF: bench `granularity`, two
            // workers: else one more body is under way every half millisecond, and all of them end at once, on one
            // worker earlier than on the other.
            return self.spawn_successor(mine, at, Settings::LATER);
        }
        let Some(mut index) = mine.take() else { return };
        let _running = AtWork::begin(&mine.runners);
        self.spawn_successor(mine.clone(), at, Settings::LATER);
        loop {
            if !self.run_body(index) {
                return;
            }
            match mine.take() {
                Some(next) => index = next,
                None => return,
            }
        }
    }

    /// The next runner of the same indices, to start when this one waits, or when another worker has time.
    fn spawn_successor(&self, indices: Arc<Indices>, home: Option<usize>, set: Settings) {
        let (next, end) = indices.left();
        if next >= end {
            return;
        }
        let entered = self.runners.enter();
        let run = move || self.run(indices, (home, next));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_get_on_if_each_has_taken_one() {
        let indices = Indices::new(0, 100);
        let _first = AtWork::begin(&indices.runners);
        assert!(!indices.get_on_since(0));
        indices.take();
        assert!(indices.get_on_since(0) && !indices.get_on_since(1));
        // A second one has taken its first: the first may wait.
        let second = AtWork::begin(&indices.runners);
        indices.take();
        assert!(!indices.get_on_since(1));
        indices.take();
        assert!(indices.get_on_since(1));
        drop(second);
        assert!(indices.get_on_since(2));
    }
}
