//! Owns: the engine: regions, loops, tasks, of which compilers' calls are translations.
//! May use: nothing.
//! Never: a name of an interface.
//!
//! Read in this order: `member` (a thread that takes part), `bound` and `place` (where it is bound), `team` (a region
//! and its rounds), `fork` (its begin and end), `start` (where its threads come from), `share` (loops), `task`,
//! `queue` and `depend`.

pub(crate) mod affinity;
pub(crate) mod bound;
pub(crate) mod depend;
pub(crate) mod fork;
mod here;
pub(crate) mod member;
pub(crate) mod place;
pub(crate) mod queue;
pub(crate) mod reduction;
pub(crate) mod share;
pub(crate) mod start;
pub(crate) mod task;
pub(crate) mod team;
