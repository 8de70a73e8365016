//! Owns: a lock for the few places that several workers share and that are touched rarely.
//! May use: `loom`.
//! Never: held over anything that waits, calls the host or panics.
//!
//! Without an operating system there is nothing to sleep on. Held for tens of nanoseconds, by workers of one machine.
//!
//! It uses one atomic flag.

use crate::prim::{AtomicBool, Ordering};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

/// A value behind a spinning lock.
#[derive(Debug, Default)]
pub(crate) struct Spin<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the flag admits one at a time. Where the target has no compare-and-swap there is one thread.
unsafe impl<T: Send> Sync for Spin<T> {}

/// The right to the value.
pub(crate) struct SpinGuard<'a, T>(&'a Spin<T>);

impl<T> Spin<T> {
    pub(crate) fn new(value: T) -> Self {
        Spin { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn lock(&self) -> SpinGuard<'_, T> {
        #[cfg(target_has_atomic = "8")]
        // Acquire pairs with the release in `drop`.
        while self.held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            #[cfg(not(loom))]
            core::hint::spin_loop();
            #[cfg(loom)]
            loom::thread::yield_now();
        }
        SpinGuard(self)
    }
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and nobody else has it.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `lock`.
        self.0.held.store(false, Ordering::Release);
    }
}
