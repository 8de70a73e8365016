//! Owns: what the watcher says on standard error, however slow who reads it is.
//! May use: `raddle-core`.
//! Never: a wait for a reader that keeps the watcher from those whom it helps.

use raddle_core::message;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So long the watcher waits where nobody reads, once: then it says no more before somebody does.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many texts have been lost.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Says it, or counts it as lost. By the watcher only.
pub(crate) fn say(text: &str) {
    let lost = LOST.load(Ordering::Relaxed);
    let patience = if lost == 0 { PATIENCE } else { Duration::ZERO };
    let said = if lost == 0 {
        message::say_within(text, patience)
    } else {
        let before = format!("raddle: {lost} messages were lost, since nobody read standard error\n");
        message::say_within(&(before + text), patience)
    };
    LOST.store(if said { 0 } else { lost + 1 }, Ordering::Relaxed);
}
