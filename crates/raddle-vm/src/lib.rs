//! Owns: the machine that runs verified bytecode.
//! May use: nothing.
//! Never: files, threads, the clock; a `Scheduler` brings them.
//!
//! A [`Machine`] is a program with its memory and its processes; a [`Scheduler`] says who runs. [`solo`] is one that
//! needs no operating system. A process is 40 bytes beside its frame: no stack. Read `raddle-bytecode`'s
//! `crates/raddle-bytecode/FORMAT.md` for the machine that a program sees; here the modules are layers, and each uses
//! those below it:
//!
//! | layer | modules |
//! |---|---|
//! | who runs it, and the account of what went wrong | `solo`, `report` |
//! | the loop that runs instructions, and those that are more than a line in it | `interp`, `step` |
//! | protocols between processes, as methods of the machine | `alt`, `par`, `lock`, `barrier`, `quiet`, `ranks` |
//! | channels, and the claim of who waits | `comm` |
//! | instructions on many bytes, in pieces | `block` |
//! | the machine: its parts put together | `machine` |
//! | its parts | `heap`, `table`, `queues`, `races`, `native`, `published` |
//! | what it needs of whoever decides who runs | `scheduler` |
//! | memory, the record of one process; why the loop is left | `memory`, `process`, `stop` |
//! | arithmetic; a lock; atomic words and their orderings | `arith`, `spin`, `atom`, `prim` |
#![cfg_attr(not(loom), no_std)]

extern crate alloc;

mod alt;
mod arith;
mod atom;
mod barrier;
mod block;
mod comm;
mod heap;
mod interp;
mod level;
mod lock;
mod machine;
mod memory;
#[cfg(all(loom, test))]
mod model;
#[cfg(feature = "native")]
pub mod native;
mod par;
mod prim;
mod process;
#[cfg(any(feature = "native", all(loom, test)))]
#[cfg_attr(
    not(feature = "native"),
    allow(dead_code, unreachable_pub, reason = "the models do not need all of it")
)]
mod published;
#[cfg_attr(not(feature = "large"), path = "queues_few.rs")]
mod queues;
pub mod quiet;
mod races;
mod ranks;
mod report;
mod scheduler;
pub mod solo;
mod spin;
mod step;
mod stop;
mod table;

pub use heap::block_bytes;
pub use level::{LEVEL, LEVELS};
pub use machine::{Fault, Machine};
pub use process::{Process, Step};
pub use report::{
    FarUsers, Front, Network, NetworkChannel, Report, SourceLocation, UsedEnds, WaitingProcess,
};
pub use scheduler::{ChannelEnd, Port, Ranks, Scheduler};
pub use table::{Stats, WorkerLocal, records};
