//! Owns: forks: work that may run in parallel and costs a call when it does not.
//! May use: nothing.
//! Never: foreign work on the stack of one who waits.
//!
//! A fork is a node in its parent's frame, pushed on the private list of the flow that forks: some plain stores and one
//! relaxed load. When the parent comes back to it and nobody has taken it, it is called.
//! `crates/raddle-core/src/worker/promote.rs` says when a fork becomes a job that others may take, and why a job that
//! was taken runs as a process; `protocol/jobs` has the lists and the hand-over.
//!
//! | file | what |
//! |---|---|
//! | `flow` | the list of the running flow: where a call of `join` finds it, and who makes it |
//! | `join` | two closures, the second of which may be taken |
//! | `fork` | a value that is computed when it is asked for, or before |
//! | `in_bag` | how a fork lies in a bag; `raddle::jobs` has the rooms |
//! | `scope` | any number of jobs, and the wait for all of them |
//! | `waits` | what a report says of those who wait |
//! | `scope_fifo` | the same, in the order in which they were spawned |
//! | `spawn` | jobs that nobody waits for |
//! | `broadcast` | a job for each worker |
//! | `par` | loops |

mod broadcast;
mod flow;
mod fork;
mod in_bag;
mod join;
mod par;
mod scope;
mod scope_fifo;
mod spawn;
mod waits;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub(crate) use broadcast::{broadcast_in, spawn_broadcast_in};
pub use fork::{Fork, fork};
#[allow(deprecated, reason = "programs that use the former names still compile")]
pub use fork::{Future, future};
pub(crate) use join::join_at;
pub use join::{FnContext, join, join_context};
pub use par::{par_for, par_for_each, par_map};
pub use scope::{Scope, in_place_scope, scope};
pub(crate) use scope::{scope_at, scope_here};
pub use scope_fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo};
pub(crate) use scope_fifo::{fifo_at, fifo_here};
pub(crate) use spawn::submit;
pub use spawn::{spawn, spawn_fifo};
