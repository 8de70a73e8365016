//! Owns: `Socket`, what all sockets have in common, and the macros by which they delegate.
//! May use: `descriptor`, `source`, `waits`, `futures-io`, `raddle-core`, `rustix`, `tokio`.
//! Never: a protocol.

use crate::descriptor::{Descriptor, How};
use crate::source::Direction;
use crate::waits::NetCall;
use raddle_core::choice::{count, now};
use rustix::fs::OFlags;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_timeout};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// What a socket and its clones share, as they share it in the kernel with `std`.
#[derive(Default)]
pub(crate) struct SocketSettings {
    /// The program has said so; to the kernel it always is.
    nonblocking: AtomicBool,
    /// In nanoseconds, by direction; 0 is none.
    timeouts: [AtomicU64; 2],
}

/// A socket of the standard library's that is non-blocking, and waits by Raddle's means.
pub(crate) struct Socket<T: AsFd> {
    pub(crate) io: Descriptor<T>,
    settings: Arc<SocketSettings>,
}

impl<T: AsFd> Socket<T> {
    /// Of one that is non-blocking.
    pub(crate) fn of_nonblocking(inner: T) -> Socket<T> {
        Socket::of(Descriptor::of_nonblocking(inner))
    }

    pub(crate) fn of(io: Descriptor<T>) -> Socket<T> {
        Socket { io, settings: Arc::default() }
    }

    /// Of one that blocks and waits for ever; a kernel that refuses this has no such descriptor.
    pub(crate) fn of_blocking(inner: T) -> Socket<T> {
        let _refused = rustix::io::ioctl_fionbio(&inner, true);
        Socket::of_nonblocking(inner)
    }

    /// Of one of the standard library's, with what the program has set there.
    pub(crate) fn of_std(inner: T) -> Socket<T> {
        let is_nonblocking =
            rustix::fs::fcntl_getfl(&inner).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK));
        let timeouts = KERNELS.map(|option| socket_timeout(&inner, option).ok().flatten());
        let socket = if is_nonblocking { Socket::of_nonblocking(inner) } else { Socket::of_blocking(inner) };
        socket.set_nonblocking(is_nonblocking);
        for (here, timeout) in socket.settings.timeouts.iter().zip(timeouts) {
            here.store(nanoseconds(timeout), Ordering::Relaxed);
        }
        socket
    }

    /// As the standard library's, as it would be there.
    pub(crate) fn into_inner(self) -> T {
        let nonblocking = self.settings.nonblocking.load(Ordering::Relaxed);
        let timeouts = [Direction::Read, Direction::Write].map(|direction| self.timeout(direction));
        let inner = self.io.into_inner();
        let _refused = rustix::io::ioctl_fionbio(&inner, nonblocking);
        for (option, timeout) in KERNELS.into_iter().zip(timeouts) {
            // The kernel counts in microseconds, and zero would be for ever. A listener has none.
            let timeout = timeout.map(|timeout| timeout.max(Duration::from_micros(1)));
            if socket_timeout(&inner, option).is_ok_and(|there| there != timeout) {
                let _refused = set_socket_timeout(&inner, option, timeout);
            }
        }
        inner
    }

    pub(crate) fn inner(&self) -> &T {
        self.io.get_ref()
    }

    pub(crate) fn try_clone(&self, inner: io::Result<T>) -> io::Result<Socket<T>> {
        Ok(Socket { io: Descriptor::of_nonblocking(inner?), settings: self.settings.clone() })
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) {
        self.settings.nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    pub(crate) fn timeout(&self, direction: Direction) -> Option<Duration> {
        let ns = self.settings.timeouts[direction as usize].load(Ordering::Relaxed);
        (ns > 0).then(|| Duration::from_nanos(ns))
    }

    pub(crate) fn set_timeout(&self, direction: Direction, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
        }
        self.settings.timeouts[direction as usize].store(nanoseconds(timeout), Ordering::Relaxed);
        Ok(())
    }

    /// Tries, and waits in `call` as long as that says that it would.
    #[track_caller]
    pub(crate) fn attempt<R>(
        &self,
        (call, direction): (&'static NetCall, Direction),
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        // Of a peer that is faster nobody need ever wait: others get their turn all the same.
        count();
        // Most often nothing is to be waited for.
        let seen = self.io.want(direction);
        match attempt(self.inner()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return done,
        }
        if self.settings.nonblocking.load(Ordering::Relaxed) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let until = self.timeout(direction).and_then(|timeout| now().checked_add(timeout));
        let site = Location::caller();
        self.io.attempt_again(&How { call, site, until, direction }, seen, attempt)
    }

    pub(crate) fn poll_attempt<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.io.poll_attempt(context, (0, direction), attempt)
    }
}

