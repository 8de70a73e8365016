//! Owns: `Interruption`, by which an adaptor says where a thread may be taken off its worker, and by which signals.
//! May use: nothing.
//! Never: a signal sent, or handled: the watcher does that.

use std::ffi::c_int;
use std::sync::OnceLock;

/// What an adaptor says of signals, in a program of others: where a thread may be taken off its worker, and with which
/// signals, which the workers do not block, and nothing of the program's handles.
#[derive(Clone, Copy, Debug)]
pub struct Interruption {
    /// Takes a thread off its worker; none if nobody is to be.
    pub tick: Option<c_int>,
    /// Has a worker stand still for a moment, for a report.
    pub stop: c_int,
    /// By a handler: whether a thread that is interrupted at this address may leave its worker there.
    pub may_leave: fn(usize) -> bool,
    /// By a handler, where that is so, with the context that the kernel has given to it: does what has arrived for the
    /// thread that is interrupted, and may unwind it, or leave by a jump. True if it may have moved meanwhile.
    pub arrives: fn(*mut std::ffi::c_void) -> bool,
    /// Whether something may wait for a signal, or be woken by the handler of one: then a program that stands still
    /// may go on.
    pub waits_for_signals: fn() -> bool,
}

static INTERRUPTION: OnceLock<Interruption> = OnceLock::new();

impl Interruption {
    /// Before the first runtime begins. The first one stays.
    pub fn install(self) {
        let _second = INTERRUPTION.set(self);
    }

    /// What has been said.
    pub fn get() -> Option<Interruption> {
        INTERRUPTION.get().copied()
    }

    /// The signal that takes a thread off its worker, if one does.
    pub fn tick() -> Option<c_int> {
        Interruption::get().and_then(|said| said.tick)
    }
}
