//! Owns: `Descriptor`, whatever has a descriptor, with waits for it; how a call tries, waits and tries again.
//! May use: `den`, `source`, `waits`, `raddle-core`, `rustix`.
//! Never: a descriptor from a number: it is owned, or borrowed from its owner.

use crate::den::Edge;
use crate::source::{Direction, EdgeSource, Lease};
use crate::waits::{self, NetCall, call};
use raddle_core::choice::{count, count_in_task, now};
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::task::{Context, Poll};
use std::time::Instant;

static READABLE: NetCall = call("Descriptor::wait_readable");
static WRITABLE: NetCall = call("Descriptor::wait_writable");
static READ: NetCall = call("Descriptor::read");
static WRITE: NetCall = call("Descriptor::write");

/// A pipe takes so much at once without waiting if it says that it takes anything.
const PIPE_BUF: usize = 4096;

/// Whatever has a descriptor - a pipe, a terminal, a socket of another library - with waits that leave the worker to
/// others.
///
/// Made by [`new`](Self::new) it leaves the descriptor as it is, which may be another program's too (standard input):
/// each call asks the kernel first whether it would wait, and writes at most 4096 bytes at once. If others read from
/// the same one, a call may wait in the kernel all the same. One that is [`nonblocking`](Self::nonblocking) simply
/// tries.
///
/// A regular file is always ready.
///
/// ```
/// use raddle_net::io::Descriptor;
/// use std::io::{Read as _, Write as _};
///
/// let (reader, writer) = std::io::pipe()?;
/// let (mut reader, mut writer) = (Descriptor::new(reader), Descriptor::new(writer));
/// let reads = raddle::csp::spawn(move || {
///     let mut text = String::new();
///     reader.read_to_string(&mut text).map(|_| text)
/// });
/// writer.write_all(b"through a pipe")?;
/// drop(writer);
/// assert_eq!(reads.join().unwrap()?, "through a pipe");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// No number makes one: what has it must own or borrow the descriptor.
///
/// ```compile_fail,E0277
/// let _nobodys = raddle_net::io::Descriptor::new(7);
/// ```
pub struct Descriptor<T: AsFd> {
    /// None only while it is taken apart.
    inner: Option<T>,
    /// When somebody has had to wait.
    lease: Lease,
    tries: bool,
}

/// How a call waits.
pub(crate) struct How {
    pub(crate) call: &'static NetCall,
    pub(crate) site: &'static Location<'static>,
    pub(crate) until: Option<Instant>,
    pub(crate) direction: Direction,
}

impl<T: AsFd> Descriptor<T> {
    /// Leaves the descriptor as it is.
    pub fn new(inner: T) -> Descriptor<T> {
        Descriptor { inner: Some(inner), lease: Lease::default(), tries: false }
    }

