//! Owns: the calls that tell debugging tools of our stacks and switches.
//! May use: nothing.
//! Never: an effect on the program's behaviour.
//!
//! | tool | told of | when |
//! |---|---|---|
//! | Valgrind | each stack | always compiled in; a dozen instructions per stack made |
//! | AddressSanitizer | each switch, with the stack's bounds | `--cfg raddle_asan` |
//! | ThreadSanitizer | each context (a fiber of its) and each switch | `--cfg raddle_tsan` |

#[cfg_attr(raddle_asan, path = "asan.rs")]
#[cfg_attr(raddle_tsan, path = "tsan.rs")]
#[cfg_attr(not(any(raddle_asan, raddle_tsan)), path = "none.rs")]
pub(crate) mod fibers;
pub(crate) mod valgrind;
