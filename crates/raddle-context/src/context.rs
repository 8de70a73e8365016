//! Owns: `Context`, a suspended or primed flow of control.
//! May use: nothing.
//! Never: allocation; a decision about who runs next.
//!
//! A context is in one of three states, and only its two words tell which:
//!
//! | state | `sp` | `entry` | what a `transfer` to it does |
//! |---|---|---|---|
//! | running, ended, or empty | anything | none | forbidden |
//! | suspended | where `transfer` left it | none | returns from that `transfer` |
//! | primed | a stack's top | some | clears `entry` and calls it on that stack |

#[cfg_attr(raddle_asan, path = "context/asan.rs")]
#[cfg_attr(raddle_tsan, path = "context/tsan.rs")]
#[cfg_attr(not(any(raddle_asan, raddle_tsan)), path = "context/none.rs")]
mod fiber;

pub(crate) use fiber::Fiber;

/// The function of a primed context: it gets the address of its own [`Context`], and returns the context to resume when
/// it has ended.
///
/// Its own stack is no longer used once it has returned. The returned context may be suspended or
/// primed, and may be primed on the same stack. A panic must not leave it: `extern "C"` turns one that
/// tries into an abort.
pub type ContextEntry = unsafe extern "C" fn(me: *mut Context) -> *mut Context;

/// A flow of control that does not run: suspended in [`transfer`](crate::transfer), or primed and not yet started.
///
/// 16 bytes in a plain build. It does not own its stack.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    pub(crate) sp: *mut u8,
    pub(crate) entry: Option<ContextEntry>,
    /// The state of a sanitizer; zero bytes in a plain build.
    pub(crate) fiber: Fiber,
}

impl Context {
    /// An empty context, for [`transfer`](crate::transfer) to save the running one into.
    ///
    /// ```
    /// # use raddle_context::Context;
    /// static mut HERE: Context = Context::empty();
    /// assert_eq!(size_of::<Context>(), 16);
    /// ```
    pub const fn empty() -> Self {
        Context { sp: core::ptr::null_mut(), entry: None, fiber: Fiber::new() }
    }
}
