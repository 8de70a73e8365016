//! Owns: `Fiber`, ThreadSanitizer's name for a context.
//! May use: nothing.
//! Never: a call of the sanitizer; those are in `sanitizer`.

use core::ffi::c_void;
use core::ptr::null_mut;

/// ThreadSanitizer's name for a context.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Fiber(pub(crate) *mut c_void);

impl Fiber {
    pub(crate) const fn new() -> Self {
        Fiber(null_mut())
    }
}
