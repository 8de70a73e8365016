// Owns: messages between ranks of MPI, and plans of them - halos, regions, blocks - that move while the ranks compute.
// May use: nothing.
// Never: a network layer of its own; a call of MPI without the one lock.

//! Messages between ranks of MPI that move while the ranks compute.
//!
//! MPI moves a large message only while somebody calls it: a program that sends, computes and then waits has its
//! message moved in the wait. Raddle knows the boundaries between tasks, and lets the workers look after MPI there.
//!
//! ```no_run
//! use raddle_mpi::{Cart, Colour, DistArray, Mode, Net, NetConfig};
//!
//! # fn main() -> Result<(), raddle_mpi::NetError> {
//! let net = Net::start(NetConfig::default())?;
//! net.set_mode(Mode::Shared)?;
//! let cart = Cart::new(&net, [1, 1, net.size()])?;
//! let mut u = DistArray::<f64>::new("u", &cart, [512, 512, 128])?;
//! let mut halo = net.plan_halo(&u)?; // collective: both sides of each face compare what they expect
//! for colour in [Colour::Red, Colour::Black] {
//!     let mut exchange = halo.start(&mut u)?;
//!     for mut plane in exchange.inner(colour) {
//!         plane.relax(|cell| (cell.west + cell.east) / 2.0);
//!         net.point(); // may look after MPI; costs a load while nothing is under way
//!     }
//!     let u = exchange.wait()?; // parks the process, not the worker
//!     for mut plane in u.annulus(colour) {
//!         plane.relax(|cell| (cell.west + cell.east) / 2.0);
//!     }
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

// Loom's model (`tests/loom.rs`) takes `choice` alone: the scheduler is not compiled for loom.
#![cfg(not(loom))]

mod agree;
mod array;
mod auto;
mod blocks;
mod builds;
mod call;
mod cart;
mod channel;
mod choice;
mod copy;
mod ends;
mod engine;
mod error;
mod gate;
mod halo;
mod huge;
pub mod install;
mod late;
mod link;
mod mode;
mod moves;
mod net;
mod plan;
mod post;
mod prim;
mod regions;
mod share;
mod shim;
pub mod simulate;
mod sweep;
mod traced;

pub use array::DistArray;
pub use auto::{AutoReport, Trial};
pub use blocks::{ArrivedBlock, BlockFlight, BlockPlan};
pub use call::{NetCall, Request};
pub use cart::Cart;
pub use ends::{
    PostBox, RemoteMessage, RemoteReceiver, RemoteRecvError, RemoteSendError, RemoteSender, WhenSent,
};
pub use error::{Late, NetError};
pub use halo::Reach;
pub use late::{LateAnswer, OnLate};
pub use link::EmulatedLink;
pub use mode::{Counters, Mode};
pub use moves::PlanReport;
pub use net::{Net, NetConfig};
pub use plan::{Exchange, HaloPlan};
pub use regions::{Leg, Region, RegionExchange, RegionPlan};
pub use sweep::{Colour, ColourPlane, Element, Seven};

/// The example of the page, which is found where this crate lies in the repository.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/MPI.md"))]
mod page_of_the_manual {}
