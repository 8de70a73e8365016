//! Owns: what Rust benchmark programs share beside `raddle-measure`: pinning, futexes, fresh stacks, the wake meter.
//! May use: libc.
//! Never: a runtime.

pub mod cores;
pub mod fresh_stacks;
pub mod futex;
pub mod wake;
