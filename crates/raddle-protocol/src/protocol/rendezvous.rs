//! Owns: `Rendezvous`, the one word in which the two ends of a channel meet.
//! May use: `order`, `loom`.
//! Never: the value that is handed over, nor a queue: the word says whose turn it is to copy and to wake.
//!
//! A channel has two ends and each end one user at a time, so at most one of them waits, and a word has room for it.
//! The first to arrive puts the address of its *waiter* in, which lies in its frame; the second finds it, copies
//! between the two frames, empties the word and wakes the first (the one-word channel of the transputer and of CCSP).
//!
//! | word | meaning | who leaves it, and how |
//! |---|---|---|
//! | `EMPTY` | nobody waits, both ends live | either end: `wait`, `offer`, `close`, `poison` |
//! | a waiter's address | it waits *firmly*: only its peer ends that | the peer: `clear`, `close`, `poison` |
//! | the address + 1 | it waits *loosely*: for others, too | the peer: `take`, `close`, `poison`; itself: `withdraw` |
//! | the address + 2 | it waits *hotly*: it looks out | the peer: `take_hot`, `close`, `poison`; itself: `cool` |
//! | `CLOSED` | one end is gone | the other end, as it goes: it frees |
//! | `POISONED` | both ends live, and may not be used | either end, as it goes: `POISONED_HALF` |
//! | `POISONED_HALF` | poisoned, and one end is gone | the other end, as it goes: it frees |
//!
//! A firm waiter's frame stays until it is woken, so its peer empties the word with a plain store: nobody else may
//! change it. A loose waiter may go at any time. Whoever changes the word from its address to anything else *holds* the
//! frame (by `take`, `close` or `poison`), and its owner, whose `withdraw` then fails, waits until the holder has let
//! go of it: that is the [`alternation`](super::alternation) word's part.
//!
//! A hot waiter has not left its stack: it looks at its [`Answer`], for a moment, since its peer runs on another worker
//! and is about to come. Whoever takes it out of the word answers when it is done with the frame, and wakes nobody:
//! that costs three moves of a cache line from worker to worker (the word, the frame, the answer) where a wake
//! costs eight. A waiter that has looked for long enough turns firm by `cool`; if that fails it is held, and its
//! answer is near.
//!
//! Alternatives: CCSP and KRoC let a sender that finds an alternation wait in the word and only trigger the guard; the
//! alternation then receives as if it had arrived second. That is a switch more for each message, and a sender could
//! not try: it would be committed before the receiver is.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicBool, AtomicPtr, Ordering};

/// What lies in the word.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen<P> {
    /// Nobody waits.
    Empty,
    /// The peer waits for nothing else.
    Firm(*mut P),
    /// The peer looks out, and may have turned firm by the time that we look again.
    Hot(*mut P),
    /// The peer waits, and may have gone by the time that we look again.
    Loose(*mut P),
    /// The other end is gone, or the channel is poisoned.
    Over {
        /// Whether a panic has ended it.
        poisoned: bool,
    },
}

/// Who has ended the channel.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended<P> {
    /// The other end lives; its waiter, if one waited, is now the caller's to tell.
    First(Seen<P>),
    /// The other end had gone: the caller frees the channel.
    Second,
}

/// The word. `P` is a waiter; its address is a multiple of 8.
#[derive(Debug)]
pub struct Rendezvous<P>(AtomicPtr<P>);

const LOOSE: usize = 1;
const HOT: usize = 2;
const TAGS: usize = LOOSE | HOT;
const CLOSED: usize = 2;
const POISONED: usize = 4;
const POISONED_HALF: usize = 6;

#[inline]
fn mark<P>(address: usize) -> *mut P {
    std::ptr::without_provenance_mut(address)
}

#[inline]
fn tagged<P>(waiter: *mut P, tag: usize) -> *mut P {
    waiter.map_addr(|address| address | tag)
}

#[inline(always)]
fn seen<P>(word: *mut P) -> Seen<P> {
    match word.addr() {
        0 => Seen::Empty,
        CLOSED => Seen::Over { poisoned: false },
        POISONED | POISONED_HALF => Seen::Over { poisoned: true },
        address if address & TAGS == 0 => Seen::Firm(word),
        address if address & LOOSE != 0 => Seen::Loose(word.map_addr(|a| a & !TAGS)),
        _ => Seen::Hot(word.map_addr(|a| a & !TAGS)),
    }
}

/// The channel has ended, or who waits is loose or hot: [`look`](Rendezvous::look) tells.
#[derive(Debug)]
pub struct Unusual;

/// What a hot waiter looks at: whether whoever took it is done with its frame.
#[derive(Debug)]
pub struct Answer(AtomicBool);

impl Answer {
    /// An answer that has not been given.
    #[inline(always)]
    pub fn new() -> Self {
        Answer(AtomicBool::new(false))
    }

    /// By the holder, as the last that it does with the frame.
    #[inline(always)]
    pub fn give(&self) {
        self.0.store(true, order::RENDEZVOUS_ANSWER());
    }

    /// Whether it was given: the frame is its owner's again.
    #[inline(always)]
    pub fn is_given(&self) -> bool {
        self.0.load(order::RENDEZVOUS_ANSWERED())
    }
}

