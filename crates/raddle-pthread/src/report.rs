//! Owns: what is said to standard error: each thing once.
//! May use: `raddle-syscall`.
//! Never: an exit; standard output.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Says it, if it has not been said.
pub(crate) fn once(text: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(text.to_owned()) {
        // Nobody could be told.
        let _ = raddle_syscall::write(2, format!("raddle: pthreads: {text}\n").as_bytes());
    }
}
