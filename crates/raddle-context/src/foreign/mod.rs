//! Owns: the call of a thread's function that is not Rust's: a base to unwind to, and perhaps another stack.
//! May use: `sanitizer::calls`.
//! Never: catching what unwinds.
//!
//! A thread of C may end from within: `pthread_exit` and a cancellation unwind its stack by force, frame by frame, up
//! to its base, and there the thread is over. The runtime's frames below cannot be unwound so: they have things to
//! drop, for which Rust promises nothing then, and where one catches panics Rust aborts. So [`enter`] has no table that
//! leads out of it: for whatever unwinds, the stack ends at it. What throws without anybody to catch it is told so
//! before the first frame is unwound (C++ calls `std::terminate`, Rust aborts); what unwinds by force arrives at the
//! end, where its stop function calls [`leave`].
//!
//! It uses one file per architecture.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

pub use machine::enter;

use core::ffi::c_void;

/// The function of a thread of C. It may unwind, if by force.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The [`enter`] that stored `base` returns `result`, whatever has been called in it.
///
/// # Safety
/// It has not returned, and this is its OS thread. Nobody misses the frames in between.
pub unsafe fn leave(base: usize, result: *mut c_void) -> ! {
    // AddressSanitizer has marks on the frames that are forgotten.
    #[cfg(all(raddle_asan, not(raddle_twin)))]
    crate::sanitizer::forget_frames(base);
    // SAFETY: passed on to the caller.
    unsafe { machine::leave(base, result) }
}
