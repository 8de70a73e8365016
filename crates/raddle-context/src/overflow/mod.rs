//! Owns: the report of a stack overflow.
//! May use: nothing.
//! Never: locks or allocation once a fault has happened.
//!
//! A stack that is used up ends at its guard page; touching that is a memory fault. rustc touches every
//! page of a large frame in order, so that one page is enough to stop Rust code; C code that is compiled
//! without `-fstack-clash-protection` can step over it, as it can on any thread.
//!
//! The handler needs a stack of its own: each worker holds an [`AltStack`]. Three things decide what it does:
//!
//! | fault address | stack pointer | then |
//! |---|---|---|
//! | in a guard page of ours | in or just below that slot | report an overflow, abort |
//! | in a guard page of ours | elsewhere | report a wild access, then call the previous handler |
//! | elsewhere | | call the previous handler (std's reports overflows of OS threads) |
//!
//! What cannot be reported is an overflow while the signal is blocked: the kernel then ends the process at once, with
//! SIGSEGV (a shell shows 139), and calls no handler. glibc blocks all signals in the midst of `posix_spawn`, by which
//! `std::process::Command` starts a program, until the new process has begun: who comes there with the last hundreds
//! of bytes of a stack dies so. An overflow before that, in `Command`'s own frames, which are larger, is reported.
//!
//! It uses signals, the list of slabs, the current word.

mod alt_stack;
mod handler;
mod writer;

pub use alt_stack::AltStack;
pub use handler::{Describer, install_process_handler, set_describer};
pub use writer::RawWriter;

#[cfg(all(target_os = "linux", target_env = "gnu", not(raddle_twin)))]
pub(crate) use handler::describe_current;
