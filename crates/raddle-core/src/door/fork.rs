//! Owns: the face of locks that a fork holds.
//! May use: `runtime::at_fork`.
//! Never: a lock.
//!
//! A forked child has the OS thread that forked, and no other one to release what that had: so what an adaptor's calls
//! lock in a child is taken before a fork, and released after it in both.

pub use crate::runtime::at_fork::hold_for_adaptor as hold;
