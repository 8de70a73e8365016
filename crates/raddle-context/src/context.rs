//! Owns: `Context`, a suspended or primed flow of control.
//! May use: nothing.
//! Never: allocation; a decision about who runs next.
//!
//! A context is in one of three states, and only its two words tell which:
//!
//! | state | `sp` | `entry` | what a `transfer` to it does |
//! |---|---|---|---|
//! | running, ended, or empty | null | none | forbidden |
//! | suspended | where `transfer` left it | none | returns from that `transfer` |
//! | primed | a stack's top | some | clears `entry` and calls it on that stack |

#[cfg_attr(raddle_asan, path = "context/asan.rs")]
#[cfg_attr(raddle_tsan, path = "context/tsan.rs")]
#[cfg_attr(not(any(raddle_asan, raddle_tsan)), path = "context/none.rs")]
mod fiber;

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
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
    pub(crate) sp: AtomicPtr<u8>,
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
        Context { sp: AtomicPtr::new(null_mut()), entry: None, fiber: Fiber::new() }
    }

    /// Whether it does not run: it is suspended or primed, so that whoever holds it may transfer to it. From any
    /// thread, while the context may be on its way out, if nobody else transfers to it meanwhile.
    ///
    /// ```
    /// # use raddle_context::{Context, SizeClass, StackDepot, StackPool};
    /// # unsafe extern "C" fn never(me: *mut Context) -> *mut Context { me }
    /// let stack = StackPool::new(StackDepot::new()).take(SizeClass::DEFAULT)?;
    /// let mut context = Context::empty();
    /// assert!(!context.has_left());
    /// // SAFETY: it is never started.
    /// unsafe { context.prime(&stack, never) };
    /// assert!(context.has_left());
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    #[inline(always)]
    pub fn has_left(&self) -> bool {
        // Pairs with the store by which a switch saves the context, its last access to the old stack.
        !self.sp.load(Ordering::Acquire).is_null()
    }

    /// It is soon to be resumed: what it has saved may be on its way to this processor's cache meanwhile. From any
    /// thread, whatever becomes of it.
    ///
    /// ```
    /// raddle_context::Context::empty().announce();
    /// ```
    #[inline(always)]
    pub fn announce(&self) {
        // In assembly, since whoever has it may be writing it.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads a word of ours; a prefetch reads nothing, whatever the address.
        unsafe {
            core::arch::asm!(
                "mov {at}, qword ptr [{at}]",
                "prefetcht0 [{at}]",
                at = inout(reg) self.sp.as_ptr() => _,
                options(nostack, preserves_flags, readonly),
            );
        }
    }
}
