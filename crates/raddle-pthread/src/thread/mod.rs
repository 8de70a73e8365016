//! Owns: a thread: what is kept of it, its life and its end, what it waits by, its signals, its sleeps.
//! May use: nothing.
//! Never: a lock of the program's.

pub(crate) mod cancel;
mod cleanup;
pub(crate) mod handlers;
pub(crate) mod jumps;
pub(crate) mod life;
pub(crate) mod record;
mod scheduling;
pub(crate) mod shared;
pub(crate) mod signals;
mod start;
pub(crate) mod ticks;
pub(crate) mod time;
pub(crate) mod told;
pub(crate) mod wait;
