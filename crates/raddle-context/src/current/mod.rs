//! Owns: the words of thread-local storage that say what runs on this OS thread, and beside it; a count of the same.
//! May use: nothing.
//! Never: a reference to a word; an address of it kept over a switch.
//!
//! The words have an initial value, and neither a lazy start nor a destructor. What they point to is the caller's
//! affair. Whoever may continue on another OS thread reads a word anew after each switch, through these functions.
//!
//! They are *initial-exec*: at a fixed distance from the thread pointer, which the linker writes into an executable's
//! code, and the dynamic linker into a word beside a shared library's. A read is two instructions everywhere. The
//! compiler's own model for what may end up in a shared library asks a function for the address of each variable
//! (`__tls_get_addr`), and gives up its registers for that. No stable option of rustc chooses the model of a
//! `thread_local!`, so the words are defined and read by the assembler.
//!
//! Beside them lies a count of the same storage, for whoever wants to be asked now and then by operations of a few
//! nanoseconds: it is counted down by each, and set anew by the one that finds it used up. It stands here since this
//! line is one that whoever runs has in its cache, and since it needs no atomic: no other thread sees it.
//!
//! The price: a shared library with such words needs room in every thread's fixed part. It has it when it is loaded
//! with the program, or by LD_PRELOAD; one that is loaded later shares what the C library keeps free, some 1600 bytes.
//!
//! It uses one file per architecture.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

pub use machine::{count_down, count_given, distance, get, home, set, set_count, set_home};

/// What the count begins with, on each OS thread and in each storage; and the most that it is set to.
pub const COUNT_MAX: u32 = 256;

#[cfg(not(raddle_twin))]
pub(crate) use machine::address;
#[cfg(all(target_env = "gnu", not(raddle_twin)))]
pub(crate) use machine::announce;
