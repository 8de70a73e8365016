//! Owns: `TicketLock` and its guard, first come, first served by numbers.
//! May use: `host::choice`, `raddle-core`.
//! Never: a wait that parks.

use super::sleepers::{Patience, refuse_to_wait_in_task};
use crate::host::choice::counted_point;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// A lock of two counters, a ticket for each who comes and the number that is served: first come, first served. All who
/// wait look at the same line. A baseline for measuring.
///
/// J. M. Mellor-Crummey, M. L. Scott, *Algorithms for scalable synchronization on shared-memory multiprocessors*, ACM
/// TOCS 9(1), 1991, figure 2.
///
/// ```
/// let count = raddle::sync::TicketLock::new(0);
/// *count.lock() += 1;
/// assert_eq!(count.with(|count| *count), 1);
/// ```
pub struct TicketLock<T: ?Sized> {
    tickets: AtomicU32,
    served: AtomicU32,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one thread at a time.
unsafe impl<T: ?Sized + Send> Sync for TicketLock<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for TicketLock<T> {}

/// The right to the data of a [`TicketLock`] until it is dropped.
#[must_use = "if unused the lock is free at once"]
pub struct TicketGuard<'a, T: ?Sized> {
    lock: &'a TicketLock<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for TicketGuard<'_, T> {}

impl<T> TicketLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> TicketLock<T> {
        TicketLock { tickets: AtomicU32::new(0), served: AtomicU32::new(0), data: UnsafeCell::new(data) }
    }
}

impl<T: ?Sized> TicketLock<T> {
    /// Waits for its turn and takes the lock.
    ///
    /// # Panics
    /// Inside a task, which must not wait: a ticket cannot be given back.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> TicketGuard<'_, T> {
        counted_point("TicketLock::lock");
        refuse_to_wait_in_task("TicketLock::lock");
        let mine = self.tickets.fetch_add(1, Ordering::Relaxed);
        // Acquire pairs with the release in the guard's drop.
        if self.served.load(Ordering::Acquire) != mine {
            self.wait(mine);
        }
        TicketGuard { lock: self, not_send: PhantomData }
    }

    #[cold]
    fn wait(&self, mine: u32) {
        let mut patience = Patience::default();
        loop {
            // Acquire pairs with the release in the guard's drop.
            let served = self.served.load(Ordering::Acquire);
            if served == mine {
                return;
            }
            patience.look_again(mine.wrapping_sub(served));
        }
    }

    /// Runs `f` on the data, locked.
    ///
    /// # Panics
    /// As [`lock`](Self::lock), and with `f`, which frees the lock.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock())
    }
}

impl<T: ?Sized> Deref for TicketGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for TicketGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for TicketGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let next = self.lock.served.load(Ordering::Relaxed).wrapping_add(1);
        // Release pairs with the acquire in `lock`.
        self.lock.served.store(next, Ordering::Release);
    }
}

impl<T: ?Sized> fmt::Debug for TicketLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketLock").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for TicketGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