impl Socket<std::net::TcpStream> {
    /// As [`poll_attempt`](Self::poll_attempt), to read. What comes by TCP has no parts at which a read would stop.
    pub(crate) fn poll_read(&self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        let most = bytes.len();
        self.io.poll_drain(context, (0, most), |mut inner| inner.read(bytes))
    }

    /// The same into room that nobody has written to. PERF: hyper's hello: to write zeros there before took 4 % of all.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_read_buf(
        &self,
        context: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buf.remaining();
        self.io.poll_drain(context, (0, most), |inner| receive_into(inner, buf)).map_ok(|_| ())
    }
}

/// Receives what is there, into what is not filled yet.
#[cfg(feature = "tokio")]
fn receive_into(socket: &impl AsFd, buf: &mut tokio::io::ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: nothing is written there but by the kernel.
    let room = unsafe { buf.unfilled_mut() };
    let (_, received) = rustix::net::recv(socket, room, rustix::net::RecvFlags::empty())?;
    // SAFETY: the kernel has written so much.
    unsafe { buf.assume_init(received) };
    buf.advance(received);
    Ok(received)
}

impl Socket<std::os::unix::net::UnixStream> {
    /// As [`poll_attempt`](Self::poll_attempt), to read: at a message with descriptors a read stops.
    pub(crate) fn poll_read(&self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_attempt(context, Direction::Read, |mut inner| inner.read(bytes))
    }

    /// The same into room that nobody has written to.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_read_buf(
        &self,
        context: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_attempt(context, Direction::Read, |inner| receive_into(inner, buf).map(|_| ()))
    }
}

/// By [`Direction`].
const KERNELS: [Timeout; 2] = [Timeout::Recv, Timeout::Send];

/// 0 is none.
fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(0, |timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}

/// Methods that are the standard library's, of the socket inside.
macro_rules! delegates {
    ($type:ident, $inner:literal: $($name:ident($($argument:ident: $of:ty),*) -> $result:ty;)+) => {
        impl $type {
            $(
                #[doc = concat!("As [`", stringify!($name), "`](", $inner, "::", stringify!($name), ") there.")]
                ///
                /// # Errors
                /// As there.
                pub fn $name(&self, $($argument: $of),*) -> io::Result<$result> {
                    self.0.inner().$name($($argument),*)
                }
            )+
        }
    };
}
pub(crate) use delegates;

/// What all types of sockets have: conversions, clones, the descriptor.
macro_rules! socket {
    ($type:ident, $inner:ty) => {
        impl $type {
            /// The same socket once more; both share their settings.
            ///
            /// # Errors
            /// If there are too many descriptors.
            pub fn try_clone(&self) -> io::Result<$type> {
                self.0.try_clone(self.0.inner().try_clone()).map($type)
            }

            /// Whether calls that would wait answer [`WouldBlock`](io::ErrorKind::WouldBlock) instead.
            ///
            /// # Errors
            /// None.
            pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                self.0.set_nonblocking(nonblocking);
                Ok(())
            }
        }

        /// It is non-blocking from now on, for the kernel. Its time-outs stay, and so does that calls do not wait, if
        /// it was told so.
        impl From<$inner> for $type {
            fn from(inner: $inner) -> $type {
                $type(Socket::of_std(inner))
            }
        }

        /// Calls wait, also if it was non-blocking.
        impl From<OwnedFd> for $type {
            fn from(descriptor: OwnedFd) -> $type {
                $type(Socket::of_blocking(descriptor.into()))
            }
        }

        /// It blocks from now on, unless it was told not to; its clones then do so, too. Its time-outs stay.
        impl From<$type> for $inner {
            fn from(socket: $type) -> $inner {
                socket.0.into_inner()
            }
        }

        impl From<$type> for OwnedFd {
            fn from(socket: $type) -> OwnedFd {
                <$inner>::from(socket).into()
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.inner().as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.0.inner().as_raw_fd()
            }
        }

        impl IntoRawFd for $type {
            fn into_raw_fd(self) -> RawFd {
                OwnedFd::from(self).into_raw_fd()
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.inner().fmt(f)
            }
        }
    };
}
pub(crate) use socket;

