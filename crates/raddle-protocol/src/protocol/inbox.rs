//! Owns: `Inbox`, the one word through which anybody hands a runnable to one worker.
//! May use: `order`, `loom`.
//! Never: more than one compare-and-swap to hand over, nor a fence.
//!
//! The word is `EMPTY`, `ASLEEP`, or the newest of a chain of runnables (newest first).
//!
//! ```text
//!            push (owner awake)           push (owner asleep): the pusher must wake the owner
//!   EMPTY ------------------> list <------------------------------- ASLEEP
//!     ^  <------- take_all ----'                                       ^
//!     '------------------------- try_sleep ---------------------------'
//! ```
//!
//! Because "I am asleep" stands in the very word that a pusher must change, there is no store-then-load handshake
//! to get wrong: either the push comes first and `try_sleep` fails, or the sleep comes first and the push returns
//! that it found a sleeper. A separate flag was considered: it costs a full fence on both sides. A pusher that finds
//! `ASLEEP` goes on to the sleeper's sleep word (`idle.rs`), which was made before the mark was set: so the push
//! acquires too.
//!
//! Taking everything at once and reversing keeps first-in-first-out order and has no ABA problem: nobody ever
//! compares against a list element that it did not just read, and a push onto a list that was taken and refilled in
//! between is as good as any other push.

use crate::order;
use crate::prim::{AtomicPtr, Ordering};
use crate::protocol::fifo::Chain;
use crate::protocol::header::{Header, Runnable};

/// Many pushers, one owner. Alone on its lines: the owner looks at it between any two runnables.
#[derive(Debug)]
#[repr(align(128))]
pub struct Inbox {
    word: AtomicPtr<Header>,
}

/// No header has this address: headers are aligned.
#[inline]
fn asleep() -> *mut Header {
    std::ptr::without_provenance_mut(1)
}

impl Inbox {
    /// An empty inbox of an owner that is awake.
    #[inline]
    pub fn new() -> Self {
        Inbox { word: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Hands one runnable to the owner. True if the owner sleeps: the caller must wake it.
    #[must_use = "a sleeping owner does not see what it is not woken for"]
    #[inline]
    pub fn push(&self, runnable: Runnable) -> bool {
        self.push_chain(Chain::one(runnable))
    }

    /// Hands a chain, which must not be empty and whose *first* element is to run first.
    #[must_use = "a sleeping owner does not see what it is not woken for"]
    #[inline]
    pub fn push_chain(&self, chain: Chain) -> bool {
        let (newest, oldest) = chain.reversed().into_ends();
        // SAFETY: both ends belong to the chain, whose right the caller passed in; it is not empty.
        let last = unsafe { Runnable::from_raw(oldest) }.expect("an empty chain has no receiver");
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let below = if seen == asleep() { std::ptr::null_mut() } else { seen };
            last.header().link.set(below);
            match self.word.compare_exchange_weak(seen, newest, order::INBOX_PUSH(), Ordering::Relaxed) {
                Ok(_) => return seen == asleep(),
                Err(now) => seen = now,
            }
        }
    }

    /// Shows all that lie here, the newest first.
    ///
    /// # Safety
    /// The owner, and all who take in its place, stand still.
    #[cfg(not(loom))]
    pub unsafe fn for_each(&self, mut each: impl FnMut(&Header)) {
        let mut at = self.word.load(order::INBOX_TAKE());
        if at == asleep() {
            return;
        }
        // SAFETY: null, or what was pushed, and nobody takes it.
        while let Some(header) = unsafe { at.as_ref() } {
            each(header);
            at = header.link.get();
        }
    }

    /// Whether there is anything to take. Costs one load of a line that only a pusher writes.
    #[inline(always)]
    pub fn has_mail(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        !word.is_null() && word != asleep()
    }

    /// Whether the owner has marked itself asleep and nothing came since.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.word.load(Ordering::Relaxed) == asleep()
    }

    /// Takes everything, oldest first. Only the owner calls it, and only while awake or just woken; clears `ASLEEP`.
    #[inline]
    pub fn take_all(&self) -> Chain {
        let word = self.word.swap(std::ptr::null_mut(), order::INBOX_TAKE());
        if word == asleep() {
            return Chain::EMPTY;
        }
        // SAFETY: the word was null or the newest element of a chain that was pushed to us.
        unsafe { Chain::from_first(word) }.reversed()
    }

    /// Takes everything, oldest first, in the place of an owner that is awake and does not come to it. From any thread:
    /// the owner may take at the same time, and then each has a part, or one of them nothing.
    #[inline]
    pub fn take_for_owner(&self) -> Chain {
        let seen = self.word.load(Ordering::Relaxed);
        if seen.is_null() || seen == asleep() {
            return Chain::EMPTY;
        }
        // Who has pushed, or taken, meanwhile is more awake than the owner: the next look finds what there is.
        match self.word.compare_exchange(seen, std::ptr::null_mut(), order::INBOX_TAKE(), Ordering::Relaxed) {
            // SAFETY: the word was the newest element of a chain that was pushed to the owner.
            Ok(newest) => unsafe { Chain::from_first(newest) }.reversed(),
            Err(_changed) => Chain::EMPTY,
        }
    }

    /// Marks the owner asleep. False if there is mail: the owner must not sleep.
    #[must_use = "mail is waiting if this fails"]
    #[inline]
    pub fn try_sleep(&self) -> bool {
        // Relaxed: nothing is published by falling asleep, and a failure is followed by `take_all`.
        let (empty, relaxed) = (std::ptr::null_mut(), Ordering::Relaxed);
        self.word.compare_exchange(empty, asleep(), relaxed, relaxed).is_ok()
    }
}
