//! Owns: `Place`, an OS thread's `current` word as seen by who runs there with thread-local storage of his own.
//! May use: `current`.
//! Never: another OS thread's word.

use crate::current;
use core::ptr::null_mut;

/// Where an OS thread keeps its [`current`] word.
///
/// Who runs on that OS thread may have thread-local storage of its own, with a `current` word of its own, which is set
/// once and always right; the OS thread's word is for contexts without.
#[derive(Clone, Copy, Debug)]
pub struct Place(*mut *mut ());

impl Place {
    /// Nobody's.
    pub const NOWHERE: Place = Place(null_mut());

    /// The OS thread's that calls, without storage of its own.
    pub fn here() -> Place {
        Place(current::address())
    }

    /// Says what runs next on the OS thread.
    ///
    /// # Safety
    /// The caller runs on the OS thread of which this is the place.
    #[inline(always)]
    pub unsafe fn set(self, word: *mut ()) {
        // SAFETY: the OS thread is there, and nobody has a reference to its word.
        unsafe { self.0.write(word) };
    }

    /// Says that next runs what has a word of its own. Nothing to do.
    ///
    /// # Safety
    /// As [`set`](Self::set).
    #[inline(always)]
    pub unsafe fn leave(self, _word: *mut ()) {}
}
