//! Owns: the primitives of what has a model: here the standard library's, in `tests/loom.rs` loom's.
//! May use: nothing.
//! Never: a name that loom has not.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering, fence};