impl<P> Rendezvous<P> {
    /// A channel at which nobody waits.
    #[inline]
    pub fn new() -> Self {
        Rendezvous(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// What lies there now. What a waiter has in its frame can be seen after this.
    #[inline(always)]
    pub fn look(&self) -> Seen<P> {
        seen(self.0.load(order::RENDEZVOUS_LOOK()))
    }

    /// As [`look`](Self::look), for who asks only whether somebody waits firmly: `Ok`, with `None` if nobody waits in
    /// any way. An error in all other cases.
    ///
    /// PERF: three comparisons, where the other is compiled to a jump through a table; bench `pingpong`.
    #[inline(always)]
    pub fn look_for_firm(&self) -> Result<Option<*mut P>, Unusual> {
        let word = self.0.load(order::RENDEZVOUS_LOOK());
        match word.addr() {
            0 => Ok(None),
            address if address & TAGS == 0 && address != POISONED => Ok(Some(word)),
            _ => Err(Unusual),
        }
    }

    /// Whether nobody waits, for a first look that leads to no access.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Waits firmly, if nobody is there; else says who is.
    #[inline(always)]
    pub fn wait(&self, waiter: *mut P) -> Result<(), Seen<P>> {
        self.enter(waiter)
    }

    /// Waits loosely, if nobody is there; else says who is.
    #[inline]
    pub fn offer(&self, waiter: *mut P) -> Result<(), Seen<P>> {
        self.enter(tagged(waiter, LOOSE))
    }

    /// Waits hotly, if nobody is there; else says who is.
    #[inline]
    pub fn look_out(&self, waiter: *mut P) -> Result<(), Seen<P>> {
        self.enter(tagged(waiter, HOT))
    }

    /// The caller's own hot waiter waits firmly from now on. False if somebody holds it, and will answer.
    #[inline]
    #[must_use]
    pub fn cool(&self, waiter: *mut P) -> bool {
        // As on entering: who finds a firm waiter sees its frame, and may queue it.
        let (release, relaxed) = (order::RENDEZVOUS_ENTER(), Ordering::Relaxed);
        self.0.compare_exchange(tagged(waiter, HOT), waiter, release, relaxed).is_ok()
    }

    #[inline(always)]
    fn enter(&self, word: *mut P) -> Result<(), Seen<P>> {
        let (release, acquire) = (order::RENDEZVOUS_ENTER(), order::RENDEZVOUS_LOOK());
        match self.0.compare_exchange(std::ptr::null_mut(), word, release, acquire) {
            Ok(_) => Ok(()),
            Err(now) => Err(seen(now)),
        }
    }

    /// The firm waiter that was seen is served. By its peer.
    #[inline(always)]
    pub fn clear(&self) {
        // Relaxed: the next to look are this very end and, once it has been woken, the other.
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Takes hold of a loose waiter that was seen. False if it has gone.
    ///
    /// The waiter may have gone and come back since it was seen, so that this must see its frame anew.
    #[inline]
    #[must_use]
    pub fn take(&self, waiter: *mut P) -> bool {
        self.hold(tagged(waiter, LOOSE))
    }

    /// Takes hold of a hot waiter that was seen. False if it has turned firm.
    #[inline]
    #[must_use]
    pub fn take_hot(&self, waiter: *mut P) -> bool {
        self.hold(tagged(waiter, HOT))
    }

    #[inline]
    fn hold(&self, word: *mut P) -> bool {
        let (empty, acquire) = (std::ptr::null_mut(), order::RENDEZVOUS_TAKE());
        self.0.compare_exchange(word, empty, acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the caller's own loose waiter back. False if somebody holds it.
    #[inline]
    #[must_use]
    pub fn withdraw(&self, waiter: *mut P) -> bool {
        let (empty, relaxed) = (std::ptr::null_mut(), Ordering::Relaxed);
        self.0.compare_exchange(tagged(waiter, LOOSE), empty, relaxed, relaxed).is_ok()
    }

    /// The caller's end goes.
    #[inline]
    pub fn close(&self) -> Ended<P> {
        self.end(|address| match address {
            CLOSED | POISONED_HALF => None,
            POISONED => Some(POISONED_HALF),
            _ => Some(CLOSED),
        })
    }

    /// Both ends stay, and may not be used any more.
    #[inline]
    pub fn poison(&self) -> Seen<P> {
        let ended = self.end(|address| match address {
            CLOSED => Some(POISONED_HALF),
            POISONED | POISONED_HALF => None,
            _ => Some(POISONED),
        });
        match ended {
            Ended::First(seen) => seen,
            Ended::Second => Seen::Over { poisoned: true },
        }
    }

    #[inline]
    fn end(&self, next: impl Fn(usize) -> Option<usize>) -> Ended<P> {
        let mut now = self.0.load(order::RENDEZVOUS_END_SEEN());
        loop {
            let Some(to) = next(now.addr()) else { return Ended::Second };
            let (acq_rel, acquire) = (order::RENDEZVOUS_END(), order::RENDEZVOUS_END_SEEN());
            match self.0.compare_exchange_weak(now, mark(to), acq_rel, acquire) {
                Ok(before) => return Ended::First(seen(before)),
                Err(other) => now = other,
            }
        }
    }
}
