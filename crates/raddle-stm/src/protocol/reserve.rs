//! Owns: `Reservation`, by which a pessimistic transaction keeps a variable as it is; `Breaks`, how often in vain.
//! May use: `mistake`, `prim`, `raddle-protocol`.
//! Never: who waits for a reservation, or in which order.
//!
//! | bits from 1 | `BROKEN` | meaning | who leaves it |
//! |---|---|---|---|
//! | 0 | no | nobody's | who takes it, by a compare-exchange |
//! | ticket | no | that transaction has read the variable, or is about to write it | the holder; who breaks it |
//! | ticket | yes | somebody writes it all the same: the holder must begin anew | the holder, by a store |
//!
//! Who must not wait breaks a reservation: a commit in a task, and one in the holder's own body. `versions.md` has the
//! argument, under *Pessimistic transactions*.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, const_fn, fence_after_locked};

const NOBODY: u64 = 0;
const BROKEN: u64 = 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Reservation(AtomicU64);

impl Reservation {
    const_fn! {
        /// Nobody's.
        pub(crate) fn new() -> Reservation {
            Reservation(AtomicU64::new(NOBODY))
        }
    }

    /// Makes it the one of `ticket`. Whether it was nobody's before; the other's ticket if it is another's.
    #[inline]
    pub(crate) fn take(&self, ticket: u64) -> Result<bool, u64> {
        // Relaxed: what the last holder has committed is seen by the fences. That one has locked the word before its
        // full fence, in `commit`, and released after; so who looks at the word behind the fence below finds it locked,
        // or the version that came of it.
        let relaxed = Ordering::Relaxed;
        match self.0.compare_exchange(NOBODY, ticket << 1, relaxed, relaxed) {
            Ok(_) => {
                // Pairs with the full fence in `commit`: either a commit that has the word locked sees this, and steps
                // back, or the holder, who looks at the word next, sees that lock.
                fence_after_locked();
                Ok(true)
            }
            Err(there) if there >> 1 == ticket => Ok(false),
            Err(there) => Err(there >> 1),
        }
    }

    /// Nobody's from now on. By the holder.
    #[inline]
    pub(crate) fn release(&self) {
        // Relaxed: see `take`.
        self.0.store(NOBODY, Ordering::Relaxed);
    }

    /// The ticket of another than `ticket` who has it. Asked behind the full fence of a commit that has locked the
    /// word.
    #[inline]
    pub(crate) fn of_another(&self, ticket: u64) -> Option<u64> {
        // Relaxed: see the fence in `take`. What the holder before has published came by its word's lock.
        let holder = self.0.load(Ordering::Relaxed) >> 1;
        (holder != NOBODY && holder != ticket && !made(Mistake::IgnoresReservations)).then_some(holder)
    }

    /// Says to `holder` that it has it no more, if it has. By a commit that has locked the word, before it is counted.
    pub(crate) fn break_of(&self, holder: u64) {
        // Relaxed: `Breaks` orders it. Another may have taken it since: that one waits for the word, and reads what
        // this commit stores.
        let (relaxed, held) = (Ordering::Relaxed, holder << 1);
        let _ = self.0.compare_exchange(held, held | BROKEN, relaxed, relaxed);
    }

    /// Whether somebody has broken it.
    pub(crate) fn is_broken(&self) -> bool {
        // Relaxed: see `Breaks::now`.
        self.0.load(Ordering::Relaxed) & BROKEN != 0
    }
}

/// Counts commits that have broken reservations.
#[derive(Debug)]
pub(crate) struct Breaks(AtomicU64);

impl Breaks {
    const_fn! {
        /// None yet.
        pub(crate) fn new() -> Breaks {
            Breaks(AtomicU64::new(0))
        }
    }

    /// One more: before the commit ticks, looks at what it has read, and stores anything.
    pub(crate) fn count(&self) {
        if made(Mistake::BreaksUncounted) {
            return;
        }
        // Release pairs with the acquire in `now`: who sees the count sees what was broken.
        self.0.fetch_add(1, Ordering::Release);
        // Pairs with the acquire of the clock: a holder that ticks later, or sees this commit's time, sees the count.
        fence_after_locked();
    }

    /// How many there were: of all commits a value of which the caller has loaded, or whose time it has seen.
    pub(crate) fn now(&self) -> u64 {
        // Acquire pairs with the release in `count`. That those are counted whose value or time was seen: the count is
        // before both, and the caller has seen them by an acquire.
        self.0.load(Ordering::Acquire)
    }
}
