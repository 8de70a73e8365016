//! Owns: `WakeWord`, at which a member sleeps, and how others wake it; the locks of the interface.
//! May use: `raddle-core`.
//! Never: a queue of its own.
//!
//! A member that waits looks at *conditions* of others: a round that has ended, a queue that is not empty. Whoever
//! makes one true pokes it afterwards:
//!
//! ```text
//!     wait until done()                         poke            (the caller has made done() true)
//!     seen = number
//!     done()? spin; done()?
//!     asleep = true
//!     fence                                     number += 1
//!     done()? else sleep while number == seen   fence
//!     asleep = false                            asleep? wake
//! ```
//!
//! One of the two sees what the other did. A poke of one who is awake is an addition and a load. The models in
//! `model` are of these steps.

use raddle_core::door::futex::{self, ANY, FutexWord, WaitOptions};
use raddle_core::door::{team, thread, tick};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::time::Duration;

/// Where one thread sleeps.
#[repr(align(64))]
pub(crate) struct WakeWord {
    number: AtomicU32,
    asleep: AtomicBool,
}

impl WakeWord {
    pub(crate) const fn new() -> WakeWord {
        WakeWord { number: AtomicU32::new(0), asleep: AtomicBool::new(false) }
    }

    /// By its thread: until it was poked, or `done()`; also for no reason.
    pub(crate) fn wait(&self, spin: Duration, done: impl Fn() -> bool) {
        let seen = self.number.load(Ordering::Acquire); // pairs with the release in `poke`
        let over = || self.number.load(Ordering::Acquire) != seen || done(); // pairs with the same
        if over() || team::spin_until(spin, over) {
            return;
        }
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the fence in `wake`
        if !done() {
            sleep(&self.number, seen);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Something has changed; without a wake, which is to follow.
    #[inline]
    pub(crate) fn note(&self) {
        self.number.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
    }

    /// After `note`, or after what a condition is made of, and a fence: wakes it, if it sleeps.
    #[inline]
    pub(crate) fn wake_noted(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            futex::wake(&raw const self.number, 1, ANY);
        }
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// After what a condition is made of, and a fence: pokes it, if it sleeps. One that is awake looks by itself.
    #[inline]
    pub(crate) fn poke_sleeper(&self) {
        if self.is_asleep() {
            self.poke();
        }
    }

    /// Both, with the fence between.
    #[inline]
    pub(crate) fn poke(&self) {
        self.note();
        fence(Ordering::SeqCst); // pairs with the fence in `wait`
        self.wake_noted();
    }
}

fn sleep<W: FutexWord>(word: &W, seen: W::Value) {
    // For no reason, too: all callers look again.
    let _ = futex::wait_or_cancelled(word, seen, &WaitOptions::default());
}

/// A short wait for one who is in the middle of something.
pub(crate) fn breathe(times: &mut u32) {
    *times += 1;
    if *times < 100 {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

/// Sleeps while the word has this value.
pub(crate) fn sleep_at<W: FutexWord>(word: &W, seen: W::Value) {
    sleep(word, seen);
}

/// Wakes all who sleep at the word.
pub(crate) fn wake_all<W: FutexWord>(word: &W) {
    futex::wake(std::ptr::from_ref(word), u32::MAX, ANY);
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;

/// Takes a lock of four bytes: 0 free, 1 taken, 2 taken and perhaps somebody waits.
#[inline]
pub(crate) fn lock(word: &AtomicU32) {
    // pairs with the release in `unlock`
    if word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        lock_slowly(word);
    }
}

#[cold]
fn lock_slowly(word: &AtomicU32) {
    let free = || word.load(Ordering::Relaxed) == FREE;
    // pairs with the release in `unlock`
    let take = || word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    for _ in 0..50 {
        if free() && take() {
            return;
        }
        std::hint::spin_loop();
    }
    // pairs with the release in `unlock`
    while word.swap(WANTED, Ordering::Acquire) != FREE {
        sleep(word, WANTED);
    }
}

/// Takes it, if it is free. One who asks again and again lets others run.
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    // pairs with the release in `unlock`
    let taken = word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if !taken {
        tick::yield_if_due();
    }
    taken
}

#[inline]
pub(crate) fn unlock(word: &AtomicU32) {
    // pairs with the acquire in `lock`
    if word.swap(FREE, Ordering::Release) == WANTED {
        futex::wake(std::ptr::from_ref(word), 1, ANY);
    }
}
