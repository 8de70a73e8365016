//! Owns: the user-level futex: [`wait`], [`wake`], [`requeue`] on words of the program's.
//! May use: `describe::wait`, `region`, `runtime::at_fork`, `wait::waiter`, `worker::choice`,
//! `raddle-protocol`.
//! Never: a write to the word; an allocation.
//!
//! What `futex(2)` is to the C library: a word of the program's, which it changes by atomic instructions, and two
//! calls, to sleep while the word has a certain value and to wake those who sleep there. Every lock can be built of
//! that. Here who sleeps is a process or a thread of the runtime, whose worker goes on with others, or an OS thread of
//! the program. All of them meet at one word. Rust futures must not wait (it would stop their worker): a wait of
//! theirs panics.
//!
//! A mutex, as Drepper's "Futexes are tricky" has it: 0 is free, 1 taken, 2 taken and perhaps somebody waits.
//!
//! ```
//! use raddle_core::door::futex::{self, Owner, WaitOptions};
//! use std::sync::atomic::{AtomicU32, Ordering::{Acquire, Relaxed, Release}};
//!
//! struct Lock { word: AtomicU32, owner: Owner }
//!
//! impl Lock {
//!     fn lock(&self) {
//!         if self.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
//!             while self.word.swap(2, Acquire) != 0 {
//!                 let options = WaitOptions { owner: Some(&self.owner), ..WaitOptions::default() };
//!                 futex::wait(&self.word, 2, &options);
//!             }
//!         }
//!         self.owner.set();
//!     }
//!
//!     fn unlock(&self) {
//!         self.owner.clear();
//!         if self.word.swap(0, Release) == 2 {
//!             futex::wake(&self.word, 1, futex::ANY);
//!         }
//!     }
//! }
//!
//! let lock = std::sync::Arc::new(Lock { word: AtomicU32::new(0), owner: Owner::nobody() });
//! let other = lock.clone();
//! lock.lock();
//! let waits = raddle::csp::spawn(move || {
//!     other.lock();
//!     other.unlock();
//! });
//! lock.unlock();
//! waits.join().unwrap();
//! ```
//!
//! *What the caller reckons with.* A wake may come for no reason: look at the word again. The word is read, never
//! written, and only by who waits or moves; a wake may come after the word is gone. But a word at which somebody still
//! waits must not go: as with the kernel's, whoever waits there would take wakes of the next word at that address. The
//! order of the program's own accesses is the program's: a wait that returns because the word has changed has not
//! ordered anything, one that was woken has seen all that its waker did before.
//!
//! *What differs from the kernel's.* A wake of many is not one step, see the protocol; no priorities, and no
//! inheritance of them; no robust lists; words shared with other programs only wake those of this one. `until` is on
//! the clock of [`Instant`].

pub use super::owner::Owner;

use super::table::{WAIT, WaitedWord, forget_waiters, table};
use crate::choice::{now, point, settle};
use crate::region;
use crate::runtime::at_fork;
use crate::wait::{CallOn, Subject, Wait, WaitCall, Waiter};
use raddle_protocol::protocol::futex::Waited;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bits of one who is woken by every wake, and of a wake that wakes everybody.
pub const ANY: u32 = u32::MAX;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// By a wake; perhaps one that was meant for a former word at this address.
    Woken,
    /// The word had another value: there was no wait.
    Differs,
    /// The time has passed.
    TimedOut,
    /// The [region](crate::cancel) of the caller has been cancelled.
    Cancelled,
}

/// How to wait.
#[derive(Clone, Copy, Debug)]
pub struct WaitOptions<'o> {
    /// Until when; `None` is for ever.
    pub until: Option<Instant>,
    /// Only a wake with one of these bits ends it; with none, no wake does.
    pub bits: u32,
    /// Who holds what the word guards, for reports.
    pub owner: Option<&'o Owner>,
}

impl Default for WaitOptions<'_> {
    /// For ever, for any wake, of a word without an owner.
    fn default() -> Self {
        WaitOptions { until: None, bits: ANY, owner: None }
    }
}

/// What a [`requeue`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requeued {
    /// So many were woken, ...
    pub woken: u32,
    /// ... and so many wait at the other word now.
    pub moved: u32,
}

/// A word on which one can wait: [`AtomicU32`], [`AtomicU64`].
pub trait FutexWord: sealed::Sealed {
    /// What it holds.
    type Value: Copy + Eq;

    /// What it holds now. Relaxed.
    #[doc(hidden)]
    fn now(&self) -> Self::Value;

    /// The lower half of a value, by which the kernel tells whether it has changed.
    #[doc(hidden)]
    fn low(value: Self::Value) -> u32;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::AtomicU32 {}
    impl Sealed for super::AtomicU64 {}
}

impl FutexWord for AtomicU32 {
    type Value = u32;

    #[inline]
    fn now(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn low(value: u32) -> u32 {
        value
    }
}

impl FutexWord for AtomicU64 {
    type Value = u64;

