//! Owns: `CondWord`: who waits for a condition, and who of them is told.
//! May use: `prim`.
//! Never: the condition, or the mutex that guards it.
//!
//! A list and nothing else. One who waits enters it *before* it gives the mutex back, so a notifier that has had the
//! mutex since finds it in the list; that is also why a look without the list's lock may tell that nobody waits. A
//! notification wakes one whose deadline has not passed, or all who came before it; it is not remembered.

use crate::prim::const_fn;
use crate::protocol::sleeper::TimedSleeper;
use crate::protocol::waitlist::{Locked, WaitEntry, WaitList};

const NOTIFIED: u32 = 0;

/// The list.
pub struct CondWord<S>(WaitList<S>);

impl<S: TimedSleeper> CondWord<S> {
    const_fn! {
        /// Nobody waits.
        #[inline]
        pub fn new() -> Self {
            CondWord(WaitList::new())
        }
    }

    /// Enters the list, runs `release`, waits. False if the deadline passed first.
    #[inline]
    pub fn wait(&self, sleeper: S, release: impl FnOnce()) -> bool {
        let place = WaitEntry::new(sleeper, 0);
        self.0.lock().push(&place);
        release();
        let notified = place.sleeper.wait_timed().is_some();
        if !notified {
            self.0.lock().remove(&place);
        }
        notified
    }

    /// Wakes the one who has waited longest, if anybody waits.
    #[inline]
    pub fn notify_one(&self) {
        if self.0.is_empty() {
            return;
        }
        let mut list = self.0.lock();
        while !list.is_empty() {
            if let Some(right) = select_first(&mut list) {
                drop(list);
                return S::wake(right);
            }
        }
    }

    /// Wakes all who wait.
    #[inline]
    pub fn notify_all(&self) {
        if self.0.is_empty() {
            return;
        }
        let mut list = self.0.lock();
        // Those who come from now on wait for another notification.
        let limit = list.pushed();
        while list.first_before(limit).is_some() {
            if let Some(right) = select_first(&mut list) {
                drop(list);
                S::wake(right);
                list = self.0.lock();
            }
        }
    }
}

/// Takes the first out and selects it; `None` if its deadline has passed.
#[inline]
fn select_first<S: TimedSleeper>(list: &mut Locked<'_, S>) -> Option<S::Right> {
    let first = std::ptr::from_ref(list.first()?);
    list.remove_first();
    // SAFETY: it goes when it has been selected, which is here, or by way of the lock, which we have.
    unsafe { &*first }.sleeper.try_select(NOTIFIED)
}
