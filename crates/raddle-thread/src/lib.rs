// Owns: threads, by the names, the bounds and the behaviour of `std::thread`.
// May use: nothing.
// Never: a mechanism of its own.

//! Threads as those of `std::thread`, some 200 times cheaper to create: a program has a hundred thousand of them.
//!
//! ```
//! use raddle::thread;
//!
//! let squares: Vec<_> = (0..1000_u64).map(|n| thread::spawn(move || n * n)).collect();
//! assert_eq!(squares.into_iter().map(|square| square.join().unwrap()).sum::<u64>(), 332_833_500);
//! ```
//!
//! A thread is to its program what a POSIX thread is, with thread-local storage of its own, and to the machine a
//! user-level thread, which the workers run and idle workers take over. A program that says `raddle::thread` where it
//! said `std::thread` compiles and keeps its meaning; what differs:
//!
//! | what | `std::thread` | here |
//! |---|---|---|
//! | a wait by other means than Raddle's | blocks its thread | blocks a worker |
//! | a loop that never waits | is preempted | keeps its worker; long loops call [`yield_now`] |
//! | the stack | 2 MiB unless asked for another size | the next size class above that |
//! | `pthread_exit` and `pthread_cancel` from C | are for threads of C | abort with a message |
//! | `std::thread::current()` in it | has its name | has a number, no name; [`current`] has both |
//! | [`park`], [`sleep`], `join` inside of a task | stop the worker | panic: a task uses `.await` |
//!
//! Beyond `std`: [`sleep_until`], [`Builder::pin`], [`Thread::pin`].

#![warn(clippy::disallowed_methods)]

mod builder;
mod handle;
mod id;
mod pin;
mod scoped;
mod wait;

pub use builder::{Builder, spawn};
pub use handle::{JoinHandle, Thread, current};
pub use id::ThreadId;
pub use pin::PinGuard;
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub use std::thread::{AccessError, LocalKey, Result, available_parallelism, panicking};
pub use wait::{park, park_timeout, sleep, sleep_until, yield_now};
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use wait::{park_timeout_ms, sleep_ms};
