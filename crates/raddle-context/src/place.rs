//! Owns: `CurrentSlot`: an OS thread's `current` word, for contexts with thread-local storage of their own.
//! May use: `current`.
//! Never: another OS thread's word.

use crate::current;
use core::ptr::null_mut;

/// The address of an OS thread's [`current`] word.
///
/// A context with thread-local storage of its own also has a `current` word of its own, which is set once and stays
/// right. The OS thread's word is for contexts without such storage.
#[derive(Clone, Copy, Debug)]
pub struct CurrentSlot(*mut *mut ());

impl CurrentSlot {
    /// The slot of no OS thread.
    pub const NOWHERE: CurrentSlot = CurrentSlot(null_mut());

    /// The slot of the calling OS thread. The caller must not run with storage of its own.
    pub fn here() -> CurrentSlot {
        CurrentSlot(current::address())
    }

    /// Sets what runs next on the OS thread.
    ///
    /// # Safety
    /// The caller runs on the OS thread of this slot; the word as for [`current::set`].
    #[inline(always)]
    pub unsafe fn set(self, word: *mut ()) {
        // SAFETY: the OS thread is alive, and nobody has a reference to its word.
        unsafe { self.0.write(word) };
    }

    /// A context with a word of its own runs next: nothing to do.
    ///
    /// # Safety
    /// As [`set`](Self::set).
    #[inline(always)]
    pub unsafe fn leave(self, _word: *mut ()) {}
}
