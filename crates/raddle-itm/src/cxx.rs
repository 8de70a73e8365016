//! Owns: functions of C++'s run-time library, found by their names: a program in C has none.
//! May use: `libc`.
//! Never: a call of one.
//!
//! It holds `unsafe` for a name that the dynamic linker looks for, and for its type.

use std::ffi::CStr;
use std::sync::OnceLock;

/// A function of the program's, or of a library that it has; null if there is none.
pub(crate) fn by_name(name: &CStr) -> usize {
    // SAFETY: a name of C's.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr()
}

/// A function of C++'s run-time library, as a value of this type.
macro_rules! cxx {
    ($name:literal: $type:ty) => {{
        static FOUND: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
        let found = *FOUND.get_or_init(|| $crate::cxx::by_name($name));
        assert!(found != 0, "{:?} is called, and the program has no run-time library of C++", $name);
        // SAFETY: the function of this name has this type.
        unsafe { ::std::mem::transmute::<*const (), $type>(::std::ptr::with_exposed_provenance(found)) }
    }};
}
pub(crate) use cxx;

/// For [`cxx`], of what need not be there.
pub(crate) fn optional(found: &'static OnceLock<usize>, name: &CStr) -> Option<*const ()> {
    let found = *found.get_or_init(|| by_name(name));
    (found != 0).then(|| std::ptr::with_exposed_provenance(found))
}
