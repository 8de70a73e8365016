//! Owns: Raddle's portable bytecode.
//! May use: nothing.
//! Never: runs a program; `raddle-vm` does.
//!
//! `FORMAT.md` beside this crate is the page about the machine and the file. Everything about an instruction stands
//! in one [table](for_each_op). A compiler makes a [`Module`] with [`build`]; a file becomes one by
//! [`Module::read`]; only [`verify`](verify()) makes the [`Verified`] that the machine accepts.
#![no_std]

extern crate alloc;

mod facts;
mod table;

pub mod build;
pub mod effect;
pub mod file;
pub mod insn;
pub mod module;
pub mod names;
pub mod verify;

pub use effect::{Effect, Wait};
pub use facts::Course;
pub use file::FileError;
pub use insn::{Form, Insn, Op};
pub use module::{
    BEGIN_PLACED, Bundle, END_PLACED, End, FOREIGN, FOREIGN_STEPS, ForeignRoutine, Function, GET_PRIORITY,
    Line, Module, PLACE_CHANNELS, SET_PRIORITY, Site, Watched,
};
pub use names::{Long, Real, Trap, printable};
pub use table::NUMBERING;
pub use verify::{Refusal, Verified, verify};
