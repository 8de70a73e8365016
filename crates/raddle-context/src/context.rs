//! Owns: `Context`, a suspended or primed flow of control, and `transfer` between two.
//! May use: `arch::machine`, `stack`, `tools`.
//! Never: allocation; a decision about who runs next.
//!
//! A context is in one of three states, and only its two words tell which:
//!
//! | state | `sp` | `entry` | what a `transfer` to it does |
//! |---|---|---|---|
//! | running, ended, or empty | anything | none | forbidden |
//! | suspended | where `transfer` left it | none | returns from that `transfer` |
//! | primed | a stack's top | some | clears `entry` and calls it on that stack |

use crate::stack::Stack;
use crate::tools::fibers::{self, Fiber};

/// The function of a primed context: it gets the address of its own [`Context`], and returns the context to resume when
/// it has ended.
///
/// Its own stack is no longer used once it has returned. The returned context may be suspended or
/// primed, and may be primed on the same stack. A panic must not leave it: `extern "C"` turns one that
/// tries into an abort.
pub type Entry = unsafe extern "C" fn(me: *mut Context) -> *mut Context;

/// A flow of control that does not run: suspended in [`transfer`], or primed and not yet started.
///
/// 16 bytes in a plain build. It does not own its stack.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    pub(crate) sp: *mut u8,
    pub(crate) entry: Option<Entry>,
    /// The state of a sanitizer; zero bytes in a plain build.
    pub(crate) fiber: Fiber,
}

impl Context {
    /// An empty context, for [`transfer`] to save the running one into.
    ///
    /// ```
    /// # use raddle_context::Context;
    /// static mut HERE: Context = Context::empty();
    /// assert_eq!(size_of::<Context>(), 16);
    /// ```
    pub const fn empty() -> Self {
        Context { sp: core::ptr::null_mut(), entry: None, fiber: Fiber::new() }
    }

    /// Makes the next [`transfer`] to this context call `entry` at the top of `stack`. Writes nothing to
    /// the stack.
    ///
    /// # Safety
    /// `stack` stays taken, and no other context uses it, from the start of `entry` to its end.
    #[inline]
    pub unsafe fn prime(&mut self, stack: &Stack, entry: Entry) {
        self.sp = stack.top();
        self.entry = Some(self.fiber.primed(stack, entry));
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
    unsafe { fibers::switch(from, to, 0) }
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
    unsafe { fibers::switch(from, to, storage) }
}

/// Like [`transfer`], but inlined into the caller, with all registers clobbered: there is no call and no return for the
/// processor to mispredict. For hot paths that wait; elsewhere it only makes code larger.
///
/// # Safety
/// As [`transfer`].
#[inline(always)]
pub unsafe fn transfer_here(from: *mut Context, to: *mut Context) {
    // SAFETY: the caller's guarantees are exactly `switch_here`'s.
    unsafe { fibers::switch_here(from, to) }
}
