//! Owns: Rust futures as runnables: the allocation behind one, its state, its handle; and running one to its end.
//! May use: nothing.
//! Never: two polls at once.
//!
//! A *task* is a future that was spawned. It has no stack: a worker polls it on its own. What programs call is `task`.

mod abort;
mod block_on;
mod error;
mod join;
mod raw;
mod share;

pub use abort::AbortHandle;
pub use block_on::block_on;
pub use error::JoinError;
pub use join::JoinHandle;
pub(crate) use join::LoneSlot;
pub(crate) use raw::new;
