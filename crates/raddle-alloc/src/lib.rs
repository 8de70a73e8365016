// Owns: the allocator as programs have it.
// May use: nothing.
// Never: a lock, a wait, an allocation of its own.

//! A memory allocator in which no thread ever waits for another.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;
//!
//! let words: Vec<String> = (0..1000).map(|n| format!("word {n}")).collect();
//! assert_eq!(words[999], "word 999");
//! ```
//!
//! With any set of threads stopped for ever, at any instruction outside of a system call, every other thread goes on to
//! allocate, free, start and exit. What a stopped thread keeps from the others is what it holds: its cache, the pages
//! of its heap, a run of slices that it is about to use.
//!
//! Linux, x86-64 and aarch64. The functions here are those of C's interface, for libraries that export its names.

#![warn(clippy::disallowed_methods)]
#![cfg_attr(loom, allow(dead_code, reason = "the models have the protocols alone"))]

mod mistake;
#[cfg(all(test, loom))]
mod model;
mod prim;
mod protocol;

#[cfg(not(loom))]
mod arena;
#[cfg(not(loom))]
mod calls;
#[cfg(not(loom))]
mod class;
#[cfg(not(loom))]
mod front;
#[cfg(not(loom))]
mod hardened;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod large;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod orphan;
#[cfg(not(loom))]
mod page;
#[cfg(not(loom))]
mod profile;
#[cfg(not(loom))]
mod registry;
#[cfg(not(loom))]
mod rested;
#[cfg(not(loom))]
mod spare;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod thread;

#[cfg(not(loom))]
mod stats;

#[cfg(not(loom))]
mod peer;

#[cfg(not(loom))]
mod decay;
#[cfg(not(loom))]
mod face;
#[cfg(not(loom))]
pub use face::*;
#[cfg(not(loom))]
pub use options::{UnknownOption, configure, refuse};
#[cfg(not(loom))]
pub use peer::statistics_of;
#[cfg(not(loom))]
pub use stats::{ClassStatistics, Statistics, report, statistics, tell};

/// The example of the page, which is found where this crate lies in the repository.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ALLOC.md"))]
mod page_of_the_manual {}
