//! Owns: `ParkToken`, the word behind `park` and `unpark`, with the generation that keeps an old handle harmless.
//! May use: `order`, `prim`, `loom`, `raddle-syscall`.
//! Never: a queue; the caller of a transition that returns `Wake` queues.
//!
//! The word is `generation << 2 | state`, and the state one of
//!
//! | state | meaning | who leaves it |
//! |---|---|---|
//! | `EMPTY` | runs, or was woken and is to run; no token | `notify`, `park` |
//! | `PARKED` | its context is saved and it waits | `notify`, `expire` |
//! | `BLOCKED` | it keeps its OS thread, which sleeps at this word | `notify`, the owner when its time is over |
//! | `NOTIFIED` | has a token | the owner: `consume` |
//!
//! A token that finds its owner parked is used up by the wake itself, so that an owner that is woken has, most of the
//! time, nothing to exchange (PERF: one of three locked instructions of a hand-over; benches `handoff`, `chain`).
//!
//! A handle carries the generation that it was made with. When the block ends its life the generation goes up, so a
//! handle that outlives its process finds another generation and does nothing. The block's memory is never given
//! back (see `crates/raddle-core/src/block/pool.rs`), so looking is always allowed. 62 bits do not wrap.

use crate::order;
use crate::prim::{AtomicU64, Ordering, futex_wait_low, futex_wake_low, overwrite};
use std::time::Duration;

const EMPTY: u64 = 0;
const PARKED: u64 = 1;
const NOTIFIED: u64 = 2;
const BLOCKED: u64 = 3;
const STATE: u64 = 3;

/// Which life of the block a handle belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub struct Generation(u64);

/// What the one who notified must do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Notified {
    /// It waits and this call ended its wait: queue it.
    Wake,
    /// It runs, or is being woken, or its life is over: nothing to do.
    Noted,
}

/// The word.
#[derive(Debug)]
pub struct ParkToken(AtomicU64);

impl ParkToken {
    /// No token, and nobody parked.
    #[inline]
    pub fn new() -> Self {
        ParkToken(AtomicU64::new(EMPTY))
    }

    /// The current life. Stable while the caller keeps the block alive.
    #[inline]
    pub fn generation(&self) -> Generation {
        Generation(self.0.load(Ordering::Relaxed) >> 2)
    }

    /// Ends a life. The caller is the block's only holder; stale handles may still look.
    #[inline]
    pub fn end_life(&self) {
        let next = (self.0.load(Ordering::Relaxed) >> 2) + 1;
        // Relaxed: a stale handle that misses this sees a state that is not PARKED, and no process is woken by it.
        overwrite!(self.0, next << 2 | EMPTY, Ordering::Relaxed);
    }

    /// Takes a token that is there. The owner calls it before parking.
    #[inline]
    pub fn take(&self) -> bool {
        if self.0.load(Ordering::Relaxed) & STATE != NOTIFIED {
            return false;
        }
        self.consume();
        true
    }

    /// Uses up a token that is there. The owner calls it when it has been woken, and sees what its waker did.
    ///
    /// A swap, not a store: another unpark may come between the look and this, and what it published must be seen.
    #[inline]
    pub fn consume(&self) {
        let word = self.0.load(order::TOKEN_TAKE());
        // Nothing but a wake has made it empty since it was parked.
        if word & STATE != EMPTY {
            self.0.swap(word & !STATE, order::TOKEN_TAKE());
        }
    }

    /// The owner's context is saved: wait. False if a token came first: the caller queues it again, and the owner
    /// then [`consume`](Self::consume)s the token, which is where it sees what the notifier did.
    #[must_use]
    #[inline]
    pub fn park(&self) -> bool {
        let seen = self.0.load(Ordering::Relaxed);
        let (to, release) = (seen & !STATE | PARKED, order::TOKEN_PARK());
        seen & STATE == EMPTY && self.0.compare_exchange(seen, to, release, Ordering::Relaxed).is_ok()
    }

    /// The owner sleeps on its OS thread until it has a token, which is used up, or for about `timeout`. True if there
    /// was a token. It may be early: then the owner looks at its clock and calls again.
    ///
    /// Nothing is to be saved, and the notifier touches nothing but the word: so to say `BLOCKED` needs no order.
    #[inline]
    pub fn block(&self, timeout: Option<Duration>) -> bool {
        if self.take() {
            return true;
        }
        let life = self.0.load(Ordering::Relaxed) & !STATE;
        let (empty, blocked, relaxed) = (life | EMPTY, life | BLOCKED, Ordering::Relaxed);
        if self.0.compare_exchange(empty, blocked, relaxed, relaxed).is_ok() {
            futex_wait_low(&self.0, blocked, timeout);
            if self.0.compare_exchange(blocked, empty, relaxed, relaxed).is_ok() {
                return false;
            }
        }
        self.consume();
        true
    }

    /// Gives the process of this life a token; the first one wakes it if it waits.
    #[inline]
    pub fn notify(&self, life: Generation) -> Notified {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen >> 2 != life.0 {
                return Notified::Noted;
            }
            let to = seen & !STATE | if seen & STATE == PARKED { EMPTY } else { NOTIFIED };
            match self.0.compare_exchange_weak(seen, to, order::TOKEN_NOTIFY(), Ordering::Relaxed) {
                Ok(_) if seen & STATE == PARKED => return Notified::Wake,
                Ok(_) if seen & STATE == BLOCKED => futex_wake_low(&self.0),
                Ok(_) => {}
                Err(now) => {
                    seen = now;
                    continue;
                }
            }
            return Notified::Noted;
        }
    }

    /// A deadline has passed: wakes the process if it still waits, and leaves no token if it does not.
    #[inline]
    pub fn expire(&self, life: Generation) -> Notified {
        let waiting = life.0 << 2 | PARKED;
        let (acq_rel, relaxed) = (order::TOKEN_NOTIFY(), Ordering::Relaxed);
        match self.0.compare_exchange(waiting, life.0 << 2 | EMPTY, acq_rel, relaxed) {
            Ok(_) => Notified::Wake,
            Err(_) => Notified::Noted,
        }
    }
}
