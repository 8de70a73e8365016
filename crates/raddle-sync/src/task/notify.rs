//! Owns: `Notify`: one task tells others that something has happened.
//! May use: `host`, `raddle-core`.
//! Never: a waker called, cloned or dropped under the lock.
//!
//! | what stands under the lock | meaning |
//! |---|---|
//! | `permit` | a notification for which nobody waited; the next who comes has it |
//! | `rounds` | how often all were notified; who was made before a round is notified by it |
//! | `waiting` | those who wait, by number, oldest first, with their wakers |
//! | `told` | those of them who have been given a notification, and have not looked |

use crate::host::choice::{count_in_task, counted_point, point, settle};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Notifications from task to task, as `tokio`'s: each wakes one who waits, or is kept for the next who comes; at most
/// one is kept. First come, first served.
///
/// Processes and OS threads notify as they are, and wait by `task::block_on`.
///
/// ```
/// use raddle::task::{self, Notify};
/// use std::sync::Arc;
///
/// let bell = Arc::new(Notify::new());
/// let heard = bell.clone();
/// let waits = task::spawn(async move { heard.notified().await });
/// bell.notify_one();
/// task::block_on(waits).unwrap();
/// ```
#[derive(Default)]
pub struct Notify(Mutex<NotifyState>);

#[derive(Default)]
struct NotifyState {
    permit: bool,
    rounds: u64,
    next: u64,
    waiting: BTreeMap<u64, Waker>,
    told: HashSet<u64>,
}

impl NotifyState {
    /// Whom to wake; nobody if the notification is kept.
    fn notify_one(&mut self) -> Option<Waker> {
        match self.waiting.pop_first() {
            Some((number, waker)) => {
                self.told.insert(number);
                Some(waker)
            }
            None => {
                self.permit = true;
                None
            }
        }
    }
}

impl Notify {
    /// One without a notification.
    #[must_use]
    pub fn new() -> Notify {
        Notify::default()
    }

    fn lock(&self) -> MutexGuard<'_, NotifyState> {
        // Nothing under the lock can panic, but for want of memory.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the one who has waited longest, or the next who comes.
    pub fn notify_one(&self) {
        counted_point("Notify::notify_one");
        let waker = self.lock().notify_one();
        waker.into_iter().for_each(Waker::wake);
        settle("Notify::notify_one");
    }

    /// Notifies all who wait, and whoever has asked to be [`notified`](Self::notified), polled or not. Nothing is kept
    /// for others.
    pub fn notify_waiters(&self) {
        counted_point("Notify::notify_waiters");
        let mut state = self.lock();
        state.rounds += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
        settle("Notify::notify_waiters");
    }

    /// A future of the next notification. It counts among those whom
    /// [`notify_waiters`](Self::notify_waiters) notifies from now on, and has its place in the queue from its first
    /// poll on.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, rounds: self.lock().rounds, state: NotifiedState::New }
    }
}

/// A future of a notification; from [`Notify::notified`].
///
/// Dropped before it was ready, it gives a notification that it was given to the next who waits.
#[must_use = "a future does nothing until it is awaited"]
pub struct Notified<'a> {
    notify: &'a Notify,
    /// How often all had been notified when this was made.
    rounds: u64,
    state: NotifiedState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NotifiedState {
    New,
    /// Under this number.
    Waits(u64),
    Over,
}

impl Notified<'_> {
    /// Under the lock: whether it is notified. Else what its waker has replaced.
    fn look(&mut self, state: &mut NotifyState, waker: &mut Option<Waker>) -> bool {
        let own = if let NotifiedState::Waits(number) = self.state { Some(number) } else { None };
        if own.is_some_and(|number| state.told.remove(&number)) || self.rounds != state.rounds {
            return true;
        }
        let Some(number) = own else {
            if std::mem::take(&mut state.permit) {
                return true;
            }
            let number = state.next;
            state.next += 1;
            state.waiting.extend(waker.take().map(|waker| (number, waker)));
            self.state = NotifiedState::Waits(number);
            return false;
        };
        if let (Some(own), Some(new)) = (state.waiting.get_mut(&number), waker.take()) {
            *waker = Some(std::mem::replace(own, new));
        }
        false
    }
}

impl Future for Notified<'_> {
    type Output = ();

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        assert!(self.state != NotifiedState::Over, "a Notified was polled after it was ready");
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.state == NotifiedState::New {
            point("Notify::notified");
        }
        let mut waker = Some(context.waker().clone());
        let notify = self.notify;
        let mut state = notify.lock();
        let is_notified = self.look(&mut state, &mut waker);
        drop(state);
        drop(waker);
        if !is_notified {
            return Poll::Pending;
        }
        self.state = NotifiedState::Over;
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let NotifiedState::Waits(number) = self.state else { return };
        let mut state = self.notify.lock();
        let (left, next) = match state.waiting.remove(&number) {
            Some(waker) => (Some(waker), None),
            None if state.told.remove(&number) => (None, state.notify_one()),
            None => (None, None),
        };
        drop(state);
        drop(left);
        next.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let mut out = f.debug_struct("Notify");
        out.field("waiting", &state.waiting.len()).field("permit", &state.permit).finish()
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Notified { .. }")
    }
}
