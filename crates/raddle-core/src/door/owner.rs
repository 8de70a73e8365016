//! Owns: `Owner`, the word of an adaptor's lock that says who holds it.
//! May use: `describe::held`, `wait::holder`.
//! Never: following the address that it keeps: whoever it names may be gone.

use crate::wait::{Held, who_runs};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Nobody, or nobody knows.
const NOBODY: usize = 0;
/// In the word: it is an OS thread of the program's. Addresses of control blocks and of `OS_THREAD` are even.
const OS_THREAD: usize = 1;

/// Who holds a lock that is built on a [futex](super::futex): one machine word, beside the lock's own.
///
/// A lock that has one sets it when it is taken and clears it before it is given back, and shows it in each wait. Then
/// a report says who holds it, and finds the cycle in a deadlock. It orders nothing, and nothing depends on it.
///
/// One that has ended and not cleared it is taken for whoever has its control block next.
///
/// For C it is a `uintptr_t` that begins as 0.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Owner(AtomicUsize);

impl Owner {
    /// Nobody.
    pub const fn nobody() -> Owner {
        Owner(AtomicUsize::new(NOBODY))
    }

    /// The caller - a process, a thread, or an OS thread of the program - has taken the lock.
    #[inline]
    pub fn set(&self) {
        let (who, worker) = who_runs();
        let tag = if worker.is_null() { OS_THREAD } else { 0 };
        self.0.store(who.addr() | tag, Ordering::Relaxed);
    }

    /// The caller is about to give the lock back.
    #[inline]
    pub fn clear(&self) {
        self.0.store(NOBODY, Ordering::Relaxed);
    }

    /// Whether nobody holds the lock, as far as has been said.
    #[inline]
    pub fn is_nobody(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NOBODY
    }

    /// Whether the caller holds the lock. What recursive locks, and those that check for errors, ask.
    #[inline]
    pub fn is_caller(&self) -> bool {
        self.0.load(Ordering::Relaxed) & !OS_THREAD == who_runs().0.addr()
    }

    /// What a report is told.
    #[doc(hidden)]
    pub fn held(&self) -> Option<Held> {
        let word = self.0.load(Ordering::Relaxed);
        let who = std::ptr::without_provenance(word & !OS_THREAD);
        let by_caller = who == who_runs().0.cast_const();
        (word != NOBODY).then(|| Held::by_owner(who, word & OS_THREAD != 0, by_caller))
    }
}