    #[inline]
    fn now(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn low(value: u64) -> u32 {
        value as u32
    }
}

/// Sleeps while the word has the value `expected`, until it is [woken](wake), or the time has passed.
///
/// Never returns [`WaitOutcome::Cancelled`]: as every other wait it unwinds, if the region of the caller is cancelled.
///
/// # Panics
/// In a Rust future, if the word has that value.
#[inline]
#[track_caller]
pub fn wait<W: FutexWord>(word: &W, expected: W::Value, options: &WaitOptions<'_>) -> WaitOutcome {
    let outcome = wait_or_cancelled(word, expected, options);
    if outcome == WaitOutcome::Cancelled {
        region::unwind();
    }
    outcome
}

/// As [`wait`], and returns [`WaitOutcome::Cancelled`] if the region of the caller is cancelled: for one whose frames
/// cannot be unwound, as those of C; and for one who has a lock to take again before it
/// [unwinds](crate::cancel::check). To wait again would return at once.
///
/// # Panics
/// As [`wait`].
#[inline]
#[track_caller]
pub fn wait_or_cancelled<W: FutexWord>(
    word: &W,
    expected: W::Value,
    options: &WaitOptions<'_>,
) -> WaitOutcome {
    point(WAIT.name());
    // Who need not wait need not be able to.
    if word.now() != expected {
        return WaitOutcome::Differs;
    }
    let address = std::ptr::from_ref(word).addr();
    sleep(address, (size_of::<W>(), options), || word.now() == expected, Location::caller())
}

/// As [`wait_or_cancelled`], in another call, for a subject of the caller's, as reports and traces tell it.
#[doc(hidden)]
pub fn wait_in<W: FutexWord, S: Subject>(
    word: &W,
    expected: W::Value,
    until: Option<Instant>,
    (call, subject, site): (&'static CallOn<S>, &S, &'static Location<'static>),
) -> WaitOutcome {
    point(call.name());
    if word.now() != expected {
        return WaitOutcome::Differs;
    }
    at_fork::install_with(forget_waiters);
    let wait = Wait::on(call, subject, site);
    let _shown = wait.show();
    let address = std::ptr::from_ref(word).addr();
    sleep_shown(address, (until, ANY), || word.now() == expected, call.call())
}

fn sleep(
    address: usize,
    (size, options): (usize, &WaitOptions<'_>),
    unchanged: impl FnOnce() -> bool,
    site: &'static Location<'static>,
) -> WaitOutcome {
    at_fork::install_with(forget_waiters);
    let owner = options.owner.map_or(std::ptr::null(), std::ptr::from_ref);
    let subject = WaitedWord { address, size, owner };
    let wait = Wait::on(const { &WAIT }, &subject, site);
    let _shown = wait.show();
    sleep_shown(address, (options.until, options.bits), unchanged, WAIT.call())
}

fn sleep_shown(
    address: usize,
    (until, bits): (Option<Instant>, u32),
    unchanged: impl FnOnce() -> bool,
    call: &'static WaitCall,
) -> WaitOutcome {
    match table().wait(address, bits, (Waiter::new(call), until), unchanged) {
        Waited::Woken => WaitOutcome::Woken,
        Waited::Changed => WaitOutcome::Differs,
        Waited::Expired if region::is_cancelled_now() => WaitOutcome::Cancelled,
        Waited::Expired => WaitOutcome::TimedOut,
    }
}

/// Wakes the first `count` of those who wait at the word with any of these `bits`; returns how many those were. Reads
/// nothing there: the word may be gone.
#[inline]
pub fn wake<W: FutexWord>(word: *const W, count: u32, bits: u32) -> u32 {
    point(WAKE);
    let woken = table().wake(word.addr(), count, bits);
    settle(WAKE);
    woken
}

/// Wakes the first `wake` who wait at `from`, whatever their bits, and has the next `moves` of them wait at `to` from
/// now on, behind those who wait there; all in one step, in which `from` has the value `expected`. `None`, and nothing
/// is done, if it has another. Reads nothing at `to`.
///
/// What a condition variable does for a broadcast: all wait for its mutex then, instead of waking up for it. Whoever is
/// woken must take the mutex in such a way that to give it back wakes the next.
#[inline]
pub fn requeue<W: FutexWord>(
    from: &W,
    expected: W::Value,
    wake: u32,
    to: *const W,
    moves: u32,
) -> Option<Requeued> {
    point(REQUEUE);
    let address = std::ptr::from_ref(from).addr();
    let unchanged = || from.now() == expected;
    let done = table().requeue((address, unchanged), wake, to.addr(), moves)?;
    settle(REQUEUE);
    Some(Requeued { woken: done.woken, moved: done.moved })
}

/// When `timeout` from now has passed, by the clock that waits go by: in a run by a seed, a virtual
/// one. `None` if that is later than a clock can tell.
pub fn deadline(timeout: Duration) -> Option<Instant> {
    now().checked_add(timeout)
}

const WAKE: &str = "futex::wake";
const REQUEUE: &str = "futex::requeue";
