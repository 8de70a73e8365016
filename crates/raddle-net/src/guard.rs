//! Owns: `WhenReady`, a descriptor in `select!` and in `alt!`.
//! May use: `descriptor`, `den`, `source`, `raddle-sync`.
//! Never: a wait; the selection waits.
//!
//! It leaves a waker at the source, as a future does. What `select!` asks for is a channel, to which the waker sends;
//! what `alt!` asks for is an end of `csp`, whose other end the waker closes: neither waits.

use crate::den::lock;
use crate::descriptor::{Descriptor, new_key};
use crate::source::{Direction, Lease};
use raddle_sync::channel::{self, bounded};
use raddle_sync::csp;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// A descriptor in [`select!`](raddle_sync::channel::select!), [`alt!`](raddle_sync::csp::alt!) and
/// [`pri_alt!`](raddle_sync::csp::pri_alt!): a case that is possible when it is ready. Made by
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
/// The same beside channels of `csp`; what is received there says nothing:
///
/// ```
/// use raddle::csp;
/// use raddle_net::net::unix::UnixStream;
/// use std::io::{Read as _, Write as _};
///
/// let (stream, mut peer) = UnixStream::pair()?;
/// let (_orders, mut order) = csp::channel::<()>();
/// peer.write_all(b"hello")?;
/// let mut bytes = [0; 5];
/// csp::pri_alt! {
///     recv(order) -> _ => unreachable!("nobody gives one"),
///     recv(stream.when_readable()?) -> _ => (&stream).read_exact(&mut bytes)?,
/// }
/// assert_eq!(&bytes, b"hello");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// It borrows the descriptor while an arm runs, so read by a shared reference there. If others use the descriptor, they
/// may have read by the time that this one was chosen, and a read waits then.
#[must_use = "it is a case of `select!` or `alt!`"]
pub struct WhenReady<'d> {
    lease: &'d Lease,
    who: (u64, Direction),
    tells: Arc<Tells>,
    /// What `select!` has asked for.
    ready: OnceLock<channel::Receiver<()>>,
    /// Another channel for `alt!`.
    meets: OnceLock<csp::Receiver<()>>,
}

/// Whom the waker tells.
#[derive(Default)]
struct Tells(Mutex<ReadyTold>);

#[derive(Default)]
enum ReadyTold {
    /// Nobody has asked yet.
    #[default]
    No,
    /// It has told already.
    Yes,
    Selection(channel::Sender<()>),
    Alternation(csp::Sender<()>),
}

impl ReadyTold {
    /// It is ready.
    fn tell(self) {
        match self {
            ReadyTold::No | ReadyTold::Yes => {}
            ReadyTold::Selection(to) => {
                // Full, if it has told so already; the receiver may be gone.
                let _told = to.try_send(());
            }
            // The other end finds this one gone.
            ReadyTold::Alternation(to) => drop(to),
        }
    }
}

impl Tells {
    /// Tells this one as soon as it is ready, which it may be.
    fn ask(&self, who: ReadyTold) {
        let mut told = lock(&self.0);
        if matches!(*told, ReadyTold::Yes) {
            drop(told);
            return who.tell();
        }
        *told = who;
    }
}

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        let told = std::mem::replace(&mut *lock(&self.0), ReadyTold::Yes);
        told.tell();
    }
}

impl WhenReady<'_> {
    pub(crate) fn of<T: AsFd>(descriptor: &Descriptor<T>, direction: Direction) -> io::Result<WhenReady<'_>> {
        let tells = Arc::new(Tells::default());
        let waker = Waker::from(tells.clone());
        let (lease, who) = (descriptor.lease_word(), (new_key(), direction));
        let guard = WhenReady { lease, who, tells, ready: OnceLock::new(), meets: OnceLock::new() };
        if let Poll::Ready(is) = descriptor.poll_ready(&mut Context::from_waker(&waker), guard.who) {
            is?;
            waker.wake();
        }
        Ok(guard)
    }

    /// What `select!` asks of an end.
    #[doc(hidden)]
    pub fn receiver_of_raddle_channel(&self) -> &channel::Receiver<()> {
        self.ready.get_or_init(|| {
            let (to, from) = bounded(1);
            self.tells.ask(ReadyTold::Selection(to));
            from
        })
    }

    fn meeting(&self) -> &csp::Receiver<()> {
        self.meets.get_or_init(|| {
            let (to, from) = csp::channel();
            self.tells.ask(ReadyTold::Alternation(to));
            from
        })
    }
}

/// What `alt!` asks for: an end whose other end is gone when the descriptor is ready.
impl Deref for WhenReady<'_> {
    type Target = csp::Receiver<()>;

    fn deref(&self) -> &csp::Receiver<()> {
        self.meeting()
    }
}

impl DerefMut for WhenReady<'_> {
    fn deref_mut(&mut self) -> &mut csp::Receiver<()> {
        let _asked = self.meeting();
        self.meets.get_mut().expect("it has just been made")
    }
}

impl<T: AsFd> Descriptor<T> {
    /// In [`select!`](raddle_sync::channel::select!) and [`alt!`](raddle_sync::csp::alt!): a case that is possible when
    /// a read would not wait.
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
