//! Owns: signals: what each thread blocks, who runs handlers, whose waits they end; here their numbers and actions.
//! May use: `libc`.
//! Never: a handler of the program's in the middle of the runtime.
//!
//! The kernel knows workers, and a handler that interrupts one may find it with a lock of the runtime's. So workers
//! block all signals but those of faults, and a signal for the program arrives at the OS thread in which it began, the
//! *keeper*, which waits for `main` and holds nothing. It has `main` run the handler (`handlers`), or runs it itself if
//! that cannot be reached; then the wait of `main` ends, as by the kernel it would. What a thread sends to itself is
//! handled there and then.
//!
//! What a thread blocks is a record of ours; the keeper blocks what all threads block. It sets its mask in a handler of
//! ours, by a signal of ours.

mod away;
mod handled;
mod keeper;
mod masks;
mod sent;
mod waits;

pub(crate) use away::call_away;
pub(crate) use handled::{
    LOOK_AGAIN, are_waited_for, end_wait_for_descriptor, interrupt, note, reset, wake_up,
};
pub(crate) use keeper::{
    MAIN, begin, begin_keeping, change, end, in_child, inherited, is_main, keep, keep_nothing,
};
pub(crate) use masks::{own_mask, set_mask_by_number, set_own_mask, with_none_of_ours, with_own_mask};
pub(crate) use sent::{is_for, let_through, send_to_caller};

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize};

pub(crate) const SIGNALS: usize = 65;
/// By which the keeper is told of its mask.
const TELL: c_int = 63;
/// Takes a thread off its worker.
pub(crate) const TICK: c_int = 61;
/// Has a worker stand still, for a report.
pub(crate) const STOP: c_int = 62;

pub(crate) const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// What a fault sends to the thread that makes it.
const FAULTS: u64 = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGFPE)
    | bit(libc::SIGILL)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS)
    | bit(libc::SIGABRT);
/// Which are the runtime's own.
const OURS: u64 = bit(TELL) | bit(TICK) | bit(STOP);
/// What workers do not block.
const OF_WORKERS: u64 = FAULTS | bit(TICK) | bit(STOP);
/// What cannot be blocked.
const NEVER: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP);

/// What the program has installed.
pub(crate) struct Action {
    pub(crate) handler: AtomicUsize,
    pub(crate) flags: AtomicI32,
    /// What it blocks while it runs.
    pub(crate) mask: AtomicU64,
}

pub(crate) static ACTIONS: [Action; SIGNALS] =
    [const { Action { handler: AtomicUsize::new(0), flags: AtomicI32::new(0), mask: AtomicU64::new(0) } };
        SIGNALS];
