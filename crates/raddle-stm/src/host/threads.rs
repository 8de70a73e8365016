//! Owns: how transactions wait in a program without a scheduler: OS threads alone, and the kernel's futex.
//! May use: `raddle-protocol`, `raddle-syscall`.
//! Never: starting an OS thread. The twin `scheduler` has each of these names.

use raddle_protocol::call::{WaitCall, WaitReason};
use raddle_protocol::prim::{AtomicU32, Ordering, futex_wait, futex_wake_one};
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Instant;

const RETRY: WaitCall = WaitCall::new("retry", WaitReason::Wait);

const WAITING: u32 = 0;
const WOKEN: u32 = 1;

/// What somebody waits for, in words: without a scheduler nobody reports it.
#[allow(dead_code, reason = "the twin's reports ask")]
pub(crate) trait Told {
    /// What it is.
    const KIND: &'static str;

    /// What there is to say of it.
    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// One wait of an OS thread. Others select it under the lock of a list which it leaves before it goes.
#[derive(Debug)]
pub(crate) struct ThreadSleeper(AtomicU32);

pub(crate) use ThreadSleeper as Waiter;

/// The address of the word to wake at: a name, which may be gone.
#[derive(Debug)]
pub(crate) struct Woken(*const AtomicU32);

// SAFETY: who waits there touches an atomic.
unsafe impl Sleeper for ThreadSleeper {
    type Right = Woken;

    fn new(_call: &'static WaitCall) -> ThreadSleeper {
        ThreadSleeper(AtomicU32::new(WAITING))
    }

    fn wait(&self) {
        let woken = self.wait_until(None);
        debug_assert!(woken.is_some(), "there is no deadline");
    }

    fn select(&self) -> Woken {
        self.try_select(0).expect("a wait without a deadline is ended once")
    }

    fn wake(right: Woken) {
        futex_wake_one(right.0);
    }
}

impl TimedSleeper for ThreadSleeper {
    fn wait_timed(&self) -> Option<u32> {
        self.wait_until(None)
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Option<u32> {
        // Acquire pairs with the release in `try_select`.
        while self.0.load(Ordering::Acquire) == WAITING {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            futex_wait(&self.0, WAITING, left);
        }
        Some(0)
    }

    fn try_select(&self, _outcome: u32) -> Option<Woken> {
        // Release pairs with the acquire in `wait_until`.
        let first = self.0.swap(WOKEN, Ordering::Release) == WAITING;
        first.then_some(Woken(&raw const self.0))
    }

    fn give_up(&self) {}

    fn discard(self) {}
}

/// Opens the caller's wait for a change.
pub(crate) fn waiter() -> ThreadSleeper {
    ThreadSleeper::new(&RETRY)
}

/// Waits for a change. False if the deadline passes first.
pub(crate) fn wait<S: Told>(
    waiter: &ThreadSleeper,
    _what: &S,
    _site: &'static Location<'static>,
    deadline: Option<Instant>,
) -> bool {
    waiter.wait_until(deadline).is_some()
}

/// Whom a report would ask.
pub(crate) trait ToldWait {
    /// There is none.
    #[expect(dead_code, reason = "there are no reports")]
    fn tell(&self, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// That a future waits, which nobody asks for.
pub(crate) struct WaitingFuture<T>(T);

impl<T> WaitingFuture<T> {
    pub(crate) const fn new(wait: T) -> WaitingFuture<T> {
        WaitingFuture(wait)
    }
}

impl<T> std::ops::Deref for WaitingFuture<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Nobody is cancelled here.
pub(crate) const fn check_cancelled() {}

/// Nobody is cancelled here.
pub(crate) fn shield(f: impl FnOnce()) {
    f();
}

/// Nobody forks here.
pub(crate) struct InTurn(());

impl InTurn {
    pub(crate) const fn begin() -> InTurn {
        InTurn(())
    }
}

/// What a panic has thrown.
pub(crate) type Thrown = Box<dyn Any + Send>;

/// Of two payloads the one that goes on, and the one that is lost.
pub(crate) const fn graver(first: Thrown, later: Thrown) -> (Thrown, Thrown) {
    (first, later)
}

/// Drops a payload for which there is no way on. A panic of its drop has none either.
pub(crate) fn lose(payload: Thrown) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(panic);
    }
}

/// Gives the core to the kernel.
pub(crate) fn let_others_run() {
    raddle_syscall::yield_processor();
}

/// There is no queue of others here, and to ask the kernel is dearer than to wait.
pub(crate) const fn others_are_ready() -> bool {
    false
}

/// There are none.
pub(crate) const fn let_ready_run() {}

/// Nobody reports who has done what.
#[inline(always)]
pub(crate) const fn author() -> u64 {
    0
}

/// Of whatever it is asked: there is nobody else.
pub(crate) fn tell_author(_author: u64, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str("an OS thread")
}

thread_local! {
    /// Its address is the name of an OS thread.
    static OS_THREAD: u8 = const { 0 };
}

/// What tells whoever runs here from all others.
pub(crate) fn caller() -> usize {
    OS_THREAD.with(|name| std::ptr::from_ref(name).addr())
}

/// Whether a worker polls a future here: there is no worker.
#[inline(always)]
pub(crate) const fn at_home() -> bool {
    false
}

/// An operation begins that may come in a loop: the kernel sees to it that others have their turns.
#[inline(always)]
pub(crate) const fn counted_point_at(_operation: &'static str, _site: &'static Location<'static>) {}

/// As [`counted_point_at`]; whether somebody chooses who goes on.
#[inline(always)]
pub(crate) const fn counted_point_if_seeded(
    _operation: &'static str,
    _site: &'static Location<'static>,
) -> bool {
    false
}

/// A variable is about to be read, or what was written to be stored: nobody chooses who does what first.
#[inline(always)]
pub(crate) const fn access_at(_operation: &'static str, _site: &'static Location<'static>) {}

/// Whether somebody chooses who goes on.
#[inline(always)]
pub(crate) const fn follows_seed() -> bool {
    false
}

/// An operation is done, and may have made somebody ready.
#[inline(always)]
pub(crate) const fn settle_at(_operation: &'static str, _site: &'static Location<'static>) {}

/// Whether somebody may want to be told what becomes of transactions.
#[inline(always)]
pub(crate) const fn notes() -> bool {
    false
}

/// Nobody is told.
#[inline(always)]
pub(crate) const fn note_committed(_version: u64, _written: usize) {}

/// Nobody is told.
#[inline(always)]
pub(crate) const fn note_overtaken(_site: &'static Location<'static>, _version: u64) {}
