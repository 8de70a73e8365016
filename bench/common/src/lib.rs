//! Owns: what Rust benchmark programs share besides `raddle-measure`: pinning, futexes, new stacks, meters, a client.
//! May use: libc, rustix.
//! Never: a runtime.

pub mod batch;
pub mod cores;
pub mod fresh_stacks;
pub mod futex;
pub mod futex_lock;
pub mod futex_threads;
pub mod granularity;
pub mod independent;
pub mod latency;
pub mod loops;
pub mod sets;
pub mod sockets;
pub mod timers;
pub mod transactions;
pub mod turns;
pub mod wake;
