//! Owns: what happens when the library is loaded, and when the program ends.
//! May use: `libc`, `raddle-alloc`.
//! Never: an allocation.
//!
//! It is unsafe because it is called by the loader.

use std::ffi::{CStr, c_char, c_int};

/// glibc tells initialisers what it tells `main`.
extern "C" fn start(_count: c_int, _arguments: *const *const c_char, environment: *const *const c_char) {
    // Who starts a program that has more rights than they have does not choose for it: an option writes files.
    // SAFETY: no preconditions.
    let has_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if let Some(text) = variable(environment, c"RADDLE_ALLOC").filter(|_| !has_more_rights) {
        configure(text);
    }
    stay();
}

fn configure(text: &CStr) {
    let refused = match text.to_str() {
        Ok(text) => match raddle_alloc::configure(text) {
            Ok(()) => return,
            Err(refused) => refused,
        },
        Err(error) => {
            let known = text.to_bytes().get(..error.valid_up_to()).unwrap_or_default();
            let part = str::from_utf8(known).unwrap_or_default();
            raddle_alloc::UnknownOption { part, allowed: "options in UTF-8; what follows this is not" }
        }
    };
    raddle_alloc::refuse(&refused)
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
fn variable(environment: *const *const c_char, name: &CStr) -> Option<&'static CStr> {
    let mut place = environment;
    loop {
        // SAFETY: the environment is a list of strings that ends with null.
        let entry = unsafe { place.as_ref().copied() }?;
        if entry.is_null() {
            return None;
        }
        // SAFETY: as above; it stays.
        let entry: &'static CStr = unsafe { CStr::from_ptr(entry) };
        let value =
            entry.to_bytes_with_nul().strip_prefix(name.to_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            return CStr::from_bytes_with_nul(value).ok();
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
