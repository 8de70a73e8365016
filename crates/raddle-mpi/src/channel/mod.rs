//! Owns: channels between ranks as the engine knows them: what ends know of each other, and what they say.
//! May use: nothing.
//! Never: a wait; `engine::channels` waits, and `ends` has what users hold.
//!
//! | file | what |
//! |---|---|
//! | `protocol`, `model` | what each end knows and says; all interleavings of it |
//! | `frame`, `flight` | what is said as bytes, and under way |
//! | `table`, `hear` | the ends of a rank, under the engine's lock |
//! | `bell` | who is told that something has come |

mod bell;
mod flight;
mod frame;
mod hear;
mod protocol;
mod table;

pub(crate) use bell::{EndBell, ReadyListener};
pub(crate) use frame::{Binding, EndRole, RIDE_BYTES};
pub(crate) use protocol::{EndIsGone, SendingEnd};
pub(crate) use table::{ChannelTable, EndRecord, EndState, Heard};
