//! Owns: `MessageSlot`, where a message lies in the frame of one who waits.
//! May use: nothing.
//! Never: knowing whether it is full; the protocol around it does.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Room for one message, which others fill or empty while its owner waits. Never drops what it holds.
pub(super) struct MessageSlot<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> MessageSlot<T> {
    pub(super) fn empty() -> Self {
        MessageSlot(UnsafeCell::new(MaybeUninit::uninit()))
    }

    pub(super) fn with(message: T) -> Self {
        MessageSlot(UnsafeCell::new(MaybeUninit::new(message)))
    }

    #[inline]
    pub(super) fn address(&self) -> *mut () {
        self.0.get().cast()
    }

    #[inline]
    pub(super) fn put(&self, message: T) {
        // SAFETY: the place is touched by its owner, or by the one who ends its wait; both are the only one then.
        unsafe { self.0.get().write(MaybeUninit::new(message)) };
    }

    /// # Safety
    /// A message is there, and nobody takes it again.
    #[inline]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: as in `put`.
        let message = unsafe { self.0.get().read() };
        // SAFETY: passed on to the caller.
        unsafe { message.assume_init() }
    }
}