    /// Makes the descriptor non-blocking, for all who have it: if it is nobody else's.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn nonblocking(inner: T) -> io::Result<Descriptor<T>> {
        rustix::io::ioctl_fionbio(&inner, true)?;
        Ok(Descriptor::of_nonblocking(inner))
    }

    /// Of one that is non-blocking.
    pub(crate) fn of_nonblocking(inner: T) -> Descriptor<T> {
        Descriptor { inner: Some(inner), lease: Lease::default(), tries: true }
    }

    /// What has the descriptor.
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("it is whole")
    }

    /// What has the descriptor, and may come to have another one: the next wait begins anew.
    pub fn get_mut(&mut self) -> &mut T {
        self.end();
        self.inner.as_mut().expect("it is whole")
    }

    /// What has the descriptor, for which nobody waits any more. A non-blocking one stays so.
    pub fn into_inner(mut self) -> T {
        self.end();
        self.inner.take().expect("it is whole")
    }

    fn end(&mut self) {
        if let Some(inner) = &self.inner
            && self.lease.get().is_some()
        {
            self.lease.end(inner.as_fd());
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }

    /// The source, and the number of edges before the caller's try. `None` if another one has just taken the source:
    /// then there may have been an edge since, and the caller tries once more.
    fn lease(&self, direction: Direction, seen: Option<u32>) -> Option<(&'static EdgeSource, u32)> {
        if let Some(source) = self.lease.get() {
            return seen.map(|seen| (source, seen));
        }
        let source = EdgeSource::take();
        let first = source.of(direction).want();
        if !self.lease.set(source) {
            source.give_back();
            return None;
        }
        Some((source, first))
    }

    /// Tries, and waits as long as that says that it would.
    #[track_caller]
    pub(crate) fn attempt<R>(
        &self,
        how: &How,
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        // Of a peer that is faster nobody need ever wait: others get their turn all the same.
        count();
        loop {
            let seen = self.want(how.direction);
            match attempt(self.get_ref()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
            self.wait_for_edge(how, seen)?;
        }
    }

    /// As [`attempt`](Self::attempt), by one who has tried in vain since it [wanted](Self::want).
    #[track_caller]
    pub(crate) fn attempt_again<R>(
        &self,
        how: &How,
        seen: Option<u32>,
        attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.wait_for_edge(how, seen)?;
        self.attempt(how, attempt)
    }

    /// The caller is about to try: the number of edges before that, if it has a source.
    #[inline]
    pub(crate) fn want(&self, direction: Direction) -> Option<u32> {
        self.lease.get().map(|lease| lease.of(direction).want())
    }

    /// After a try in vain: waits until another one may do, or the time is over. An error if it was over before.
    #[track_caller]
    fn wait_for_edge(&self, how: &How, seen: Option<u32>) -> io::Result<()> {
        if how.until.is_some_and(|until| until <= now()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        if waits::is_os_thread(how.call) {
            waits::poll(self.fd(), how.direction, how.until)
        } else if let Some((source, seen)) = self.lease(how.direction, seen) {
            waits::wait(self.fd(), (source, how.direction, seen), how.until, (how.call, how.site))
        } else {
            Ok(())
        }
    }

    /// As [`attempt`](Self::attempt), for a task.
    pub(crate) fn poll_attempt<R>(
        &self,
        context: &mut Context<'_>,
        (key, direction): (u64, Direction),
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            let seen = self.want(direction);
            match attempt(self.get_ref()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => {
                    self.lease.get().into_iter().for_each(|source| source.has_done((key, direction)));
                    return Poll::Ready(done);
                }
            }
            let Some((source, seen)) = self.lease(direction, seen) else { continue };
            if !source.tell_den(self.fd())? {
                // No edge comes, and it is always ready, whatever the try has said: others get their turn.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if source.leave_waker((key, direction), context.waker(), seen)? {
                return Poll::Pending;
            }
        }
    }

    /// As [`poll_attempt`](Self::poll_attempt), of a read of a stream of bytes that asks for `most`. One that gets less
    /// has taken all there was, and until the next edge none is tried: as tokio does it.
    ///
    /// No byte waits for an edge that does not come: what comes after that read makes an edge that counts after `seen`,
    /// and so does an end. Where a read stops before the last byte, at urgent data, the edge was odd.
    pub(crate) fn poll_drain(
        &self,
        context: &mut Context<'_>,
        (key, most): (u64, usize),
        mut read: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_attempt(context, (key, Direction::Read), |inner| {
            let Some(source) = self.lease.get() else { return read(inner) };
            let seen = source.of(Direction::Read).want();
            if source.is_drained(seen) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let count = read(inner)?;
            if 0 < count && count < most {
                source.note_drained(seen);
            }
            Ok(count)
        })
    }

    fn is_ready(&self, direction: Direction) -> io::Result<()> {
        let is_ready = waits::is_ready(self.fd(), direction)?;
        if is_ready && direction == Direction::Read {
            // Its edge may be on its way; who is told that something is there gets it by the next read all the same.
            self.lease.get().into_iter().for_each(EdgeSource::forget_drained);
        }
        if is_ready { Ok(()) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    #[track_caller]
    fn wait(&self, direction: Direction, until: Option<Instant>) -> io::Result<bool> {
        let call = if direction == Direction::Read { &READABLE } else { &WRITABLE };
        let how = How { call, site: Location::caller(), until, direction };
        match self.attempt(&how, |_| self.is_ready(direction)) {
            Ok(()) => Ok(true),
            Err(late) if late.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until a read would not wait: something is there, or the end, or an error.
    ///
    /// # Errors
    /// What the kernel answers.
    ///
    /// # Panics
    /// In a task, as the other calls that wait.
    #[track_caller]
    pub fn wait_readable(&self) -> io::Result<()> {
        self.wait(Direction::Read, None).map(drop)
    }

    /// As [`wait_readable`](Self::wait_readable), at most until then; false if nothing has come.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn wait_readable_until(&self, until: Instant) -> io::Result<bool> {
        self.wait(Direction::Read, Some(until))
    }

    /// Waits until a write would not wait.
    ///
    /// # Errors
    /// What the kernel answers.
    #[track_caller]
    pub fn wait_writable(&self) -> io::Result<()> {
        self.wait(Direction::Write, None).map(drop)
    }

    /// As [`wait_writable`](Self::wait_writable), at most until then; false if it is not.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn wait_writable_until(&self, until: Instant) -> io::Result<bool> {
        self.wait(Direction::Write, Some(until))
    }

    /// As [`wait_readable`](Self::wait_readable), or [`wait_writable`](Self::wait_writable) if not `reads`, at most
    /// until then, if that is a time, and not when `is_over` is true: for adaptors, whose waits others end, by making
    /// it true and then calling [`look_again`](Self::look_again).
    ///
    /// # Errors
    /// As there.
    #[doc(hidden)]
    #[track_caller]
    pub fn wait_unless(
        &self,
        reads: bool,
        until: Option<Instant>,
        is_over: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let (call, direction) =
            if reads { (&READABLE, Direction::Read) } else { (&WRITABLE, Direction::Write) };
        let how = How { call, site: Location::caller(), until, direction };
        if self.lease.get().is_none() && !waits::is_os_thread(call) {
            // Before the first look at `is_over`: who makes that true and then has us look again finds the source.
            let _first = self.lease(direction, None);
            fence(Ordering::SeqCst); // pairs with the one in `look_again`
        }
        match self.attempt(&how, |_| if is_over() { Ok(()) } else { self.is_ready(direction) }) {
            Ok(()) => Ok(true),
            Err(late) if late.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// As [`read_with`](Self::read_with), or [`write_with`](Self::write_with) if not `reads`, at most until then: for
    /// adaptors. [`WouldBlock`](ErrorKind::WouldBlock) if it is late.
    ///
    /// # Errors
    /// As there.
    #[doc(hidden)]
    #[track_caller]
    pub fn attempt_until<R>(
        &self,
        reads: bool,
        until: Option<Instant>,
        attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let (call, direction) = if reads { (&READ, Direction::Read) } else { (&WRITE, Direction::Write) };
        self.attempt(&How { until, ..self.how(call, direction) }, attempt)
    }

    /// Has all who wait for it look again for what they wait for.
    #[doc(hidden)]
    pub fn look_again(&self) {
        // What has been changed before this, or the source, is seen by the other: pairs with the one in `wait_unless`.
        fence(Ordering::SeqCst);
        self.lease
            .get()
            .into_iter()
            .for_each(|source| source.tell(Edge { readable: true, writable: true, is_odd: false }));
    }

    /// [`wait_readable`](Self::wait_readable) for a task. Dropped, it waits no more.
    pub fn readable(&self) -> Ready<'_, T> {
        Ready::new(self, Direction::Read)
    }

    /// [`wait_writable`](Self::wait_writable) for a task. Dropped, it waits no more.
    pub fn writable(&self) -> Ready<'_, T> {
        Ready::new(self, Direction::Write)
    }

    pub(crate) fn lease_word(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn poll_ready(
        &self,
        context: &mut Context<'_>,
        who: (u64, Direction),
    ) -> Poll<io::Result<()>> {
        self.poll_attempt(context, who, |_| self.is_ready(who.1))
    }

    /// Calls `read` until it does not answer [`WouldBlock`](ErrorKind::WouldBlock), and waits in between: for a library
    /// whose own calls read from a non-blocking descriptor.
    ///
    /// # Errors
    /// What `read` answers, and what the kernel does.
    #[track_caller]
    pub fn read_with<R>(&self, read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.attempt(&self.how(&READ, Direction::Read), read)
    }

    /// As [`read_with`](Self::read_with), for what writes.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn write_with<R>(&self, write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.attempt(&self.how(&WRITE, Direction::Write), write)
    }

    #[track_caller]
    fn how(&self, call: &'static NetCall, direction: Direction) -> How {
        How { call, site: Location::caller(), until: None, direction }
    }
}

impl<T: AsFd> Read for &Descriptor<T> {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let how = self.how(&READ, Direction::Read);
        self.attempt(&how, |inner| {
            if !self.tries && !bytes.is_empty() {
                self.is_ready(Direction::Read)?;
            }
            Ok(rustix::io::read(inner, &mut *bytes)?)
        })
    }
}

impl<T: AsFd> Write for &Descriptor<T> {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let how = self.how(&WRITE, Direction::Write);
        self.attempt(&how, |inner| {
            let mut some = bytes;
            if !self.tries && !bytes.is_empty() {
                self.is_ready(Direction::Write)?;
                some = &bytes[..bytes.len().min(PIPE_BUF)];
            }
            Ok(rustix::io::write(inner, some)?)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: AsFd> Read for Descriptor<T> {
    #[track_caller]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl<T: AsFd> Write for Descriptor<T> {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<T: AsFd> AsFd for Descriptor<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

impl<T: AsFd> Drop for Descriptor<T> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Descriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

/// Tells one waker that was left from others.
pub(crate) fn new_key() -> u64 {
    /// Below are the keys of `poll_` methods.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Waits, in a task, until a descriptor is ready: [`Descriptor::readable`], [`Descriptor::writable`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Ready<'d, T: AsFd> {
    descriptor: &'d Descriptor<T>,
    direction: Direction,
    key: u64,
}

impl<'d, T: AsFd> Ready<'d, T> {
    fn new(descriptor: &'d Descriptor<T>, direction: Direction) -> Ready<'d, T> {
        Ready { descriptor, direction, key: new_key() }
    }
}

impl<T: AsFd> Future for Ready<'_, T> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.descriptor.poll_ready(context, (self.key, self.direction))
    }
}

impl<T: AsFd> Drop for Ready<'_, T> {
    fn drop(&mut self) {
        if let Some(lease) = self.descriptor.lease.get() {
            lease.has_done((self.key, self.direction));
        }
    }
}
