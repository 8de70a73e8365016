//! Owns: `transfer` from one context to another, and what a context must be told before the first one to it.
//! May use: `arch`, `context`, `sanitizer`, `stack`.
//! Never: allocation; a decision about who runs next.

use crate::context::{Context, ContextEntry};
use crate::sanitizer;
use crate::stack::Stack;

impl Context {
    /// Makes the next [`transfer`] to this context call `entry` at the top of `stack`. Writes nothing to
    /// the stack.
    ///
    /// # Safety
    /// `stack` stays taken, and no other context uses it, from the start of `entry` to its end.
    #[inline]
    pub unsafe fn prime(&mut self, stack: &Stack, entry: ContextEntry) {
        *self.sp.get_mut() = stack.top();
        self.entry = Some(sanitizer::primed(&mut self.fiber, stack, entry));
    }
}

/// Saves the running flow of control into `*from` and resumes `*to`. Returns when a transfer to `from` is made.
///
/// To the compiler it is a call of an unknown C function: every register and all reachable memory may have
/// changed. MXCSR, the x87 control word and signal masks are not switched.
///
/// # Safety
/// * `from` is valid for writes and `to` for reads and writes; they differ; nobody else touches either
///   meanwhile.
/// * `*to` is suspended or primed, and its stack is alive.
/// * `*from` stays where it is until it has been resumed, which must happen on this OS thread if anything
///   on its stack relies on thread-local storage.
/// * Not during unwinding: the panic count belongs to the OS thread.
#[inline(always)]
pub unsafe fn transfer(from: *mut Context, to: *mut Context) {
    // SAFETY: the caller's guarantees are exactly `switch`'s.
    unsafe { sanitizer::switch(from, to, 0) }
}

/// Like [`transfer`]; unless `storage` is 0, the next context uses the thread-local storage at that base: its own
/// ([`TlsBlock::base`](crate::tls::TlsBlock::base)), or that of the OS thread ([`tls::base`](crate::tls::base)).
///
/// # Safety
/// * As [`transfer`], but for the last two conditions.
/// * It is the storage with which `*to` was suspended or is to start, and no other context runs with it.
#[inline(always)]
pub unsafe fn transfer_with(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller's guarantees are exactly `switch`'s.
    unsafe { sanitizer::switch(from, to, storage) }
}

/// Like [`transfer_with`], but inlined into the caller, with all registers clobbered: there is no call and no return
/// for the processor to mispredict. For hot paths that wait; elsewhere it only makes code larger.
///
/// # Safety
/// As [`transfer_with`].
#[inline(always)]
pub unsafe fn transfer_here(from: *mut Context, to: *mut Context, storage: usize) {
    // SAFETY: the caller's guarantees are exactly `switch_here`'s.
    unsafe { sanitizer::switch_here(from, to, storage) }
}
