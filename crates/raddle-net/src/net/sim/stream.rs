//! Owns: a simulated `TcpStream`.
//! May use: `net::connect`, `raddle-core`.
//! Never: how bytes are kept.

use super::is_reset_now;
use super::listener::connect;
use super::pipe::{Patience, Pipe};
use raddle_core::choice::now;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A simulated connection: [`TcpStream`](crate::net::TcpStream), within the program.
pub struct TcpStream(Arc<SimEnd>);

/// One end, which clones share.
struct SimEnd {
    reads: Arc<Pipe>,
    writes: Arc<Pipe>,
    addresses: [SocketAddr; 2],
    /// In nanoseconds, to read and to write; 0 is none.
    timeouts: [AtomicU64; 2],
    nonblocking: AtomicBool,
    nodelay: AtomicBool,
}

/// Who leaves unread what has come resets the connection, as the kernel does.
impl Drop for SimEnd {
    fn drop(&mut self) {
        if self.reads.leave() {
            self.writes.reset();
        } else {
            self.writes.close();
        }
    }
}

/// Both ends of a connection between these addresses.
pub(super) fn pair(one: SocketAddr, other: SocketAddr) -> (TcpStream, TcpStream) {
    let (there, back) = (Arc::<Pipe>::default(), Arc::<Pipe>::default());
    let end = |reads: &Arc<Pipe>, writes: &Arc<Pipe>, addresses| {
        TcpStream(Arc::new(SimEnd {
            reads: reads.clone(),
            writes: writes.clone(),
            addresses,
            timeouts: [AtomicU64::new(0), AtomicU64::new(0)],
            nonblocking: AtomicBool::new(false),
            nodelay: AtomicBool::new(false),
        }))
    };
    (end(&back, &there, [one, other]), end(&there, &back, [other, one]))
}

const READ: usize = 0;
const WRITE: usize = 1;

impl TcpStream {
    /// Connects to the first of the addresses where somebody listens.
    ///
    /// # Errors
    /// [`ConnectionRefused`](ErrorKind::ConnectionRefused) if nobody does.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addresses: A) -> io::Result<TcpStream> {
        let mut last = None;
        for address in addresses.to_socket_addrs()? {
            match connect(address, None) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(crate::net::connect::no_address))
    }

    /// Connects, within the time.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); [`TimedOut`](ErrorKind::TimedOut); a time of zero.
    #[track_caller]
    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        if timeout.is_zero() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
        }
        connect(*address, now().checked_add(timeout))
    }

    fn patience(&self, way: usize) -> Patience {
        let until = self.timeout(way).and_then(|timeout| now().checked_add(timeout));
        Patience { until, waits: !self.0.nonblocking.load(Ordering::Relaxed) }
    }

    fn timeout(&self, way: usize) -> Option<Duration> {
        let ns = self.0.timeouts[way].load(Ordering::Relaxed);
        (ns > 0).then(|| Duration::from_nanos(ns))
    }

    fn set_timeout(&self, way: usize, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
        }
        let ns = timeout.map_or(0, |timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        self.0.timeouts[way].store(ns, Ordering::Relaxed);
        Ok(())
    }

    fn reset_by_seed(&self) {
        if is_reset_now() {
            self.reset();
        }
    }

    /// The connection is lost, for both.
    pub(super) fn reset(&self) {
        self.0.reads.reset();
        self.0.writes.reset();
    }

    /// Reads what will be read next, and leaves it.
    ///
    /// # Errors
    /// As a read.
    #[track_caller]
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.reads.read(bytes, self.patience(READ), true)
    }

    /// Ends one direction, or both.
    ///
    /// # Errors
    /// None.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Write {
            self.0.reads.deafen();
        }
        if how != Shutdown::Read {
            self.0.writes.close();
        }
        Ok(())
    }

    /// The same end once more; both share their settings.
    ///
    /// # Errors
    /// None.
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        Ok(TcpStream(self.0.clone()))
    }

    /// The address of this end.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.addresses[0])
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// None.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.addresses[1])
    }

    /// Whether calls that would wait answer [`WouldBlock`](ErrorKind::WouldBlock) instead.
    ///
    /// # Errors
    /// None.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// What was set last.
    ///
    /// # Errors
    /// None.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.0.nodelay.load(Ordering::Relaxed))
    }

    /// Is kept, and changes nothing.
    ///
    /// # Errors
    /// None.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.nodelay.store(nodelay, Ordering::Relaxed);
        Ok(())
    }

    /// No error is kept here.
    ///
    /// # Errors
    /// None.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    /// For how long a read waits, if not for ever.
    ///
    /// # Errors
    /// None.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.timeout(READ))
    }

    /// For how long a write waits, if not for ever.
    ///
    /// # Errors
    /// None.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.timeout(WRITE))
    }

    /// A read that would wait longer answers [`WouldBlock`](ErrorKind::WouldBlock).
    ///
    /// # Errors
    /// If it is zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_timeout(READ, timeout)
    }

    /// A write that would wait longer answers [`WouldBlock`](ErrorKind::WouldBlock).
    ///
    /// # Errors
    /// If it is zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_timeout(WRITE, timeout)
    }
}

impl Read for &TcpStream {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reset_by_seed();
        self.0.reads.read(bytes, self.patience(READ), false)
    }
}

impl Write for &TcpStream {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reset_by_seed();
        self.0.writes.write(bytes, self.patience(WRITE))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl Write for TcpStream {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [addr, peer] = self.0.addresses;
        f.debug_struct("TcpStream").field("addr", &addr).field("peer", &peer).finish()
    }
}
