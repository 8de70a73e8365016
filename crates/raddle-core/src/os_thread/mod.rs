//! Owns: the OS threads that the scheduler knows: workers, spares, helpers, and those of the program that wait here.
//! May use: nothing.
//! Never: a cost for an OS thread that does not wait.
//!
//! | file | what |
//! |---|---|
//! | `passage` | those that begin or end, and forks that wait for them |
//! | `record` | one OS thread, and the list of all |
//! | `sleep` | those of the program that sleep until they are woken |
//! | `stack` | where the stack of one lies |
//!
//! The scheduler writes these words itself; observers read them.
//!
//! It uses the kernel's and the C library's word on the calling OS thread.

mod passage;
mod record;
mod sleep;
mod stack;

pub(crate) use passage::NoPassage;
pub use passage::{begin, passing};
pub use record::{Record, Records, Registration, Role, records};
pub(crate) use record::{forget, own_address, show_wait};
pub(crate) use sleep::{Asleep, note_noticed, note_wake};
pub use sleep::{sleeps, wakes};
