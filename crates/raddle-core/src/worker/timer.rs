//! Owns: the alarms of one worker.
//! May use: `block::control`, `raddle-protocol`.
//! Never: an OS thread of its own; a worker looks at its boundaries, and sleeps no longer than to the next alarm.
//!
//! A heap with tickets takes a million sleepers in its stride, and gives exact deadlines. A timing wheel was
//! considered: deadlines rounded to its slots, and intrusive nodes in the sleepers' frames. An ordered map, which was
//! here before, costs as much time, and three times the code.
//!
//! The lock is there because an idle worker rings what a busy one is too busy to hear.
//!
//! It uses a lock of the standard library.

use super::heap::{DueHeap, Ticket};
use crate::block::Block;
use crate::block::EXPIRED;
use crate::worker::Callback;
use crate::worker::LocalWorker;
use raddle_protocol::header::Runnable;
use raddle_protocol::protocol::selection::{Selected, WaitNumber};
use raddle_protocol::protocol::token::{Generation, Notified};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// What an alarm does when it rings.
pub enum Alarm {
    /// Queues a sleeper, whom nothing else will queue.
    Wake(Runnable),
    /// Ends the timed park of a process, if it is still in it.
    Expire(&'static Block, Generation),
    /// Ends the wait of this number, if it is still under way.
    Select(&'static Block, WaitNumber),
    /// A guard of an alternation, which waits for the alarm's end if it cannot take it back.
    Guard(Callback),
    /// Wakes a task of whatever executor.
    Waker(Waker),
}

impl Alarm {
    pub(crate) fn ring(self, worker: &LocalWorker) {
        match self {
            // SAFETY: the sleeper gave the right to queue it to this alarm.
            Alarm::Wake(sleeper) => unsafe { worker.wake(sleeper.as_ptr()) },
            Alarm::Expire(block, life) => {
                if block.token.expire(life) == Notified::Wake {
                    // SAFETY: the token says that it waits and that this ended the wait.
                    unsafe { worker.wake(block.as_header()) };
                }
            }
            Alarm::Select(block, wait) => {
                if block.selection.select(wait, EXPIRED) == Selected::Parked {
                    // SAFETY: the word says that it waits and that this ended the wait.
                    unsafe { worker.wake(block.as_header()) };
                }
            }
            Alarm::Guard(guard) => guard.ring(),
            Alarm::Waker(waker) => waker.wake(),
        }
    }
}

/// Names an alarm so that it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmId(Ticket);

/// The alarms of one worker.
pub struct Timers {
    /// The earliest deadline, `u64::MAX` if there is none. Written under the lock.
    next_ns: AtomicU64,
    queue: Mutex<DueHeap<Alarm>>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers { next_ns: AtomicU64::new(u64::MAX), queue: Mutex::new(DueHeap::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, DueHeap<Alarm>> {
        // Nothing under the lock panics but a failed allocation, which aborts.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_next(&self, queue: &DueHeap<Alarm>) {
        self.next_ns.store(queue.first().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Sets an alarm for `at_ns` of the runtime's clock.
    pub fn set(&self, at_ns: u64, alarm: Alarm) -> AlarmId {
        let mut queue = self.lock();
        let ticket = queue.put(at_ns, alarm);
        self.note_next(&queue);
        AlarmId(ticket)
    }

    /// Takes an alarm back. False if it has rung, or is about to.
    pub fn cancel(&self, id: AlarmId) -> bool {
        let mut queue = self.lock();
        let cancelled = queue.take(id.0);
        self.note_next(&queue);
        drop(queue);
        // A waker's drop may run code of ours: not under the lock.
        cancelled.is_some()
    }

    /// Whether an alarm has been set and has neither rung nor been cancelled.
    pub(crate) fn is_set(&self, id: AlarmId) -> bool {
        self.lock().has(id.0)
    }

    /// Whether something may have to ring now. One relaxed load.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns.load(Ordering::Relaxed) <= now_ns
    }

    /// The next deadline.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next = self.next_ns.load(Ordering::Relaxed);
        (next != u64::MAX).then_some(next)
    }

    /// Takes out one alarm that is due.
    pub(crate) fn pop_due(&self, now_ns: u64) -> Option<Alarm> {
        let mut queue = self.lock();
        let alarm = queue.take_due(now_ns)?;
        self.note_next(&queue);
        Some(alarm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn alarm(count: &Arc<Count>) -> Alarm {
        Alarm::Waker(Waker::from(count.clone()))
    }

    #[test]
    fn rings_in_order_and_not_before_time() {
        let (timers, count) = (Timers::new(), Arc::new(Count(AtomicUsize::new(0))));
        assert_eq!(timers.next_ns(), None);
        timers.set(30, alarm(&count));
        timers.set(10, alarm(&count));
        assert_eq!(timers.next_ns(), Some(10));
        assert!(!timers.is_due(9) && timers.is_due(10));
        assert!(timers.pop_due(9).is_none());
        assert!(timers.pop_due(10).is_some());
        assert_eq!(timers.next_ns(), Some(30));
        assert!(timers.pop_due(29).is_none());
    }

    #[test]
    fn a_cancelled_alarm_does_not_ring() {
        let (timers, count) = (Timers::new(), Arc::new(Count(AtomicUsize::new(0))));
        let id = timers.set(10, alarm(&count));
        let same_time = timers.set(10, alarm(&count));
        timers.cancel(id);
        timers.cancel(id);
        assert!(timers.pop_due(10).is_some());
        assert!(timers.pop_due(10).is_none());
        timers.cancel(same_time);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
