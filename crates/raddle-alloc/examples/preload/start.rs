//! Owns: what happens when the library is loaded, and when the program ends.
//! May use: `libc`, `raddle-alloc`.
//! Never: an allocation.
//!
//! It is unsafe because it is called by the loader.

use std::ffi::{CStr, c_char, c_int};

/// glibc tells initialisers what it tells `main`.
extern "C" fn start(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    if let Some(text) = variable(environment, c"RADDLE_ALLOC")
        && let Err(refused) = raddle_alloc::configure(text)
    {
        raddle_alloc::refuse(&refused);
    }
    stay();
}

extern "C" fn end() {
    raddle_alloc::report();
}

/// Threads run this library's code when they end: it must not go, whoever closes it.
fn stay() {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: it writes what it knows of this function's library.
    let known = unsafe { libc::dladdr(stay as *const () as *const _, info.as_mut_ptr()) };
    if known != 0 {
        // SAFETY: all zeroes is a value, and the function has written it.
        let info = unsafe { info.assume_init() };
        // SAFETY: the library is loaded: it is only told to stay.
        unsafe { libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    }
}

/// What the environment has under this name.
fn variable(environment: *const *const c_char, name: &CStr) -> Option<&'static str> {
    let mut place = environment;
    loop {
        // SAFETY: the environment is a list of strings that ends with null.
        let entry = unsafe { place.as_ref().copied() }?;
        if entry.is_null() {
            return None;
        }
        // SAFETY: as above; it stays.
        let entry = unsafe { CStr::from_ptr(entry) }.to_str().ok();
        if let Some(value) =
            entry.and_then(|entry| entry.strip_prefix(name.to_str().ok()?)?.strip_prefix('='))
        {
            return Some(value);
        }
        place = place.wrapping_add(1);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
