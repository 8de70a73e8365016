//! Owns: what is made of variables: maps, sets, queues, channels, semaphores, barriers.
//! May use: nothing.
//! Never: a variable's word, or memory that is not the allocator's: all by transactions.
//!
//! Each is a handle, as a variable is, and each operation a part of the transaction that its caller runs. So several of
//! them go together, or not at all, and a wait for one composes with a wait for another by `or_else`.

mod barrier;
mod channel;
mod list;
mod map;
mod queue;
mod semaphore;
mod set;

pub use barrier::{Arrival, TBarrier};
pub use channel::{TChannel, TReceiver};
pub use map::TMap;
pub use queue::TQueue;
pub use semaphore::TSemaphore;
pub use set::TSet;
