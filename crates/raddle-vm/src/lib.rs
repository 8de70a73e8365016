//! Owns: the machine that runs verified bytecode.
//! May use: nothing.
//! Never: files, threads, the clock; a `Scheduler` brings them.
//!
//! A [`Machine`] is a program with its memory and its processes; a [`Scheduler`] says who runs. [`solo`] is one that
//! needs no operating system. A process is 40 bytes beside its frame: no stack. Read `raddle-bytecode`'s
//! `crates/raddle-bytecode/FORMAT.md` for the machine that a program sees; here `memory`, `process`, `interp`, then the
//! protocols `comm`, `alt`, `par`, `lock`, `quiet`.
#![cfg_attr(not(loom), no_std)]

extern crate alloc;

mod alt;
mod arith;
mod atom;
mod comm;
mod heap;
mod interp;
mod lock;
mod machine;
mod memory;
#[cfg(all(loom, test))]
mod model;
mod par;
mod prim;
mod process;
pub mod quiet;
mod races;
mod report;
pub mod solo;
mod spin;
mod step;

pub use interp::Step;
pub use machine::{Fault, Machine, Port, Scheduler, Stats};
pub use process::{Process, WorkerLocal};
pub use report::{Front, Report, SourceLocation, Waiting};
