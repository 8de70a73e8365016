//! Owns: calls of the kernel's that block, on a spare OS thread, and that a handler interrupts.
//! May use: `thread::cancel`, `thread::handlers`, `thread::record`, `libc`, `raddle-core`, `raddle-syscall`.
//! Never: such a call on a worker.

use super::{TELL, bit};
use crate::thread::record;
use crate::thread::{cancel, handlers};
use raddle_core::blocking;
use raddle_syscall::Errno;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// Makes a call of the kernel's that blocks, on a spare OS thread, and that a handler for the caller interrupts; again,
/// if the handler lets it be `begun_again`. A cancellation interrupts it, too, and unwinds the caller.
pub(crate) fn call_away(
    begun_again: bool,
    call: impl Fn() -> Result<usize, Errno> + Send,
) -> Result<usize, Errno> {
    let Some(here) = record::here() else { return call() };
    let breaks = here.breaks.load(Ordering::SeqCst); // pairs with the addition in `note`
    let result = loop {
        let result = call_away_once(begun_again, breaks, &call);
        handlers::run_arrived(here, null_mut());
        // pairs with the addition in `note`
        let is_broken = !begun_again || here.breaks.load(Ordering::SeqCst) != breaks;
        if is_broken || cancel::is_wanted(here) || result != Err(Errno(libc::EINTR)) {
            break result;
        }
    };
    if result == Err(Errno(libc::EINTR)) {
        cancel::point();
    }
    result
}

/// A call that another OS thread makes while its owner waits.
struct Lent<'c, C>(&'c C);

// SAFETY: its owner waits meanwhile, so it is as if it were given there and back.
unsafe impl<C: Send> Send for Lent<'_, C> {}

impl<C: Fn() -> Result<usize, Errno>> Lent<'_, C> {
    fn make(&self) -> Result<usize, Errno> {
        (self.0)()
    }
}

/// Until it is done, or a handler has to run first, or has run.
fn call_away_once<C: Fn() -> Result<usize, Errno> + Send>(
    begun_again: bool,
    breaks: u32,
    call: &C,
) -> Result<usize, Errno> {
    let lent = Lent(call);
    blocking(move || {
        let Some(here) = record::here() else { return lent.make() };
        let masked = raddle_syscall::blocked_signals();
        // pairs with the load in `end_wait_for_descriptor`
        here.away.store(raddle_syscall::thread_number(), Ordering::SeqCst);
        raddle_syscall::block_signals_only(masked & !bit(TELL));
        // Who cancels has set the mark before it looks where the caller is.
        let is_over = cancel::is_wanted(here) || handlers::has_arrived(here);
        let result = loop {
            let result = if is_over { Err(Errno(libc::EINTR)) } else { lent.make() };
            // pairs with the addition in `note`
            let is_broken = !begun_again || here.breaks.load(Ordering::SeqCst) != breaks;
            let is_over = is_broken || cancel::is_wanted(here) || handlers::has_arrived(here);
            if is_over || result != Err(Errno(libc::EINTR)) {
                break result;
            }
        };
        raddle_syscall::block_signals_only(masked);
        here.away.store(0, Ordering::SeqCst); // pairs with the load in `end_wait_for_descriptor`
        result
    })
}