/// Time-outs, `take_error`, and what else goes by direction.
macro_rules! timeouts {
    ($type:ident) => {
        impl $type {
            /// For how long a read waits, if not for ever.
            ///
            /// # Errors
            /// None.
            pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.0.timeout(Direction::Read))
            }

            /// For how long a write waits, if not for ever.
            ///
            /// # Errors
            /// None.
            pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.0.timeout(Direction::Write))
            }

            /// A read that would wait longer answers [`WouldBlock`](io::ErrorKind::WouldBlock).
            ///
            /// # Errors
            /// If it is zero.
            pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                self.0.set_timeout(Direction::Read, timeout)
            }

            /// A write that would wait longer answers [`WouldBlock`](io::ErrorKind::WouldBlock).
            ///
            /// # Errors
            /// If it is zero.
            pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                self.0.set_timeout(Direction::Write, timeout)
            }
        }
    };
}
pub(crate) use timeouts;

/// `Read` and `Write` of a stream, of the owner and of whoever borrows it; and the traits of futures.
macro_rules! stream {
    ($type:ident, $read:ident, $write:ident) => {
        impl Read for &$type {
            #[track_caller]
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.0.attempt((&$read, Direction::Read), |mut inner| inner.read(bytes))
            }

            #[track_caller]
            fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.0.attempt((&$read, Direction::Read), |mut inner| inner.read_vectored(parts))
            }
        }

        impl Write for &$type {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.attempt((&$write, Direction::Write), |mut inner| inner.write(bytes))
            }

            #[track_caller]
            fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                self.0.attempt((&$write, Direction::Write), |mut inner| inner.write_vectored(parts))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        impl Read for $type {
            #[track_caller]
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                (&*self).read(bytes)
            }

            #[track_caller]
            fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*self).read_vectored(parts)
            }
        }

        impl Write for $type {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                (&*self).write(bytes)
            }

            #[track_caller]
            fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self).write_vectored(parts)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        impl $type {
            /// Reads, in a task. One task at a time waits so: the last one that has asked.
            ///
            /// # Errors
            /// What the kernel answers.
            pub fn poll_read(&self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
                self.0.poll_read(context, bytes)
            }

            /// Writes, in a task; as [`poll_read`](Self::poll_read).
            ///
            /// # Errors
            /// What the kernel answers.
            pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll_attempt(context, Direction::Write, |mut inner| inner.write(bytes))
            }

            /// Waits, in a task, until a read would not wait.
            pub fn readable(&self) -> impl Future<Output = io::Result<()>> + Send + '_ {
                self.0.io.readable()
            }

            /// Waits, in a task, until a write would not wait.
            pub fn writable(&self) -> impl Future<Output = io::Result<()>> + Send + '_ {
                self.0.io.writable()
            }

            /// In [`select!`](raddle_sync::channel::select!): a case that is possible when a read would not wait.
            ///
            /// # Errors
            /// What the kernel answers.
            pub fn when_readable(&self) -> io::Result<WhenReady<'_>> {
                self.0.io.when_readable()
            }

            /// In [`select!`](raddle_sync::channel::select!): a case that is possible when a write would not wait.
            ///
            /// # Errors
            /// What the kernel answers.
            pub fn when_writable(&self) -> io::Result<WhenReady<'_>> {
                self.0.io.when_writable()
            }
        }

        #[cfg(feature = "futures-io")]
        impl futures_io::AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                $type::poll_read(&self, context, bytes)
            }
        }

        #[cfg(feature = "futures-io")]
        impl futures_io::AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                $type::poll_write(&self, context, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown(Shutdown::Write))
            }
        }

        #[cfg(feature = "tokio")]
        impl tokio::io::AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &mut tokio::io::ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.0.poll_read_buf(context, bytes)
            }
        }

        #[cfg(feature = "tokio")]
        impl tokio::io::AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                $type::poll_write(&self, context, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown(Shutdown::Write))
            }
        }
    };
}
pub(crate) use stream;
