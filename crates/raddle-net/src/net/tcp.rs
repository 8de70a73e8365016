//! Owns: `TcpStream`, `TcpListener`, `Incoming`.
//! May use: `guard`, `source`, `waits`, `raddle-core`, `rustix`.
//! Never: a name that is looked up elsewhere than where the standard library does.

use super::connect::{connect, each_address};
use super::socket::{Socket, delegates, socket, stream, timeouts};
use crate::guard::WhenReady;
use crate::source::Direction;
use crate::waits::{NetCall, call};
use rustix::net::{SocketFlags, acceptfrom_with};
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::{self, Shutdown, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

static READ: NetCall = call("TcpStream::read");
static PEEK: NetCall = call("TcpStream::peek");
static WRITE: NetCall = call("TcpStream::write");
static CONNECT: NetCall = call("TcpStream::connect");
static ACCEPT: NetCall = call("TcpListener::accept");

/// A connection: [`std::net::TcpStream`], whose waits leave the worker to others.
pub struct TcpStream(Socket<net::TcpStream>);

socket!(TcpStream, net::TcpStream);
timeouts!(TcpStream);
stream!(TcpStream, READ, WRITE);

delegates! { TcpStream, "std::net::TcpStream":
    peer_addr() -> SocketAddr;
    local_addr() -> SocketAddr;
    shutdown(how: Shutdown) -> ();
    nodelay() -> bool;
    set_nodelay(nodelay: bool) -> ();
    ttl() -> u32;
    set_ttl(ttl: u32) -> ();
    take_error() -> Option<io::Error>;
}

impl TcpStream {
    /// Connects to the first of the addresses that answers. A name is looked up as the standard library does, which
    /// may block the worker: look it up in `blocking` before.
    ///
    /// # Errors
    /// What the last address answers; if there is none, that.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addresses: A) -> io::Result<TcpStream> {
        let all = addresses.to_socket_addrs()?;
        // No closure, which would hide the caller's place.
        let mut last = None;
        for address in all {
            match connect(&address, None, &CONNECT) {
                Ok(stream) => return Ok(TcpStream(stream)),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(super::connect::no_address))
    }

    /// Connects, within the time.
    ///
    /// # Errors
    /// What the address answers; [`TimedOut`](ErrorKind::TimedOut); a time of zero.
    #[track_caller]
    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        if timeout.is_zero() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
        }
        let until = raddle_core::choice::now().checked_add(timeout);
        connect(address, until, &CONNECT).map(TcpStream)
    }

    /// Reads what will be read next, and leaves it.
    ///
    /// # Errors
    /// As a read.
    #[track_caller]
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.attempt((&PEEK, Direction::Read), |inner| inner.peek(bytes))
    }
}

/// Where connections come in: [`std::net::TcpListener`], whose waits leave the worker to others.
pub struct TcpListener(Socket<net::TcpListener>);

socket!(TcpListener, net::TcpListener);

delegates! { TcpListener, "std::net::TcpListener":
    local_addr() -> SocketAddr;
    ttl() -> u32;
    set_ttl(ttl: u32) -> ();
    take_error() -> Option<io::Error>;
}

impl TcpListener {
    /// Listens at the first of the addresses that can be had.
    ///
    /// # Errors
    /// What the last address answers.
    pub fn bind<A: ToSocketAddrs>(addresses: A) -> io::Result<TcpListener> {
        each_address(addresses, net::TcpListener::bind).map(|fresh| TcpListener(Socket::of_blocking(fresh)))
    }

    /// The next connection, and who it is from. Several may wait for one.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.attempt((&ACCEPT, Direction::Read), accept)
    }

    /// [`accept`](Self::accept), for a task. Of several tasks that wait so the last one is told; use
    /// [`readable`](Self::readable) for more.
    ///
    /// # Errors
    /// As there.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.0.poll_attempt(context, Direction::Read, accept)
    }

    /// Waits, in a task, until there may be a connection to accept.
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + '_ {
        self.0.io.readable()
    }

    /// In [`select!`](raddle_sync::channel::select!): a case that is possible when there may be a connection to accept.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn when_readable(&self) -> io::Result<WhenReady<'_>> {
        self.0.io.when_readable()
    }

    /// The connections, one after the other, without an end.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }
}

fn accept(listener: &net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (stream, from) = loop {
        match acceptfrom_with(listener, flags) {
            Err(rustix::io::Errno::INTR) => {}
            done => break done?,
        }
    };
    let stream = TcpStream(Socket::of_nonblocking(stream.into()));
    let from = match from.and_then(|any| SocketAddr::try_from(any).ok()) {
        Some(from) => from,
        None => stream.peer_addr()?,
    };
    Ok((stream, from))
}

/// The connections of a listener: [`TcpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'l> {
    listener: &'l TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl std::iter::FusedIterator for Incoming<'_> {}
