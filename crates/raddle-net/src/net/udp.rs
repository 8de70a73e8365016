//! Owns: `UdpSocket`.
//! May use: `guard`, `source`, `waits`.
//! Never: a promise that a datagram arrives.

use super::connect::{each_address, no_address};
use super::socket::{Socket, delegates, socket, timeouts};
use crate::guard::WhenReady;
use crate::source::Direction;
use crate::waits::{NetCall, call};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

static RECEIVE: NetCall = call("UdpSocket::recv");
static SEND: NetCall = call("UdpSocket::send");

/// A socket of datagrams: [`std::net::UdpSocket`], whose waits leave the worker to others.
pub struct UdpSocket(Socket<net::UdpSocket>);

socket!(UdpSocket, net::UdpSocket);
timeouts!(UdpSocket);

delegates! { UdpSocket, "std::net::UdpSocket":
    peer_addr() -> SocketAddr;
    local_addr() -> SocketAddr;
    broadcast() -> bool;
    set_broadcast(broadcast: bool) -> ();
    multicast_loop_v4() -> bool;
    set_multicast_loop_v4(is: bool) -> ();
    multicast_ttl_v4() -> u32;
    set_multicast_ttl_v4(ttl: u32) -> ();
    multicast_loop_v6() -> bool;
    set_multicast_loop_v6(is: bool) -> ();
    join_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> ();
    leave_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> ();
    join_multicast_v6(group: &Ipv6Addr, interface: u32) -> ();
    leave_multicast_v6(group: &Ipv6Addr, interface: u32) -> ();
    ttl() -> u32;
    set_ttl(ttl: u32) -> ();
    take_error() -> Option<io::Error>;
}

impl UdpSocket {
    /// A socket at the first of the addresses that can be had.
    ///
    /// # Errors
    /// What the last address answers.
    pub fn bind<A: ToSocketAddrs>(addresses: A) -> io::Result<UdpSocket> {
        each_address(addresses, net::UdpSocket::bind).map(|fresh| UdpSocket(Socket::of_blocking(fresh)))
    }

    /// From now on it sends there, and receives from there only.
    ///
    /// # Errors
    /// What the last address answers.
    pub fn connect<A: ToSocketAddrs>(&self, addresses: A) -> io::Result<()> {
        each_address(addresses, |address| self.0.inner().connect(address))
    }

    /// Sends a datagram to where it is connected.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.attempt((&SEND, Direction::Write), |inner| inner.send(bytes))
    }

    /// Sends a datagram there: to the first of the addresses.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(&self, bytes: &[u8], address: A) -> io::Result<usize> {
        let Some(to) = address.to_socket_addrs()?.next() else { return Err(no_address()) };
        self.0.attempt((&SEND, Direction::Write), |inner| inner.send_to(bytes, to))
    }

    /// Receives a datagram; what does not fit is lost.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn recv(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.attempt((&RECEIVE, Direction::Read), |inner| inner.recv(bytes))
    }

    /// Receives a datagram, and says who has sent it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn recv_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.attempt((&RECEIVE, Direction::Read), |inner| inner.recv_from(bytes))
    }

    /// Receives the next datagram, and leaves it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.attempt((&RECEIVE, Direction::Read), |inner| inner.peek(bytes))
    }

    /// As [`peek`](Self::peek), and says who has sent it.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn peek_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.attempt((&RECEIVE, Direction::Read), |inner| inner.peek_from(bytes))
    }

    /// Waits, in a task, until there may be a datagram.
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + '_ {
        self.0.io.readable()
    }

    /// In [`select!`](raddle_sync::channel::select!): a case that is possible when there may be a datagram.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn when_readable(&self) -> io::Result<WhenReady<'_>> {
        self.0.io.when_readable()
    }
}
