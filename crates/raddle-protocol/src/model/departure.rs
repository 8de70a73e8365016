//! Owns: `Departure`, which stands for the word by which a switch says that a context has left its stack.
//! May use: `order`, `loom`.
//! Never: a context.
//!
//! The switch is assembly: it clears the word of whom it resumes, and sets it to the stack pointer of whom it leaves as
//! the last thing that it does for that one (`raddle_context::Context::has_left`).

use crate::order;
use crate::prim::AtomicBool;

/// Whether a context has left its stack.
#[derive(Debug)]
pub struct Departure(AtomicBool);

impl Departure {
    /// Of a context that runs.
    pub fn of_running() -> Departure {
        Departure(AtomicBool::new(false))
    }

    /// The switch: nothing of the stack is used any more.
    pub fn leave(&self) {
        self.0.store(true, order::DEPARTURE_LEAVE());
    }

    /// By whoever holds it.
    pub fn has_left(&self) -> bool {
        self.0.load(order::DEPARTURE_LOOK())
    }
}
