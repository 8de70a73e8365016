// Owns: messages between ranks of MPI, and halos of distributed arrays, that move while the ranks compute.
// May use: nothing.
// Never: a network layer of its own; a call of MPI without the one lock.

//! Messages between ranks of MPI that move while the ranks compute.
//!
//! MPI moves a large message only while somebody calls it: a program that sends, computes and then waits has its
//! message moved in the wait. Raddle knows the boundaries between tasks, and lets the workers look after MPI there.
//!
//! ```no_run
//! use raddle_mpi::{Mode, Net, NetConfig};
//!
//! # fn main() -> Result<(), raddle_mpi::NetError> {
//! let net = Net::start(NetConfig::default())?;
//! net.set_mode(Mode::Shared)?;
//! if net.rank() == 0 {
//!     net.send(1, 7, b"weft")?;
//! } else if net.rank() == 1 {
//!     let mut word = [0; 4];
//!     net.receive(0, 7, &mut word)?; // parks the process, not the worker
//!     assert_eq!(&word, b"weft");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! MPI itself is reached through a small library that the user's own `mpicc` compiles (`raddle mpi build`) and that is
//! loaded when a [`Net`] starts: one build of a program serves Open MPI and MPICH, and a machine without MPI builds and
//! tests everything else. Every wait has a deadline ([`NetConfig::deadline`]); what has not come by then is an error
//! that names it. `docs/MPI.md` says more, with figures.
//!
//! # Stacks
//! A call that posts or polls runs on the caller's stack. MPI libraries are not frugal: give processes that call a
//! [`Net`] 256 KiB or more (`raddle::csp::Builder::stack_size`). The first process of `#[raddle::main]` has 8 MiB.

mod engine;
mod error;
mod gate;
pub mod install;
mod net;
mod post;
mod shim;

pub use engine::{Counters, Mode};
pub use error::{Late, NetError};
pub use net::{Net, NetConfig};
