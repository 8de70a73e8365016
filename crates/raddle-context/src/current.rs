//! Owns: the one word of thread-local storage that says what runs on this OS thread.
//! May use: nothing.
//! Never: a reference to the word; an address of it kept over a switch.
//!
//! The word is a plain cell with a constant initialiser: no lazy start, no destructor, so that in an
//! executable a read is one `fs`-relative move. What it points to is the caller's affair. Whoever may
//! continue on another OS thread reads the word anew after each switch, through these functions.

use core::cell::Cell;
use core::ptr::null_mut;

thread_local! {
    static CURRENT: Cell<*mut ()> = const { Cell::new(null_mut()) };
}

/// The word that was last [`set`] on this OS thread; null before that.
///
/// ```
/// assert!(raddle_context::current::get().is_null());
/// ```
#[inline(always)]
pub fn get() -> *mut () {
    CURRENT.get()
}

/// Sets the word of this OS thread.
///
/// ```
/// use raddle_context::current;
/// let mut block = 7_u32;
/// current::set((&raw mut block).cast());
/// assert_eq!(current::get().cast(), &raw mut block);
/// # current::set(std::ptr::null_mut());
/// ```
#[inline(always)]
pub fn set(word: *mut ()) {
    CURRENT.set(word);
}

/// Where the word of this OS thread lies, or of the context that has storage of its own.
#[cfg(not(raddle_twin))]
pub(crate) fn address() -> *mut *mut () {
    CURRENT.with(Cell::as_ptr)
}
