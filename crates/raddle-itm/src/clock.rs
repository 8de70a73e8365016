//! Owns: the clock of all transactions: who commits, and whether anybody has since a moment.
//! May use: `prim`, `loom`.
//! Never: a value that a transaction reads or writes.
//!
//! One word: how often somebody has committed, times four; whether somebody does now; whether others sleep until then.
//!
//! | who | in this order |
//! |---|---|
//! | reads | takes a moment (`now`); reads; asks whether it is still that moment. If not, it reads all again |
//! | commits | exchanges the moment that it has seen for a locked one; stores; unlocks at a later moment |
//! | comes while it is locked | spins a little, says that it sleeps, and sleeps until the word changes |
//!
//! Values are stored and read by relaxed accesses. A reader that sees one of a commit has a fence behind it, before it
//! looks at the clock; and who commits has one between its lock and its stores: so the reader sees at least that lock,
//! and a moment that is not its own.

use crate::prim::{AtomicU64, Ordering, fence, sleep, wake};

/// Somebody commits.
const LOCKED: u64 = 1;
/// Somebody sleeps until it is unlocked.
const SLEEPERS: u64 = 2;
/// From one moment to the next.
const TICK: u64 = 4;

/// So often who finds it locked looks again before it sleeps: a commit takes less, unless its thread has no core.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 60 };

/// Alone on its cache lines: all look at it, all the time.
#[repr(align(128))]
pub(crate) struct CommitClock(AtomicU64);

impl CommitClock {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> CommitClock {
        CommitClock(AtomicU64::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> CommitClock {
        CommitClock(AtomicU64::new(0))
    }

    /// The moment, when nobody commits.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        let word = self.0.load(Ordering::Acquire); // pairs with the release in `unlock`
        if word & LOCKED == 0 { word } else { self.later() }
    }

    #[cold]
    fn later(&self) -> u64 {
        let mut looks = 0;
        loop {
            let word = self.0.load(Ordering::Acquire); // pairs with the release in `unlock`
            if word & LOCKED == 0 {
                return word;
            }
            if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else if word & SLEEPERS != 0 || self.says_it_sleeps(word) {
                sleep(&self.0, word | SLEEPERS);
            }
        }
    }

    fn says_it_sleeps(&self, word: u64) -> bool {
        self.0.compare_exchange(word, word | SLEEPERS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether all that was read since `moment` stood there at that moment: nobody has begun to commit.
    #[inline(always)]
    pub(crate) fn is_still(&self, moment: u64) -> bool {
        // Pairs with the fence in `lock`: see the module.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == moment
    }

    /// Begins a commit. False if it is no longer `moment`.
    #[inline(always)]
    pub(crate) fn lock(&self, moment: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        let is_locked = self.0.compare_exchange(moment, moment | LOCKED, relaxed, relaxed).is_ok();
        // Pairs with the fence in `is_still`: see the module.
        fence(Ordering::Release);
        is_locked
    }

    /// Ends a commit that began at `moment`.
    #[inline(always)]
    pub(crate) fn unlock(&self, moment: u64) {
        let word = self.0.swap(moment.wrapping_add(TICK), Ordering::Release); // pairs with the acquire in `now`
        if word & SLEEPERS != 0 {
            wake(&self.0);
        }
    }
}
