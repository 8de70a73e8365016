//! Owns: control blocks: what there is of a process beside its stack, and where blocks come from.
//! May use: nothing.
//! Never: being freed. A block's memory is type-stable, so that an old handle may always look at its token.

mod control;
mod current;
mod inspect;
mod name;
pub(crate) mod payload;
pub(crate) mod pool;

pub use control::{Block, EXPIRED};
pub(crate) use control::{Body, end_life};
pub use current::current_header;
pub(crate) use inspect::JOB_SITE;
pub use inspect::{Blocks, blocks};
pub use name::describe_process;
pub(crate) use name::{cannot_start, no_start};
