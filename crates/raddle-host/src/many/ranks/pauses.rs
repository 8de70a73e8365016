//! Owns: `Pauses`: who pauses for long before the next look for what other ranks say, and who of them is to be woken.
//! May use: nothing.
//! Never: a look, a sleep, a clock.
//!
//! Who looks pauses for long when nothing has been *stirred* for long: said, heard, or left to be told. What is stirred
//! then may have to be found by one who pauses, since who has stirred it may go on to a long call.
//!
//! | | who pauses ([`may_pause`](Pauses::may_pause)) | who stirs ([`stir`](Pauses::stir)) |
//! |---|---|---|
//! | 1 | reads the count | has left something to be found |
//! | 2 | looks, and tells what is to be told | adds to the count |
//! | 3 | says that it pauses, and fences | fences |
//! | 4 | reads the count again: a pause only if it is the same | takes out who pauses, and wakes them |
//!
//! Of two fences one is the first. If it is the stirrer's, the other one finds another count, and looks again, which
//! finds what was left. If it is the other one's, the stirrer finds it, and wakes it; and as a wake before the sleep is
//! kept (a token of the OS thread's; `begun` of the poller's keeper), it does not sleep. Who is told that it may not
//! pause stays listed, and so does who has woken by itself: that costs one wake too many, and no stir is missed.
//!
//! The clock decides only how long a pause is. (It was to decide who is woken, too: those who stir after a millisecond
//! of silence. But who pauses reads the clock of the link, not that one; and of two who stirred at a time, or one that
//! was preempted between reading the clock and writing it, none woke anybody.) Pauses that are short need none of this.

use crate::prim::{AtomicU32, Ordering, fence};

/// An idle worker.
pub(super) const WORKER: u32 = 1;
/// The OS thread that hears where no worker does.
pub(super) const LISTENER: u32 = 2;

#[derive(Default)]
pub(super) struct Pauses {
    /// How often something was stirred.
    stirs: AtomicU32,
    /// Who pauses, or did and was not woken since.
    who: AtomicU32,
}

impl Pauses {
    /// The count, before a look.
    pub(super) fn count(&self) -> u32 {
        // Pairs with the release in `stir`: the look finds what was left before.
        self.stirs.load(Ordering::Acquire)
    }

    /// After a look before which that was the count: whether that one may pause until it is woken.
    pub(super) fn may_pause(&self, who: u32, count: u32) -> bool {
        self.who.fetch_or(who, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the one in `stir`
        self.stirs.load(Ordering::Relaxed) == count
    }

    /// Something was stirred, and left to be found before this. Who is to be woken.
    #[must_use = "they are to be woken"]
    pub(super) fn stir(&self) -> u32 {
        self.stirs.fetch_add(1, Ordering::Release); // pairs with the acquire in `count`
        fence(Ordering::SeqCst); // pairs with the one in `may_pause`
        // PERF: nobody pauses while ranks answer each other.
        if self.who.load(Ordering::Relaxed) == 0 { 0 } else { self.who.swap(0, Ordering::Relaxed) }
    }
}
