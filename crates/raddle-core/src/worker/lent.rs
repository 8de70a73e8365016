//! Owns: `LentGate`, by which a worker and the OS thread of the program that stands for it are never at work at once.
//! May use: `block::current`, `raddle-protocol`.
//! Never: a worker without a gate slowed by it.
//!
//! A pool may have an OS thread of the program as its first worker (`use_current_thread`). To those who ask it is the
//! worker of number 0; the work of that number is done by an OS thread of the pool's own. Whoever keeps something for
//! each number relies on it that only one of them runs at a time. So the pool's own begins something only while the
//! program's waits, by one of Raddle's means, as if that did the work in its wait; and when its wait is over, the
//! program's goes on as soon as what runs gives way to the worker's loop.
//!
//! What the worker has taken out of a queue and must not run goes to the others, if it may. What is bound to it lies
//! there until the gate is open. Meanwhile the worker looks a hundred times a second for its alarms, and not at all
//! when it has nothing to run: then it sleeps as any other.
//!
//! It uses a lock and a condition variable of the standard library.

use super::shared::Shared;
use super::{LocalWorker, Worker, current_header};
use raddle_protocol::header::{MOVABLE, Runnable};
use std::cell::Cell;
use std::ptr::null;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a worker that must not run leaves its alarms alone.
const ALARMS_EVERY: Duration = Duration::from_millis(10);
/// How long who yields waits for the worker to begin before it looks whether there is still something.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What an OS thread of the program is the first worker of; null if of nothing.
struct LentTo(Cell<*const Shared>);

impl LentTo {
    fn pool(&self) -> Option<(&'static Shared, &'static LentGate)> {
        // SAFETY: null, or put there by `lends_to`: it is never freed.
        let shared: &'static Shared = unsafe { self.0.get().as_ref() }?;
        shared.gate.as_ref().filter(|_| shared.is_here()).map(|gate| (shared, gate))
    }
}

impl Drop for LentTo {
    /// The OS thread ends, and is at work no more.
    fn drop(&mut self) {
        self.pool().into_iter().for_each(|(_, gate)| gate.open_for_good());
    }
}

thread_local! {
    static LENT_TO: LentTo = const { LentTo(Cell::new(null())) };
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LentGate {
    state: Mutex<LentState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LentState {
    /// The program's OS thread waits, or it is open for good.
    is_open: bool,
    is_open_for_good: bool,
    /// The worker runs something.
    runs: bool,
    /// How much it has begun.
    begun: u64,
}

impl LentGate {
    fn lock(&self) -> MutexGuard<'_, LentState> {
        // Nothing panics under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker may run something, up to [`end`](Self::end).
    fn try_begin(&self) -> bool {
        let mut state = self.lock();
        if state.is_open {
            state.runs = true;
            state.begun += 1;
            self.changed.notify_all();
        }
        state.is_open
    }

    fn end(&self) {
        self.lock().runs = false;
        self.changed.notify_all();
    }

    /// Until it is open, or for a while.
    fn wait_briefly(&self) {
        let closed = |state: &mut LentState| !state.is_open;
        let _state = self.changed.wait_timeout_while(self.lock(), ALARMS_EVERY, closed);
    }

    /// The pool has been dropped, and the worker is to come to its end; or the program's OS thread has ended.
    pub(crate) fn open_for_good(&self) {
        let mut state = self.lock();
        (state.is_open, state.is_open_for_good) = (true, true);
        self.changed.notify_all();
    }

    /// The program's OS thread waits in `f`, and the worker may run.
    fn open_during<T>(&self, f: impl FnOnce() -> T) -> T {
        /// Also if `f` panics.
        struct Close<'a>(&'a LentGate);
        impl Drop for Close<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                if state.is_open_for_good {
                    return;
                }
                state.is_open = false;
                let _given_way = self.0.changed.wait_while(state, |state| state.runs);
            }
        }
        self.lock().is_open = true;
        self.changed.notify_all();
        let _close = Close(self);
        f()
    }

    /// Until the worker has begun more than so much, or for a moment. How much it has begun.
    fn wait_for_turn(&self, before: u64) -> u64 {
        let same = |state: &mut LentState| state.begun == before;
        let waited = self.changed.wait_timeout_while(self.lock(), LOOK_EVERY, same);
        waited.unwrap_or_else(PoisonError::into_inner).0.begun
    }
}

/// From now on the calling OS thread of the program is the first worker of that pool.
pub(crate) fn lends_to(shared: &'static Shared) {
    // Not in the destructor of a variable behind this one's: then it ends, and the gate stays as it is.
    let _ended = LENT_TO.try_with(|lent| lent.0.set(shared));
}

/// The pool, if the caller is such an OS thread, and its gate.
fn pool_of_caller() -> Option<(&'static Shared, &'static LentGate)> {
    if !current_header().is_null() {
        return None;
    }
    LENT_TO.try_with(LentTo::pool).ok().flatten()
}

/// Runs `f`, in which the calling OS thread waits. If it is the first worker of a pool, that one may run meanwhile.
pub(crate) fn while_waiting<T>(f: impl FnOnce() -> T) -> T {
    match pool_of_caller() {
        Some((_, gate)) => gate.open_during(f),
        None => f(),
    }
}

/// Whether something waits for the worker for which the caller stands; `None` if it stands for none.
pub fn worker_has_something() -> Option<bool> {
    pool_of_caller().map(|(shared, _)| shared.worker(0).has_something())
}

/// Lets the worker for which the caller stands run something that waits. Whether there was anything; `None` if the
/// caller stands for no worker.
pub fn let_worker_run() -> Option<bool> {
    let (shared, gate) = pool_of_caller()?;
    let before = gate.lock().begun;
    while shared.worker(0).has_something() {
        if gate.open_during(|| gate.wait_for_turn(before)) != before {
            return Some(true);
        }
    }
    Some(false)
}

impl Worker {
    /// Whether something waits here, or may: who is awake may have something in hand, which is in no queue meanwhile.
    fn has_something(&self) -> bool {
        if !self.shared().worker_sleeps(self.index) {
            return true;
        }
        let open = self.ready.len_hint() + self.fresh.len_hint() + self.later.len_hint();
        let closed = self.glance_at_batch().0 + self.jobs.waiting();
        open + closed > 0 || self.inbox.has_mail() || self.shared().has_shared(self.index)
    }
}

impl LocalWorker {
    /// The worker's loop, if an OS thread of the program stands for it.
    pub(super) fn run_behind(&self, gate: &LentGate) {
        while let Some(found) = self.next_or_wait() {
            if gate.try_begin() {
                self.dispatch(found);
                gate.end();
                continue;
            }
            self.leave_to_others(found);
            gate.wait_briefly();
            self.fire_timers(self.shared().clock.now_ns());
        }
    }

    fn leave_to_others(&self, found: Runnable) {
        let flags = found.header().flags.get();
        if flags & MOVABLE != 0 {
            self.shared().inject(found);
        } else {
            self.queue(found);
        }
    }
}
