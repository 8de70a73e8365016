//! Owns: how a connection is made without a call that blocks; how several addresses are tried.
//! May use: `descriptor`, `source`, `waits`, `rustix`.
//! Never: a name; the standard library looks it up.

use super::socket::Socket;
use crate::descriptor::{Descriptor, How};
use crate::source::Direction;
use crate::waits::{NetCall, is_ready};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd as _;
use std::panic::Location;
use std::time::Instant;

/// As the standard library tries several: the first that works, or the last error.
pub(super) fn each_address<A: ToSocketAddrs, T>(
    addresses: A,
    attempt: impl Fn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = None;
    for address in addresses.to_socket_addrs()? {
        match attempt(address) {
            Ok(done) => return Ok(done),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

pub(super) fn no_address() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "could not resolve to any addresses")
}

#[track_caller]
pub(super) fn connect(
    address: &SocketAddr,
    until: Option<Instant>,
    call: &'static NetCall,
) -> io::Result<Socket<TcpStream>> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    let is_under_way = match rustix::net::connect(&socket, address) {
        Ok(()) => false,
        Err(Errno::INPROGRESS | Errno::INTR) => true,
        Err(refused) => return Err(refused.into()),
    };
    let stream = Descriptor::of_nonblocking(TcpStream::from(socket));
    if is_under_way {
        let how = How { call, site: Location::caller(), until, direction: Direction::Write };
        let connected = |inner: &TcpStream| match is_ready(inner.as_fd(), Direction::Write) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ErrorKind::WouldBlock.into()),
            Err(error) => Err(error),
        };
        match stream.attempt(&how, connected) {
            Err(late) if late.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "connection timed out"));
            }
            waited => waited?,
        }
        if let Some(error) = stream.get_ref().take_error()? {
            return Err(error);
        }
    }
    Ok(Socket::of(stream))
}
