//! Owns: which words of an OS thread are carried from storage to storage, and what they mean here.
//! May use: nothing.
//! Never: whose words they are.
//!
//! A memory manager keeps the heap of an OS thread in words of thread-local storage. A context with storage of its own
//! moves from one OS thread to another: had it words of its own, it would have a heap of its own, and so would each of
//! 10^6 of them. So whoever switches from one storage to another carries the words along: the heap stays with the OS
//! thread, and what lies in the storage that is left is never looked at again. `tls/glibc/carried.rs` finds them.
//!
//! | word | |
//! |---|---|
//! | first | a heap, or 0: carried |
//! | second | what there is to know if the first one is 0: carried then |
//! | third | not carried: 1 in storage that moves with its context, else 0 |
//!
//! While the first word is a heap no signal handler on this OS thread changes it, and the second one means nothing: so
//! one word is copied. While it is 0 a handler might come by a heap half-way. So [`CHANGES`] takes the place of the
//! second word by one exchange, and a handler that finds `CHANGES` leaves both alone; then both are copied.
//!
//! The copy is made before the thread pointer is changed, since a handler that falls in between works with one storage
//! or the other: with the old one it finds what it always found, or `CHANGES`; with the new one what was copied. What
//! the new storage said before is of another OS thread, and gone when the first handler can see it. The new storage is
//! the caller's alone until then, as its context is ([`transfer_with`](crate::transfer_with)).
//!
//! PERF: while both words were copied, and asked, a yield of 26.4 ns took 0.7 to 1.1 more.
//!
//! Considered: words that the runtime asks for by a function, at each allocation (a call where the usual path has
//! two loads); a heap that is looked up by the processor's number (the kernel may change it half-way); an address of
//! the OS thread's words in each storage, set when a context arrives (the same stores at a switch, and one load more
//! for each allocation).

use core::sync::atomic::AtomicIsize;

/// From a thread pointer to words that are carried; 0 ends the list: one of this file's own, one of a shared library's.
pub(crate) static DISTANCES: [AtomicIsize; 3] = [const { AtomicIsize::new(0) }; 3];

/// See the module.
#[cfg_attr(raddle_tsan, allow(dead_code, reason = "nothing is carried"))]
pub(crate) const CHANGES: usize = 1;
