//! Owns: the door: what an adaptor needs of the scheduler, one module for each need.
//! May use: nothing.
//! Never: a promise for longer than a version; nothing here is semver-stable.
//!
//! An adaptor makes calls of another threading interface Raddle's: `pthread_create`, `__kmpc_fork_call`. The page
//! `docs/DOOR.md` says what it must know.
//!
//! | module | what |
//! |---|---|
//! | [`fork`] | locks that a fork holds, so that a child can take them |
//! | [`futex`] | sleep while a word has a value, wake who does: what all locks of an adaptor are built on |
//! | [`inlined`] | what code of another compiler must know that takes a free lock itself |
//! | [`returns`] | how a call that has waited goes back without a return that the processor predicts wrongly |
//! | [`thread`] | threads of C |
//! | [`poller`] | a call that idle workers, and busy ones at their boundaries, make while something is outstanding |
//! | [`team`] | waits of threads that go from round to round together, spinning before they sleep |
//! | [`tick`] | yielding when a time slice is over and others wait |

pub mod fork;
pub mod futex;
pub mod inlined;
mod owner;
pub mod poller;
pub mod returns;
mod table;
pub mod team;
pub mod thread;
pub mod tick;
