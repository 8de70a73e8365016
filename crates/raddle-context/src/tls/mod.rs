//! Owns: thread-local storage that belongs to a context and moves with it from one OS thread to another.
//! May use: nothing.
//! Never: a guess; if the start-up probe finds anything unexpected, all of it is [`Unsupported`].
//!
//! Compilers compute the address of a thread-local variable once and keep it, since to them a function runs on one
//! thread. A stackful thread that changes OS threads in the middle of a function is therefore right only if its
//! thread-local storage comes along: then every such address stays what it was. The storage of a thread is found
//! through one register (FS base, TPIDR_EL0), which a program may write itself; [`crate::transfer_with`] does.
//!
//! So a thread gets a [`TlsBlock`]: everything that the C library keeps per thread, except the kernel's part. That is
//! `errno`, the variables of every loaded library, malloc's cache, the locale, the exceptions in flight. The page
//! `README.md` beside this file says which internals of glibc this depends on, and how a change in them would be
//! noticed.
//!
//! | what | where |
//! |---|---|
//! | what the probe must find | `glibc/facts.rs` |
//! | the list through which glibc finds all threads | `glibc/anchor.rs` |
//! | one block: creation, reuse, release | `glibc/block.rs` |
//! | one that its thread has before it has a stack | `glibc/early.rs` |
//! | those of processes, which the next one finds as the last has left them | `glibc/used.rs` |
//! | destructors of `pthread_key_create` | `glibc/keys.rs` |
//! | `pthread_getattr_np` | `glibc/attributes.rs` |
//! | `pthread_exit`, `pthread_cancel` | `glibc/ends.rs` |
//! | words of an OS thread that do not move along: a memory manager's | `glibc/carried.rs` |
//! | `setuid` and its relatives | `glibc/setuid.rs`, `glibc/host.rs` |
//!
//! It uses the C library's own functions for such storage; one file per C library or build, chosen on one
//! line.

#[cfg_attr(raddle_twin, path = "twin.rs")]
#[cfg_attr(all(not(raddle_twin), target_os = "linux", target_env = "gnu"), path = "glibc/mod.rs")]
#[cfg_attr(all(not(raddle_twin), not(all(target_os = "linux", target_env = "gnu"))), path = "none.rs")]
mod world;

#[doc(hidden)]
pub use world::ForkGuard as Held;
pub use world::{
    ForkGuard, Host, ThreadEnds, TlsBlock, TlsPool, UsedBlocks, announce, base, begin, begin_as_is, end,
    go_over, home_base, is_number_of_thread, make_way_for, pthread_self, return_to, set_ends, supported,
};

use core::fmt;

/// Why this machine cannot give contexts thread-local storage of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    pub(crate) missing: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clause, or the name of something that glibc exports.
        let (before, after) = match self.missing.contains(' ') {
            true => ("", ""),
            false => ("its `", "` is not found, as in a program that is linked statically"),
        };
        write!(
            f,
            "processes and threads with thread-local storage of their own need glibc 2.34 or later on x86-64 or \
             aarch64; here {before}{}{after}; light processes work without it, if the program declares them sound: \
             `Builder::light_processes`",
            self.missing
        )
    }
}

impl core::error::Error for Unsupported {}
