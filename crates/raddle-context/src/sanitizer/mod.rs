//! Owns: the calls that tell a sanitizer of contexts and switches.
//! May use: `arch::machine`.
//! Never: an effect on the program's behaviour.
//!
//! | sanitizer | told of | when |
//! |---|---|---|
//! | AddressSanitizer | each switch, with the stack's bounds | `--cfg raddle_asan` |
//! | ThreadSanitizer | each context (a fiber of its) and each switch | `--cfg raddle_tsan` |

#[cfg_attr(raddle_asan, path = "asan.rs")]
#[cfg_attr(raddle_tsan, path = "tsan.rs")]
#[cfg_attr(not(any(raddle_asan, raddle_tsan)), path = "none.rs")]
mod calls;

#[cfg(raddle_asan)]
pub(crate) use calls::forget_frames;
pub(crate) use calls::{back_home, leave_behind, primed, switch, switch_here};
