//! Owns: which signal has asked a command to end that has more to put away than its memory.
//! May use: `occam`.
//! Never: what a handler may not: it notes the signal, and the command looks.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::occam::terminal::{ENDING, handle};

/// The last signal that came, or 0.
static ASKED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: i32) {
    ASKED.store(signal, Ordering::Relaxed);
}

/// From now on signals that end a program are noted, but for those that are ignored.
pub(super) fn watch() {
    ENDING.into_iter().for_each(|signal| handle(signal, note));
}

/// Which one has come.
pub(super) fn signal() -> Option<i32> {
    Some(ASKED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}
