//! Owns: `next!`, the C library's function of a name that this library exports, too.
//! May use: `raddle-context`.
//! Never: a function of this library's.

use raddle_context::interpose::Next;
use std::ffi::c_void;

/// The next definition of a name, as a function of the type that the C library's function of this name has.
macro_rules! next {
    ($name:literal: $kind:ty) => {{
        static NEXT: raddle_context::interpose::Next = raddle_context::interpose::Next::of($name);
        crate::next::function::<$kind>(&NEXT)
    }};
}

pub(crate) use next;

/// Only by `next!`, whose callers name the right type.
pub(crate) fn function<F: Copy>(next: &Next) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = next.address();
    // SAFETY: a function's address is read as a function of its type.
    unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) }
}
