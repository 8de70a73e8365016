//! Owns: channels between ranks as the engine knows them: what ends know of each other, and what they say.
//! May use: nothing.
//! Never: a wait; `engine::channels` waits, and `ends` has what users hold.
//!
//! | file | what |
//! |---|---|
//! | `protocol`, `model` | what each end knows and says; all interleavings of it |
//! | `frame`, `flight` | what is said as bytes, and under way |
//! | `table`, `record`, `talk`, `hear` | the ends of a rank, and what they say and hear, under the engine's lock |
//! | `chase` | who waits for whom, over ranks |
//! | `bell` | who is told that something has come |

mod bell;
mod chase;
mod flight;
mod frame;
mod hear;
mod protocol;
mod record;
mod table;
mod talk;

pub(crate) use bell::{EndBell, ReadyListener};
pub(crate) use chase::LongWait;
pub(crate) use flight::AheadReceive;
pub(crate) use frame::{Binding, EndRole, RIDE_BYTES};
pub(crate) use protocol::{EndIsGone, SendingEnd};
pub(crate) use record::{EndRecord, EndState};
pub(crate) use table::{ChannelTable, Heard};
