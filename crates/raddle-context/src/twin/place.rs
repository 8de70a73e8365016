//! Owns: the twin of `place.rs`: a baton carries the word from one OS thread to the next.
//! May use: `current`.
//! Never: an address of the word.

use crate::current;

/// Where the word is that the next transfer carries.
#[derive(Clone, Copy, Debug)]
pub struct CurrentSlot;

impl CurrentSlot {
    /// Nobody's.
    pub const NOWHERE: CurrentSlot = CurrentSlot;

    /// That of whoever calls.
    pub fn here() -> CurrentSlot {
        CurrentSlot
    }

    /// Says what runs next.
    ///
    /// # Safety
    /// As for [`current::set`].
    pub unsafe fn set(self, word: *mut ()) {
        // SAFETY: passed on to the caller.
        unsafe { current::set(word) };
    }

    /// Says what runs next: in the twin every word travels.
    ///
    /// # Safety
    /// As for [`current::set`].
    pub unsafe fn leave(self, word: *mut ()) {
        // SAFETY: passed on to the caller.
        unsafe { current::set(word) };
    }
}
