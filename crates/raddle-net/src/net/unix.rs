// Owns: `UnixStream`, `UnixListener`, `UnixDatagram`.
// May use: `guard`, `source`, `waits`, `raddle-core`, `rustix`.
// Never: a protocol of its own.

//! Sockets that have a name in the file system: `std::os::unix::net`.

use super::socket::{Socket, delegates, socket, stream, timeouts};
use crate::guard::WhenReady;
use crate::source::Direction;
use crate::waits::{NetCall, call};
use raddle_core::wait::park;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net;
pub use std::os::unix::net::SocketAddr;
use std::path::Path;
#[cfg(any(feature = "futures-io", feature = "tokio"))]
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

static READ: NetCall = call("UnixStream::read");
static WRITE: NetCall = call("UnixStream::write");
static ACCEPT: NetCall = call("UnixListener::accept");
static RECEIVE: NetCall = call("UnixDatagram::recv");
static SEND: NetCall = call("UnixDatagram::send");

/// A connection: [`std::os::unix::net::UnixStream`], whose waits leave the worker to others.
pub struct UnixStream(Socket<net::UnixStream>);

socket!(UnixStream, net::UnixStream);
timeouts!(UnixStream);
stream!(UnixStream, READ, WRITE);

delegates! { UnixStream, "std::os::unix::net::UnixStream":
    peer_addr() -> SocketAddr;
    local_addr() -> SocketAddr;
    shutdown(how: Shutdown) -> ();
    take_error() -> Option<io::Error>;
}

impl UnixStream {
    /// Connects to the listener of this name. While that has too many who wait to be accepted, it waits too.
    ///
    /// # Errors
    /// As there.
    pub fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        connect_to(&SocketAddrUnix::new(path.as_ref())?)
    }

    /// As [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// As there.
    pub fn connect_addr(address: &SocketAddr) -> io::Result<UnixStream> {
        match (address.as_pathname(), address.as_abstract_name()) {
            (Some(path), _) => Self::connect(path),
            (None, Some(name)) => connect_to(&SocketAddrUnix::new_abstract_name(name)?),
            // The kernel says what is wrong with it.
            (None, None) => net::UnixStream::connect_addr(address).map(UnixStream::from),
        }
    }

    /// Two that are connected with each other.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        net::UnixStream::pair().map(|(one, other)| (one.into(), other.into()))
    }
}

/// Waits for room among those who wait to be accepted.
fn connect_to(address: &SocketAddrUnix) -> io::Result<UnixStream> {
    /// The kernel tells nobody when there is room again.
    const AGAIN: Duration = Duration::from_millis(1);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        match rustix::net::connect(&socket, address) {
            Ok(()) => return Ok(UnixStream(Socket::of_nonblocking(socket.into()))),
            Err(Errno::AGAIN) => park::sleep(AGAIN),
            Err(Errno::INTR) => {}
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Where connections come in: [`std::os::unix::net::UnixListener`], whose waits leave the worker to others.
pub struct UnixListener(Socket<net::UnixListener>);

socket!(UnixListener, net::UnixListener);

delegates! { UnixListener, "std::os::unix::net::UnixListener":
    local_addr() -> SocketAddr;
    take_error() -> Option<io::Error>;
}

impl UnixListener {
    /// Listens under this name.
    ///
    /// # Errors
    /// As there.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        net::UnixListener::bind(path).map(UnixListener::from)
    }

    /// Listens at this address.
    ///
    /// # Errors
    /// As there.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        net::UnixListener::bind_addr(address).map(UnixListener::from)
    }

    /// The next connection, and who it is from.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let accepted = self.0.attempt((&ACCEPT, Direction::Read), net::UnixListener::accept);
        accepted.map(|(stream, from)| (UnixStream(Socket::of_blocking(stream)), from))
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
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming { listener: self }
    }
}

impl<'l> IntoIterator for &'l UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = UnixIncoming<'l>;

    fn into_iter(self) -> UnixIncoming<'l> {
        self.incoming()
    }
}

/// As `std` calls it.
pub use UnixIncoming as Incoming;

/// The connections of a listener: [`UnixListener::incoming`].
#[derive(Debug)]
pub struct UnixIncoming<'l> {
    listener: &'l UnixListener,
}

impl Iterator for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

/// A socket of datagrams: [`std::os::unix::net::UnixDatagram`], whose waits leave the worker to others.
pub struct UnixDatagram(Socket<net::UnixDatagram>);

socket!(UnixDatagram, net::UnixDatagram);
timeouts!(UnixDatagram);

delegates! { UnixDatagram, "std::os::unix::net::UnixDatagram":
    peer_addr() -> SocketAddr;
    local_addr() -> SocketAddr;
    shutdown(how: Shutdown) -> ();
    take_error() -> Option<io::Error>;
}

impl UnixDatagram {
    /// A socket of this name.
    ///
    /// # Errors
    /// As there.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        net::UnixDatagram::bind(path).map(UnixDatagram::from)
    }

    /// A socket of this address.
    ///
    /// # Errors
    /// As there.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixDatagram> {
        net::UnixDatagram::bind_addr(address).map(UnixDatagram::from)
    }

    /// A socket without a name.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn unbound() -> io::Result<UnixDatagram> {
        net::UnixDatagram::unbound().map(UnixDatagram::from)
    }

    /// Two that are connected with each other.
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        net::UnixDatagram::pair().map(|(one, other)| (one.into(), other.into()))
    }

    /// From now on it sends there.
    ///
    /// # Errors
    /// As there.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.0.inner().connect(path)
    }

    /// As [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// As there.
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        self.0.inner().connect_addr(address)
    }

    /// Sends a datagram to where it is connected.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.attempt((&SEND, Direction::Write), |inner| inner.send(bytes))
    }

    /// Sends a datagram to the socket of this name.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send_to<P: AsRef<Path>>(&self, bytes: &[u8], path: P) -> io::Result<usize> {
        self.0.attempt((&SEND, Direction::Write), |inner| inner.send_to(bytes, path.as_ref()))
    }

    /// As [`send_to`](Self::send_to), to an address.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send_to_addr(&self, bytes: &[u8], address: &SocketAddr) -> io::Result<usize> {
        self.0.attempt((&SEND, Direction::Write), |inner| inner.send_to_addr(bytes, address))
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
}
