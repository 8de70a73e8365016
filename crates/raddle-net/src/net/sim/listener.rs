//! Owns: a simulated `TcpListener`, and who listens where.
//! May use: `den`, `net::connect`, `raddle-core`, `raddle-sync`.
//! Never: an address of the kernel's.

use super::stream::{TcpStream, pair};
use crate::den::lock;
use raddle_core::choice::now;
use raddle_sync::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// So many connections wait at most for who accepts them.
const BACKLOG: usize = 128;
/// The first port that is given to who asks for none, and to a client.
const FIRST_PORT: u16 = 49152;
const FIRST_CLIENT: u16 = 32768;

/// Who listens where. Nothing of ours is called while the lock is held.
static BOUND: std::sync::Mutex<BTreeMap<SocketAddr, Weak<Backlog>>> = std::sync::Mutex::new(BTreeMap::new());

/// Where simulated connections come in: [`TcpListener`](crate::net::TcpListener), within the program.
pub struct TcpListener(Arc<Backlog>);

struct Backlog {
    address: SocketAddr,
    state: Mutex<BacklogState>,
    changed: Condvar,
    nonblocking: AtomicBool,
}

#[derive(Default)]
struct BacklogState {
    waiting: VecDeque<TcpStream>,
    /// So many have connected.
    clients: u16,
    /// The listener and its clones; when none is left nobody connects any more.
    listeners: usize,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, BacklogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn wait<'b>(
        &self,
        state: MutexGuard<'b, BacklogState>,
        until: Option<Instant>,
    ) -> MutexGuard<'b, BacklogState> {
        match until {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let left = until.saturating_duration_since(now());
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

/// Who has connected, and was not accepted, is reset.
impl Drop for TcpListener {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.listeners -= 1;
        if state.listeners > 0 {
            return;
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.0.changed.notify_all();
        lock(&BOUND).remove(&self.0.address);
        waiting.iter().for_each(TcpStream::reset);
    }
}

/// Somebody listens there, or at all addresses of that kind.
fn find(address: SocketAddr) -> Option<Arc<Backlog>> {
    let bound = lock(&BOUND);
    let mut any = address;
    any.set_ip(if address.is_ipv4() {
        std::net::Ipv4Addr::UNSPECIFIED.into()
    } else {
        std::net::Ipv6Addr::UNSPECIFIED.into()
    });
    bound.get(&address).or_else(|| bound.get(&any)).and_then(Weak::upgrade)
}

#[track_caller]
pub(super) fn connect(address: SocketAddr, until: Option<Instant>) -> io::Result<TcpStream> {
    let backlog = find(address).ok_or(ErrorKind::ConnectionRefused)?;
    let mut state = backlog.lock();
    loop {
        if state.listeners == 0 {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        if state.waiting.len() < BACKLOG {
            break;
        }
        if until.is_some_and(|until| until <= now()) {
            return Err(ErrorKind::TimedOut.into());
        }
        state = backlog.wait(state, until);
    }
    // By the listener, so that the same seed gives the same ports.
    let client = SocketAddr::new(address.ip(), FIRST_CLIENT + state.clients % (FIRST_PORT - FIRST_CLIENT));
    state.clients = state.clients.wrapping_add(1);
    let (here, there) = pair(client, address);
    state.waiting.push_back(there);
    drop(state);
    backlog.changed.notify_all();
    Ok(here)
}

impl TcpListener {
    /// Listens at the first of the addresses where nobody does; at a port of its own, if that is 0.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse).
    pub fn bind<A: ToSocketAddrs>(addresses: A) -> io::Result<TcpListener> {
        let mut last = crate::net::connect::no_address();
        for address in addresses.to_socket_addrs()? {
            match TcpListener::bind_one(address) {
                Ok(bound) => return Ok(bound),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn bind_one(mut address: SocketAddr) -> io::Result<TcpListener> {
        let mut bound = lock(&BOUND);
        let is_free = |address: &SocketAddr| bound.get(address).is_none_or(|there| there.strong_count() == 0);
        if address.port() == 0 {
            let of_port = |port| SocketAddr::new(address.ip(), port);
            let free = (FIRST_PORT..=u16::MAX).map(of_port).find(is_free);
            address = free.ok_or(ErrorKind::AddrInUse)?;
        } else if !is_free(&address) {
            return Err(ErrorKind::AddrInUse.into());
        }
        let state = Mutex::new(BacklogState { listeners: 1, ..BacklogState::default() });
        let (changed, nonblocking) = (Condvar::new(), AtomicBool::new(false));
        let backlog = Arc::new(Backlog { address, state, changed, nonblocking });
        bound.insert(address, Arc::downgrade(&backlog));
        Ok(TcpListener(backlog))
    }

    /// The next connection, and who it is from. Several may wait for one.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if it was told not to wait.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut state = self.0.lock();
        loop {
            if let Some(stream) = state.waiting.pop_front() {
                drop(state);
                self.0.changed.notify_all();
                let from = stream.peer_addr()?;
                return Ok((stream, from));
            }
            if self.0.nonblocking.load(Ordering::Relaxed) {
                return Err(ErrorKind::WouldBlock.into());
            }
            state = self.0.wait(state, None);
        }
    }

    /// The connections, one after the other, without an end.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// None.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.address)
    }

    /// The same listener once more.
    ///
    /// # Errors
    /// None.
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        self.0.lock().listeners += 1;
        Ok(TcpListener(self.0.clone()))
    }

    /// Whether an [`accept`](Self::accept) that would wait answers [`WouldBlock`](ErrorKind::WouldBlock) instead.
    ///
    /// # Errors
    /// None.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("addr", &self.0.address).finish()
    }
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
