//! Owns: the word of a page: whose it is, and the blocks that others have given back.
//! May use: `mistake`, `loom`.
//! Never: a block: who pushes is told before what to link its chain.
//!
//! | bit 63 | head | count | the page |
//! |---|---|---|---|
//! | 0 | 0 | 0 | is held by a heap, or is no page at all |
//! | 0 | h | n | is held, and n blocks have come back, the first of which is h |
//! | 1 | 0 | 0 | is nobody's, and has no block to give |
//! | 1 | h | n | is nobody's: its holder has left it, and n blocks came back before |
//!
//! The **holder** is who owns all of the page that is not atomic. It is one heap, or a thread that is at work on the
//! page without a heap. Bit 63 goes from 1 to 0 by the one compare-exchange that makes somebody the holder: by a push
//! (who frees into a page of nobody adopts it), or by a claim of who looks for pages. So nobody ever waits for a
//! holder, and a holder that is stopped keeps its page and nothing else.
//!
//! Nobody takes single blocks out of the list; so a head that comes back means nothing worse than that it is the head.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU64, Ordering, const_fn};

/// The page is nobody's.
const NOBODYS: u64 = 1 << 63;
const COUNT_SHIFT: u32 = 32;
const COUNT: u64 = 0x00ff_ffff << COUNT_SHIFT;
const HEAD: u64 = 0xffff_ffff;

/// The blocks that came back, as the word has them. The head is a number that the page gives meaning; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) head: u32,
    pub(crate) count: u32,
}

impl Returned {
    fn of(word: u64) -> Returned {
        Returned { head: (word & HEAD) as u32, count: ((word & COUNT) >> COUNT_SHIFT) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.count) << COUNT_SHIFT | u64::from(self.head)
    }
}

/// The word.
pub(crate) struct PageWord(AtomicU64);

impl PageWord {
    const_fn! {
        /// Of a page that is held, or of none. Memory of zeroes is one, too.
        #[cfg_attr(not(loom), allow(dead_code, reason = "arenas are memory of zeroes"))]
        pub(crate) fn new() -> PageWord {
            PageWord(AtomicU64::new(0))
        }
    }

    /// Gives a chain of blocks back. `link` has the last block of the chain point to the head that it is told.
    /// True if the page was nobody's: the caller now is its holder.
    pub(crate) fn push(&self, chain: Returned, link: impl Fn(u32)) -> bool {
        // pairs with `take` (the links), and with `disown`, `disown_empty` (what the last holder wrote)
        let order = if made(Mistake::PushesRelaxed) { Ordering::Relaxed } else { Ordering::AcqRel };
        let mut seen = self.0.load(Ordering::Relaxed);
        link(Returned::of(seen).head);
        // lock-free: the exchange fails if another push, a take or a claim has succeeded.
        loop {
            let before = Returned::of(seen);
            if !made(Mistake::LinksOnce) {
                link(before.head);
            }
            let kept = if made(Mistake::NeverClaims) { seen & NOBODYS } else { 0 };
            let new = Returned { head: chain.head, count: before.count + chain.count }.word() | kept;
            if made(Mistake::PushesBlindly) {
                self.0.store(new, order_of_store(order));
                return seen & NOBODYS != 0;
            }
            match self.0.compare_exchange(seen, new, order, Ordering::Relaxed) {
                Ok(_) => return seen & NOBODYS != 0,
                Err(now) => seen = now,
            }
        }
    }

    /// What has come back, all of it. By the holder, which stays it.
    pub(crate) fn take(&self) -> Returned {
        // The holder looks first: an exchange of nothing for nothing would take the line from those who push.
        if self.0.load(Ordering::Relaxed) == 0 {
            return Returned { head: 0, count: 0 };
        }
        // pairs with `push`
        let order = if made(Mistake::TakesRelaxed) { Ordering::Relaxed } else { Ordering::Acquire };
        Returned::of(self.0.swap(0, order))
    }

    /// How many have come back, as far as the caller can see.
    pub(crate) fn count(&self) -> u32 {
        Returned::of(self.0.load(Ordering::Relaxed)).count
    }

    /// The holder gives up a page that has nothing to give; refused if something has come back. The next who frees into
    /// it adopts it.
    pub(crate) fn disown_empty(&self) -> bool {
        if made(Mistake::DisownsBlindly) {
            self.0.store(NOBODYS, Ordering::Release); // pairs with nothing: it is a mistake
            return true;
        }
        // pairs with `push` and `claim` of the next holder
        self.0.compare_exchange(0, NOBODYS, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The holder gives up a page whatever has come back, or comes.
    pub(crate) fn disown(&self) {
        // pairs with `push` and `claim` of the next holder
        let order = if made(Mistake::DisownsRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.0.fetch_or(NOBODYS, order);
    }

    /// Makes the caller the holder, if the page is nobody's.
    pub(crate) fn claim(&self) -> bool {
        // pairs with `disown`, `disown_empty` (what the last holder wrote)
        let order = if made(Mistake::ClaimsRelaxed) { Ordering::Relaxed } else { Ordering::Acquire };
        let mut seen = self.0.load(Ordering::Relaxed);
        // lock-free: the exchange fails if a push or another claim has succeeded; then the page has a holder.
        while seen & NOBODYS != 0 {
            if made(Mistake::ClaimsBlindly) {
                self.0.fetch_and(!NOBODYS, Ordering::AcqRel); // pairs with `disown`
                return true;
            }
            match self.0.compare_exchange(seen, seen & !NOBODYS, order, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

/// An exchange's ordering as a store has it.
fn order_of_store(order: Ordering) -> Ordering {
    if order == Ordering::Relaxed { order } else { Ordering::Release } // pairs with nothing: it is a mistake
}
