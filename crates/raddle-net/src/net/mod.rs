// Owns: the list of what there is.
// May use: nothing.
// Never: code.

//! Sockets, with the names and the behaviour of [`std::net`] and, in [`unix`], of [`std::os::unix::net`].
//!
//! A program changes its `use` lines. What differs:
//!
//! | | here |
//! |---|---|
//! | the descriptor | is non-blocking, for all who have it; `From` back to `std`'s type makes it as it was |
//! | time-outs | are Raddle's, shared by clones; the kernel's options of that name are not set |
//! | a name of a host | is looked up as `std` does it, which may block the worker: use `blocking` for that |
//! | a region that is cancelled | ends each call that would wait, by unwinding |
//! | `from_raw_fd` | not there: `From<OwnedFd>` |
//!
//! [`sim`] has streams of TCP within the program, for tests that explore schedules.

mod connect;
pub mod sim;
mod socket;
mod tcp;
mod udp;
pub mod unix;

pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
    ToSocketAddrs,
};
pub use tcp::{Incoming, TcpListener, TcpStream};
pub use udp::UdpSocket;
