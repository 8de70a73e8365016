//! Owns: where jobs lie before somebody runs them: slots, pages of forks, and the lines of spawned jobs.
//! May use: nothing.
//! Never: running a job, or knowing what it computes.
//!
//! A worker keeps free slots and pages of its own, and promotes what its flows have forked; so these are the
//! scheduler's. What a fork or a scope is, the crate `raddle-job` says.

mod bag;
mod body;
mod chunks;
mod line;
mod slab;
mod waits;

pub(super) use bag::promote_oldest_into;
pub use bag::{PlaceAct, What, as_act, let_go, promote_oldest};
pub use body::JobBody;
pub use chunks::Chunks;
pub use line::{Line, NewTurns, Order, SpawnedJob};
pub use slab::{DepotGuard, Slot, Slots, SpareSlot, depot};
