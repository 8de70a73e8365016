//! Owns: `Selection`, the word through which several that could end a wait agree on who ends it.
//! May use: `order`, `prim`, `loom`.
//! Never: a queue; the caller of a transition that returns `Parked` queues.
//!
//! One who waits for the first of several events - a place in a channel, a lock, a deadline - shows this word to all
//! of them, and the first to select wins. The word is `wait << 24 | state`, and the state one of
//!
//! | state | meaning | who leaves it |
//! |---|---|---|
//! | `NONE` | no wait is under way | the owner: `begin` |
//! | `OPEN` | the owner looks for somebody to wait for, and still runs | `select`, the owner: `park` |
//! | `PARKED` | its context is saved and it waits | `select` |
//! | 3 and more | somebody selected the outcome `state - 3` | the owner: `end` |
//!
//! An alarm may outlive the wait that it was set for. It carries the number of the wait, finds a later one, and does
//! nothing; for that the word of a process lies in its control block, which is never freed. 40 bits of numbers wrap
//! after half a day of waits of 40 ns each, and then an alarm must hit the very wait: it would be an early time-out.
//!
//! Alternatives: a token and a list of outcomes under the lock of whoever is waited for (two words, and a lock for the
//! alarm); a reference-counted context, as `crossbeam-channel` has (an allocation, or a thread-local cache of one).

use crate::order;
use crate::prim::{AtomicU64, Ordering, overwrite};

const NONE: u64 = 0;
const OPEN: u64 = 1;
const PARKED: u64 = 2;
const FIRST: u64 = 3;
const STATE_BITS: u32 = 24;
const STATE: u64 = (1 << STATE_BITS) - 1;

/// Which wait of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub struct WaitNumber(u64);

/// What one who selected must do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Selected {
    /// Somebody else was first, or the wait is over: nothing happened.
    Lost,
    /// The outcome stands, and the owner has not parked: nothing to do, it will see it.
    Running,
    /// The outcome stands, and the owner waits: queue it.
    Parked,
}

/// The word.
#[derive(Debug)]
pub struct Selection(AtomicU64);

impl Selection {
    /// The outcomes are the numbers below this.
    pub const OUTCOMES: u32 = (STATE - FIRST) as u32;

    /// The word of an owner that waits for nothing.
    #[inline]
    pub fn new() -> Self {
        Selection(AtomicU64::new(NONE))
    }

    /// Opens a wait. By the owner, which has no other under way.
    #[inline]
    pub fn begin(&self) -> WaitNumber {
        let seen = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(seen & STATE, NONE, "a wait began inside another");
        let number = (seen >> STATE_BITS).wrapping_add(1) & (u64::MAX >> STATE_BITS);
        // Relaxed: whoever is to select is shown the word by a lock or a queue. A late alarm of an earlier wait fails
        // on the number.
        overwrite!(self.0, number << STATE_BITS | OPEN, Ordering::Relaxed);
        WaitNumber(number)
    }

    /// Closes a wait. By the owner, when nobody but an alarm can still know of it.
    #[inline]
    pub fn end(&self) {
        let seen = self.0.load(Ordering::Relaxed);
        overwrite!(self.0, seen & !STATE | NONE, Ordering::Relaxed);
    }

    /// The owner's context is saved: wait. False if an outcome stands already: the caller queues it again.
    #[must_use]
    #[inline]
    pub fn park(&self) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        let (to, release) = (seen & !STATE | PARKED, order::SELECTION_PARK());
        seen & STATE == OPEN && self.0.compare_exchange(seen, to, release, Ordering::Relaxed).is_ok()
    }

    /// Ends the wait of this number with `outcome`, if it is under way and nobody was first.
    #[inline]
    pub fn select(&self, wait: WaitNumber, outcome: u32) -> Selected {
        debug_assert!(outcome < Self::OUTCOMES, "an outcome that does not fit into the word");
        let to = wait.0 << STATE_BITS | (FIRST + u64::from(outcome));
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let selected = match seen.wrapping_sub(wait.0 << STATE_BITS) {
                OPEN => Selected::Running,
                PARKED => Selected::Parked,
                _ => return Selected::Lost,
            };
            match self.0.compare_exchange_weak(seen, to, order::SELECTION_SELECT(), Ordering::Relaxed) {
                Ok(_) => return selected,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the wait of this number is under way, and nobody has ended it. A hint, unless a lock says more: another
    /// may end it at any time.
    #[inline]
    pub fn is_open(&self, wait: WaitNumber) -> bool {
        matches!(self.0.load(Ordering::Relaxed).wrapping_sub(wait.0 << STATE_BITS), OPEN | PARKED)
    }

    /// The outcome, if it stands; then the owner sees all that was done before it was selected.
    #[inline]
    pub fn outcome(&self) -> Option<u32> {
        let state = self.0.load(order::SELECTION_SEE()) & STATE;
        // Below 2^24, so nothing is cut off.
        state.checked_sub(FIRST).map(|outcome| outcome as u32)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_select_wins() {
        let word = Selection::new();
        let wait = word.begin();
        assert_eq!(word.outcome(), None);
        assert!(word.is_open(wait));
        assert_eq!(word.select(wait, 7), Selected::Running);
        assert!(!word.is_open(wait));
        assert_eq!(word.select(wait, 8), Selected::Lost);
        assert_eq!(word.outcome(), Some(7));
        assert!(!word.park(), "there is nothing to wait for");
    }

    #[test]
    fn one_that_waits_is_queued_once() {
        let word = Selection::new();
        let wait = word.begin();
        assert!(word.park());
        assert!(word.is_open(wait));
        assert_eq!(word.select(wait, 0), Selected::Parked);
        assert_eq!(word.select(wait, 0), Selected::Lost);
        assert_eq!(word.outcome(), Some(0));
    }

    #[test]
    fn a_late_alarm_finds_a_later_wait() {
        let word = Selection::new();
        let first = word.begin();
        word.end();
        assert_eq!(word.select(first, 1), Selected::Lost, "the wait is over");
        let second = word.begin();
        assert_ne!(first, second);
        assert_eq!(word.select(first, 1), Selected::Lost, "that is another wait");
        assert_eq!(word.select(second, Selection::OUTCOMES - 1), Selected::Running);
        assert_eq!(word.outcome(), Some(Selection::OUTCOMES - 1));
    }
}
