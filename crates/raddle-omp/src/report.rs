//! Owns: what is said to standard error: each thing once.
//! May use: nothing.
//! Never: an exit.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Says it, if it has not been said.
pub(crate) fn once(text: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(text.to_owned()) {
        write(&format!("raddle: OpenMP: {text}\n"));
    }
}

/// A construct that is not there.
pub(crate) fn unsupported(construct: &str) {
    once(&format!("{construct} is not supported, and is ignored"));
}

/// An error of the program's; it ends here.
pub(crate) fn fatal(text: &str) -> ! {
    write(&format!("raddle: OpenMP: {text}\n"));
    std::process::exit(1)
}

pub(crate) fn write(text: &str) {
    // Nobody could be told.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
