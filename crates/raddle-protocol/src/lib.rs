//! Owns: the words through which threads meet, each a protocol with its own page, its models and its orderings.
//! May use: nothing.
//! Never: a scheduler, a stack, a clock, a policy; whoever uses a protocol brings those.
//!
//! Not for programs: the public interface is the crate `raddle`. Nothing here is semver-stable.
//!
//! Read `header` first (the one thing that is queued), then `protocol`, which lists them all. `order` is the table of
//! every memory ordering stronger than relaxed. The models in `tests/loom` run each protocol through all
//! interleavings, and once more for each ordering, weakened.

#![warn(clippy::disallowed_methods)]
#![allow(
    clippy::new_without_default,
    reason = "who makes a protocol's word says so; nobody wants one by default"
)]

pub mod call;
pub mod glance;
pub mod order;
pub mod prim;
pub mod protocol;

#[cfg(loom)]
pub mod model;

pub use protocol::{fifo, header};
