//! Owns: what a program has each worker do before it sleeps for long, in all runtimes.
//! May use: `message`, `raddle-protocol`.
//! Never: a call before a doze: who looks for work again in a moment gives nothing away.
//!
//! For a memory manager, whose heaps are the OS threads': a worker that sleeps lets others have its own. The scheduler
//! does not know which there is.

use super::LocalWorker;
use crate::message;
use raddle_protocol::header::Runnable;
use std::panic::catch_unwind;
use std::sync::OnceLock;

/// A sleep of at least so long, or without end, is one.
const LONG_NS: u64 = 1_000_000;

/// What the program wants to have done; and how, so that a program without has no code for it.
static CALL: OnceLock<(fn(), RestFirst)> = OnceLock::new();

type RestFirst = fn(&LocalWorker, fn(), u64, Option<u64>) -> Option<Runnable>;

/// Has each worker of each runtime call `call` before it sleeps for long: on its OS thread, outside any process. Not
/// the extra workers, which stand in for one that is blocked. False if the program has one already, which stays.
///
/// It must neither wait nor panic: a panic ends the program. Whom it wakes runs before the sleep.
///
/// ```
/// fn rests() {
///     // For instance `raddle_alloc::rest_heap()`: others may have what this OS thread's heap has.
/// }
/// assert!(raddle::before_sleep(rests));
/// assert!(!raddle::before_sleep(rests));
/// ```
pub fn before_sleep(call: fn()) -> bool {
    CALL.set((call, rest_first)).is_ok()
}

/// Of a worker that is about to sleep, for so long if it looks around meanwhile, and at most until it is to
/// `ask_again`. Returns some of what the program's call has made ready here.
#[inline]
pub(super) fn rest(worker: &LocalWorker, doze_ns: u64, ask_again: Option<u64>) -> Option<Runnable> {
    let (call, how) = CALL.get()?;
    how(worker, *call, doze_ns, ask_again)
}

/// If the sleep will be a long one, for all one knows before it is announced: after that, nobody looks at what the
/// program's code makes ready here.
fn rest_first(worker: &LocalWorker, call: fn(), doze_ns: u64, ask_again: Option<u64>) -> Option<Runnable> {
    let shared = worker.shared();
    let until_alarm = worker.timers().next_ns().map(|at| at.saturating_sub(shared.clock.now_ns()));
    let is_anybody_up = shared.idle.sleepers() + 1 < shared.workers().len();
    let will_watch = is_anybody_up && !shared.idle.is_watched() && shared.policy.looks();
    let at_most = [will_watch.then_some(doze_ns), until_alarm, ask_again].into_iter().flatten().min();
    if at_most.is_some_and(|at_most| at_most < LONG_NS) {
        return None;
    }
    if catch_unwind(call).is_err() {
        message::fatal("what the program has its workers call before they sleep panicked");
    }
    worker.take_own()
}
