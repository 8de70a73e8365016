//! Owns: `SpinLock` and its guard, the baseline for measuring.
//! May use: `host::choice`, `raddle-core`.
//! Never: a wait that parks.

use super::sleepers::{Patience, refuse_to_wait_in_task};
use crate::host::choice::counted_point;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// The simplest lock, a flag: whoever finds it free takes it. A baseline for measuring; no order, no fairness.
///
/// ```
/// let count = raddle::sync::SpinLock::new(0);
/// *count.lock() += 1;
/// assert_eq!(count.with(|count| *count), 1);
/// ```
pub struct SpinLock<T: ?Sized> {
    held: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one thread at a time.
unsafe impl<T: ?Sized + Send> Sync for SpinLock<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for SpinLock<T> {}

/// The right to the data of a [`SpinLock`] until it is dropped.
#[must_use = "if unused the lock is free at once"]
pub struct SpinGuard<'a, T: ?Sized> {
    lock: &'a SpinLock<T>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for SpinGuard<'_, T> {}

impl<T> SpinLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> SpinLock<T> {
        SpinLock { held: AtomicBool::new(false), data: UnsafeCell::new(data) }
    }
}

impl<T: ?Sized> SpinLock<T> {
    /// Waits until the lock is free and takes it.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> SpinGuard<'_, T> {
        counted_point("SpinLock::lock");
        // Acquire pairs with the release in the guard's drop.
        if self.held.swap(true, Ordering::Acquire) {
            self.wait();
        }
        SpinGuard { lock: self, not_send: PhantomData }
    }

    #[cold]
    fn wait(&self) {
        refuse_to_wait_in_task("SpinLock::lock");
        let mut patience = Patience::default();
        // Acquire pairs with the release in the guard's drop.
        while self.held.load(Ordering::Relaxed) || self.held.swap(true, Ordering::Acquire) {
            patience.look_again(0);
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

impl<T: ?Sized> Deref for SpinGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for SpinGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for SpinGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the acquire in `lock`.
        self.lock.held.store(false, Ordering::Release);
    }
}

impl<T: ?Sized> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for SpinGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
