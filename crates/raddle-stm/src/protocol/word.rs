//! Owns: `Word`: the version of a variable, or who has it locked.
//! May use: `mistake`, `raddle-protocol`.
//! Never: the value.
//!
//! | bits 1 to 62 | `WATCHED` | `LOCKED` | meaning | who leaves it |
//! |---|---|---|---|---|
//! | version | - | no | written last at that time | whoever locks it; whoever watches sets `WATCHED` |
//! | owner | - | yes | a commit is about to write it | the owner alone |
//!
//! `WATCHED` says that somebody may wait for a change. It is set in an unlocked word only, so that the owner of a
//! locked one knows who waits, and unlocks by a plain store. `LOCKED` is the highest bit: so a locked word is greater
//! than any that a snapshot takes, and a read compares once.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, const_fn, fence};

const LOCKED: u64 = 1 << 63;
const WATCHED: u64 = 1;
const SHIFT: u32 = 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

/// What a word was at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Before anything was seen.
    pub(crate) const NOTHING: Seen = Seen(0);

    /// Whether somebody had it locked.
    #[inline(always)]
    pub(crate) const fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether `owner` had it locked.
    #[inline(always)]
    pub(crate) const fn is_locked_by(self, owner: u64) -> bool {
        self.0 & !WATCHED == owner << SHIFT | LOCKED
    }

    /// When it was written last, if it was not locked.
    #[inline(always)]
    pub(crate) const fn version(self) -> u64 {
        (self.0 & !LOCKED) >> SHIFT
    }

    /// Whether somebody may have waited for a change.
    #[inline(always)]
    pub(crate) const fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Whether it is unlocked, and not newer than `time`.
    #[inline(always)]
    pub(crate) const fn is_of(self, time: u64) -> bool {
        !self.is_locked() && self.version() <= time
    }

    /// As [`is_of`](Self::is_of), of a time that the clock has shown: in one comparison.
    #[inline(always)]
    pub(crate) const fn is_of_shown(self, time: u64) -> bool {
        self.0 <= (time << SHIFT | WATCHED)
    }
}

impl Word {
    const_fn! {
        /// Of a variable that was written last at `version`.
        pub(crate) fn new(version: u64) -> Word {
            Word(AtomicU64::new(version << SHIFT))
        }
    }

    /// What it is now.
    #[inline(always)]
    pub(crate) fn look(&self) -> Seen {
        // Acquire pairs with the release in `unlock`: who sees a version sees the value that was stored before.
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Whether nobody has locked it since it was seen, after the value was loaded, relaxed.
    #[inline(always)]
    pub(crate) fn is_still(&self, seen: Seen) -> bool {
        // Acquire pairs with the full fence in `commit`: if what was loaded is a value that a later owner has
        // stored, then that owner's lock is seen here.
        fence(Ordering::Acquire);
        (self.0.load(Ordering::Relaxed) ^ seen.0) & !WATCHED == 0
    }

    /// As [`is_still`](Self::is_still), but false also if somebody watches it since, or did no more.
    #[inline(always)]
    pub(crate) fn is_just(&self, seen: Seen) -> bool {
        fence(Ordering::Acquire); // pairs with the full fence in `commit`, as in `is_still`
        self.0.load(Ordering::Relaxed) == seen.0
    }

    /// Locks it, if it is still as it was seen, unlocked; else what it is.
    #[inline(always)]
    pub(crate) fn try_lock(&self, seen: Seen, owner: u64) -> Result<(), Seen> {
        let locked = seen.0 & WATCHED | owner << SHIFT | LOCKED;
        // Acquire pairs with the release in `unlock`, of what the look before has not seen: when this has failed. A
        // commit that goes on has its full fence for that; but one that steps back before it passes on, by
        // `step_back`, what the last owner has published.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.0.compare_exchange(seen.0, locked, acquire, relaxed).map(drop).map_err(Seen)
    }

    /// Unlocks it as it was before: nothing was stored.
    pub(crate) fn step_back(&self, before: Seen) {
        let before = if made(Mistake::ForgetsWatchers) { before.0 & !WATCHED } else { before.0 };
        // Release pairs with the acquire in `look` and `try_lock`: of what the last writer has published.
        self.0.store(before, Ordering::Release);
    }

    /// Unlocks it, with its value of the time `version` stored. Nobody watches that.
    #[inline(always)]
    pub(crate) fn unlock(&self, version: u64) {
        // Release pairs with the acquire in `look` and `try_lock`.
        self.0.store(version << SHIFT, Ordering::Release);
    }

    /// Says that somebody watches it, if it is still as it was seen, unlocked; else what it is.
    pub(crate) fn watch(&self, seen: Seen) -> Result<(), Seen> {
        // Relaxed: that an owner which sees the bit comes after the watcher to the lock of the list follows from that
        // lock alone. Had it come before, its unlock would be seen by the watcher's lock, and so what it has read would
        // have been written later than it was read. `watch.md` has it in full.
        let relaxed = Ordering::Relaxed;
        self.0.compare_exchange(seen.0, seen.0 | WATCHED, relaxed, relaxed).map(drop).map_err(Seen)
    }
}
