//! Owns: `WhenReady`, a descriptor in `select!`.
//! May use: `descriptor`, `source`, `raddle-sync`.
//! Never: a wait; `select!` waits.
//!
//! It leaves a waker at the source, as a future does, that sends to a channel of its own; `select!` receives from it.

use crate::descriptor::{Descriptor, new_key};
use crate::source::{Direction, Lease};
use raddle_sync::channel::{Receiver, Sender, bounded};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A descriptor in [`select!`](raddle_sync::channel::select!): a case that is possible when it is ready. Made by
/// [`Descriptor::when_readable`] and the sockets' methods of that name; for one selection, or until it was chosen.
///
/// ```
/// use raddle::channel::{bounded, select};
/// use raddle_net::net::unix::UnixStream;
/// use std::io::{Read as _, Write as _};
///
/// let (stream, mut peer) = UnixStream::pair()?;
/// let (stops, stop) = bounded::<()>(1);
/// let serves = raddle::csp::spawn(move || {
///     let (mut bytes, mut all) = ([0; 16], 0);
///     loop {
///         select! {
///             recv(stream.when_readable()?) -> _ => all += (&stream).read(&mut bytes)?,
///             recv(stop) -> _ => return Ok::<_, std::io::Error>(all),
///         }
///         if all == 5 {
///             (&stream).write_all(b"!")?;
///         }
///     }
/// });
/// peer.write_all(b"hello")?;
/// peer.read_exact(&mut [0])?;
/// stops.send(()).unwrap();
/// assert_eq!(serves.join().unwrap()?, 5);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// It borrows the descriptor while an arm runs, so read by a shared reference there. If others use the descriptor, they
/// may have read by the time that this one was chosen, and a read waits then.
#[must_use = "it is a case of `select!`"]
pub struct WhenReady<'d> {
    lease: &'d Lease,
    who: (u64, Direction),
    ready: Receiver<()>,
}

struct TellsBySending(Sender<()>);

impl Wake for TellsBySending {
    fn wake(self: Arc<Self>) {
        // Full, if it has told so already; the receiver may be gone.
        let _told = self.0.try_send(());
    }
}

impl WhenReady<'_> {
    pub(crate) fn of<T: AsFd>(descriptor: &Descriptor<T>, direction: Direction) -> io::Result<WhenReady<'_>> {
        let (tells, ready) = bounded(1);
        let waker = Waker::from(Arc::new(TellsBySending(tells)));
        let guard = WhenReady { lease: descriptor.lease_word(), who: (new_key(), direction), ready };
        if let Poll::Ready(is) = descriptor.poll_ready(&mut Context::from_waker(&waker), guard.who) {
            is?;
            waker.wake();
        }
        Ok(guard)
    }

    /// What `select!` asks of an end.
    #[doc(hidden)]
    pub fn receiver_of_raddle_channel(&self) -> &Receiver<()> {
        &self.ready
    }
}

impl<T: AsFd> Descriptor<T> {
    /// In [`select!`](raddle_sync::channel::select!): a case that is possible when a read would not wait.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn when_readable(&self) -> io::Result<WhenReady<'_>> {
        WhenReady::of(self, Direction::Read)
    }

    /// As [`when_readable`](Self::when_readable), for a write.
    ///
    /// # Errors
    /// As there.
    pub fn when_writable(&self) -> io::Result<WhenReady<'_>> {
        WhenReady::of(self, Direction::Write)
    }
}

impl Drop for WhenReady<'_> {
    fn drop(&mut self) {
        if let Some(source) = self.lease.get() {
            source.has_done(self.who);
        }
    }
}

impl fmt::Debug for WhenReady<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WhenReady").finish_non_exhaustive()
    }
}
