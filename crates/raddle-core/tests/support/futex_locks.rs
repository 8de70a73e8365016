//! A mutex, a condition variable and a barrier on the user-level futex, as an adaptor builds them.

#![allow(dead_code, reason = "each test program uses a part")]

use raddle::cancel;
use raddle_core::door::futex::{self, ANY, Owner, WaitOptions, WaitOutcome};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Instant;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and perhaps somebody waits.
const WANTED: u32 = 2;

/// The mutex of Drepper's "Futexes are tricky", with an owner.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    word: AtomicU32,
    owner: Owner,
}

impl Lock {
    #[track_caller]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.lock_until(None);
        }
    }

    pub(crate) fn try_lock(&self) -> bool {
        let taken = self.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok();
        if taken {
            self.owner.set();
        }
        taken
    }

    /// As one who has perhaps others behind it. False if the time has passed.
    #[track_caller]
    pub(crate) fn lock_until(&self, until: Option<Instant>) -> bool {
        while self.word.swap(WANTED, Acquire) != FREE {
            let options = WaitOptions { until, owner: Some(&self.owner), ..WaitOptions::default() };
            if futex::wait(&self.word, WANTED, &options) == WaitOutcome::TimedOut {
                return false;
            }
        }
        self.owner.set();
        true
    }

    pub(crate) fn unlock(&self) {
        assert!(self.owner.is_caller(), "unlocked by one who does not hold it");
        self.owner.clear();
        if self.word.swap(FREE, Release) == WANTED {
            futex::wake(&self.word, 1, ANY);
        }
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce() -> T) -> T {
        self.lock();
        let value = f();
        self.unlock();
        value
    }
}

/// A condition variable: a number that each notification raises.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    number: AtomicU32,
}

impl Condition {
    /// False if the time has passed. If the caller is cancelled it unwinds, and has given the lock back.
    #[track_caller]
    pub(crate) fn wait(&self, lock: &Lock, until: Option<Instant>) -> bool {
        let seen = self.number.load(Relaxed);
        lock.unlock();
        let options = WaitOptions { until, ..WaitOptions::default() };
        let outcome = futex::wait_or_cancelled(&self.number, seen, &options);
        if outcome == WaitOutcome::Cancelled {
            cancel::check();
        }
        lock.lock_until(None);
        outcome != WaitOutcome::TimedOut
    }

    pub(crate) fn notify_one(&self) {
        self.number.fetch_add(1, Relaxed);
        futex::wake(&self.number, 1, ANY);
    }

    /// Wakes one and has the others wait for the lock.
    pub(crate) fn notify_all(&self, lock: &Lock) {
        let mut number = self.number.fetch_add(1, Relaxed).wrapping_add(1);
        while futex::requeue(&self.number, number, 1, &raw const lock.word, u32::MAX).is_none() {
            number = self.number.load(Relaxed);
        }
    }
}

/// A barrier of `members`.
#[derive(Debug)]
pub(crate) struct Barrier {
    members: u32,
    missing: AtomicU32,
    phase: AtomicU32,
}

impl Barrier {
    pub(crate) fn new(members: u32) -> Barrier {
        Barrier { members, missing: AtomicU32::new(members), phase: AtomicU32::new(0) }
    }

    #[track_caller]
    pub(crate) fn wait(&self) {
        let phase = self.phase.load(Acquire);
        if self.missing.fetch_sub(1, AcqRel) == 1 {
            self.missing.store(self.members, Relaxed);
            self.phase.store(phase.wrapping_add(1), Release);
            futex::wake(&self.phase, u32::MAX, ANY);
        }
        while self.phase.load(Acquire) == phase {
            futex::wait(&self.phase, phase, &WaitOptions::default());
        }
    }
}
