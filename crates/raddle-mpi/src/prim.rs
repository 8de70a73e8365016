//! Owns: the primitives of what has a model: here the standard library's, in `tests/loom.rs` loom's.
//! May use: `gate`.
//! Never: a name that loom has not.

pub(crate) use crate::gate::lock;
pub(crate) use std::sync::Mutex;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
