//! Owns: the list of records that wait to be taken: those of heaps.
//! May use: `mistake`, `loom`.
//! Never: what a record is; it has a number, and a link that the caller stores.
//!
//! A stack whose head is a number and a tag. The tag counts: a thread that was stopped between the look at a record's
//! link and its exchange would otherwise give out a record that is in use, if the same one is first again meanwhile.
//! It comes round after 2^32 changes within one stop of a thread.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, const_fn};

const NUMBER: u64 = 0xffff_ffff;
const TAG: u64 = 1 << 32;

/// The list.
pub(crate) struct Records(AtomicU64);

impl Records {
    const_fn! {
        /// Without a record.
        pub(crate) fn new() -> Records {
            Records(AtomicU64::new(0))
        }
    }

    fn head(seen: u64, number: u64) -> u64 {
        let tag = if made(Mistake::ForgetsTag) { 0 } else { (seen & !NUMBER).wrapping_add(TAG) };
        tag | number
    }

    /// Gives a record back; it is not 0. `link` stores in it which comes behind it.
    pub(crate) fn give(&self, record: u32, link: impl Fn(u32)) {
        // pairs with `take`
        let order = if made(Mistake::RecordsRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        let mut seen = self.0.load(Ordering::Relaxed);
        // lock-free: the exchange fails if another thread has given or taken a record.
        loop {
            link((seen & NUMBER) as u32);
            let new = Records::head(seen, u64::from(record));
            match self.0.compare_exchange(seen, new, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes a record, if there is one. `next` is what `link` has stored in it.
    pub(crate) fn take(&self, next: impl Fn(u32) -> u32) -> Option<u32> {
        let mut seen = self.0.load(Ordering::Acquire); // pairs with `give`
        // lock-free: the exchange fails if another thread has given or taken a record.
        loop {
            let first = (seen & NUMBER) as u32;
            if first == 0 {
                return None;
            }
            let new = Records::head(seen, u64::from(next(first)));
            // pairs with `give`
            match self.0.compare_exchange(seen, new, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(first),
                Err(now) => seen = now,
            }
        }
    }
}
