//! Owns: `Sender` and `Receiver`, the two ends of a channel without a buffer, neither of which can be cloned.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a buffer; a value lies in the sender's frame until it lies in the receiver's.
//!
//! One sends, one receives, and both go on when they have met. Because the types say that each end has one user at a
//! time (`send` and `recv` take `&mut self`), a channel is one word: see `protocol::rendezvous`. Ends that several use
//! are [claimed](super::SharedSender); a channel with cloneable ends and buffers is `raddle::channel`.
//!
//! A value belongs to the sender until `send` returns `Ok`, and to the receiver from then on. What comes back in an
//! error is the very value; none is lost or dropped twice, whichever side goes, times out or panics at whatever moment.

use super::meet::{self, Refused, Word};
use super::value::{Copying, Value};
use raddle_core::wait::{CallOn, Meeting, WaitReason};
use raddle_core::worker::choice::{counted_look, counted_point, now};
use raddle_protocol::protocol::rendezvous::{Ended, Seen};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

/// Makes a channel: `send` waits for `recv`, and `recv` for `send`.
///
/// ```
/// use raddle::csp;
/// let (mut to, mut from) = csp::channel();
/// let squares = csp::spawn(move || (0..5).for_each(|n| to.send(n * n).unwrap()));
/// assert_eq!(from.iter().collect::<Vec<_>>(), [0, 1, 4, 9, 16]);
/// squares.join().unwrap();
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let word = NonNull::from(Box::leak(Box::new(Word::new())));
    let end = || End { word, values: PhantomData };
    (Sender(end()), Receiver(end()))
}

const SEND_DEADLINE: CallOn<Meeting> =
    CallOn::with_deadline("csp::Sender::send_deadline", WaitReason::MeetToSend);
const RECV_DEADLINE: CallOn<Meeting> =
    CallOn::with_deadline("csp::Receiver::recv_deadline", WaitReason::MeetToReceive);

/// What both ends are: a share of the word.
struct End<T> {
    word: NonNull<Word>,
    /// Values go in and come out: neither end may be taken for one of values that live shorter or longer.
    values: PhantomData<fn(T) -> T>,
}

impl<T> End<T> {
    #[inline(always)]
    fn word(&self) -> &Word {
        // SAFETY: the last end to go frees the word.
        unsafe { self.word.as_ref() }
    }

    fn poison(&mut self) {
        meet::tell_over(self.word().poison());
    }

    #[track_caller]
    fn is_poisoned(&self) -> bool {
        counted_look("csp::is_poisoned", || matches!(self.word().look(), Seen::Over { poisoned: true }))
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        match self.word().close() {
            Ended::First(seen) => meet::tell_over(seen),
            // SAFETY: it came from a box, and the other end has gone.
            Ended::Second => drop(unsafe { Box::from_raw(self.word.as_ptr()) }),
        }
    }
}

// SAFETY: an end gives its one user the right to hand values of `T` over, from whatever thread; the word is atomic.
unsafe impl<T: Send> Send for End<T> {}
// SAFETY: a shared end tells only whether it was poisoned.
unsafe impl<T: Send> Sync for End<T> {}

/// The sending end. Dropping it closes the channel.
///
/// What is sent must live as long as the receiver was promised:
///
/// ```compile_fail
/// use raddle::csp::{self, Sender};
/// let (to, from) = csp::channel::<&'static str>();
/// let text = String::from("gone soon");
/// let mut shorter: Sender<&str> = to;
/// shorter.try_send(&text).unwrap_err();
/// drop(from);
/// ```
pub struct Sender<T>(End<T>);

/// The receiving end. Dropping it closes the channel.
pub struct Receiver<T>(End<T>);

/// A value that is still the sender's: it is dropped if the send panics, which it does in a task.
struct Kept<T>(ManuallyDrop<T>);

impl<T> Kept<T> {
    fn into_inner(mut self) -> T {
        // SAFETY: it is there, and is forgotten next.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        std::mem::forget(self);
        value
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: it was neither handed over nor taken out, or this would have been forgotten.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

/// A place that holds a value until it is handed over.
#[inline(always)]
fn place<T>(value: &mut ManuallyDrop<T>) -> *mut () {
    std::ptr::from_mut(value).cast()
}

/// # Safety
/// `ours` holds a value of `T` that the other side may have; `theirs` is a place for one.
unsafe fn give<T>(ours: *mut (), theirs: *mut ()) {
    // SAFETY: passed on to the caller; they lie in different frames.
    unsafe { theirs.cast::<T>().copy_from_nonoverlapping(ours.cast(), 1) };
}

/// # Safety
/// As for [`give`], the other way round.
pub(super) unsafe fn take<T>(ours: *mut (), theirs: *mut ()) {
    // SAFETY: passed on to the caller.
    unsafe { give::<T>(theirs, ours) };
}

impl<T> Sender<T> {
    /// Waits until the other end receives, and hands `value` over.
    ///
    /// # Errors
    /// The value, if the receiver is gone or the channel poisoned.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[inline(always)]
    #[track_caller]
    pub fn send(&mut self, value: T) -> Result<(), SendError<T>> {
        let mut value = Kept(ManuallyDrop::new(value));
        let ours = place(&mut value.0);
        // SAFETY: `value` is a `T`, and `give` copies one.
        let ours = unsafe { Value::at(ours, const { &Copying::of::<T>(give::<T>) }) };
        // SAFETY: `&mut self` has this end to itself; `value` is given away once, by the run of `give` that counts.
        match unsafe { meet::exchange::<{ raddle_core::wait::SEND }>(self.0.word(), ours) } {
            Ok(()) => {
                std::mem::forget(value);
                Ok(())
            }
            Err(_) => Err(SendError(value.into_inner())),
        }
    }

    /// Sends `value` if the other end waits to receive now. Never waits; may be called in a task.
    ///
    /// # Errors
    /// The value: `Full` if nobody waits, `Disconnected` if the receiver is gone or the channel poisoned.
    #[track_caller]
    pub fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        counted_point("csp::Sender::try_send");
        let mut value = ManuallyDrop::new(value);
        let ours = place(&mut value);
        // SAFETY: as in `send`.
        match unsafe { meet::try_meet(self.0.word(), ours, give::<T>) } {
            Ok(()) => Ok(()),
            Err(Refused::Nobody) => Err(TrySendError::Full(ManuallyDrop::into_inner(value))),
            Err(Refused::Over) => Err(TrySendError::Disconnected(ManuallyDrop::into_inner(value))),
        }
    }

    /// As [`send`](Self::send), and gives up at `deadline`.
    ///
    /// # Errors
    /// The value: `Full` if nobody has received it by then, `Disconnected` as in `send`.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn send_deadline(&mut self, value: T, deadline: Instant) -> Result<(), TrySendError<T>> {
        counted_point("csp::Sender::send_deadline");
        let mut value = Kept(ManuallyDrop::new(value));
        let ours = place(&mut value.0);
        // SAFETY: `&mut self` has this end to itself, and `value` is given away once.
        match unsafe {
            meet::exchange_until(self.0.word(), ours, deadline, const { &SEND_DEADLINE }, give::<T>)
        } {
            Ok(()) => {
                std::mem::forget(value);
                Ok(())
            }
            Err(Refused::Nobody) => Err(TrySendError::Full(value.into_inner())),
            Err(Refused::Over) => Err(TrySendError::Disconnected(value.into_inner())),
        }
    }

    /// As [`send_deadline`](Self::send_deadline), `timeout` from now.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn send_timeout(&mut self, value: T, timeout: Duration) -> Result<(), TrySendError<T>> {
        self.send_deadline(value, after(timeout))
    }

    /// Ends the channel for both: whoever waits or comes finds it [poisoned](Self::is_poisoned).
    pub fn poison(&mut self) {
        self.0.poison();
    }

    /// Whether the channel has been poisoned, as opposed to closed by a dropped end.
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }
}

impl<T> Receiver<T> {
    #[inline(always)]
    pub(super) fn word(&self) -> &Word {
        self.0.word()
    }

    /// Waits until the other end sends, and returns what it sent.
    ///
    /// # Errors
    /// If the sender is gone or the channel poisoned.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[inline(always)]
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, RecvError> {
        let mut value = MaybeUninit::<T>::uninit();
        let ours = value.as_mut_ptr().cast();
        // SAFETY: `value` is room for a `T`, and `take` copies one.
        let ours = unsafe { Value::at(ours, const { &Copying::of::<T>(take::<T>) }) };
        // SAFETY: `&mut self` has this end to itself; `value` is a place for a `T`.
        match unsafe { meet::exchange::<{ raddle_core::wait::RECV }>(self.0.word(), ours) } {
            // SAFETY: it was handed over.
            Ok(()) => Ok(unsafe { value.assume_init() }),
            Err(_) => Err(RecvError),
        }
    }

    /// Receives if the other end waits to send now. Never waits; may be called in a task.
    ///
    /// # Errors
    /// `Empty` if nobody waits, `Disconnected` if the sender is gone or the channel poisoned.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        counted_point("csp::Receiver::try_recv");
        let mut value = MaybeUninit::<T>::uninit();
        let ours = value.as_mut_ptr().cast();
        // SAFETY: `&mut self` has this end to itself; `value` is a place for a `T`.
        match unsafe { meet::try_meet(self.0.word(), ours, take::<T>) } {
            // SAFETY: it was handed over.
            Ok(()) => Ok(unsafe { value.assume_init() }),
            Err(Refused::Nobody) => Err(TryRecvError::Empty),
            Err(Refused::Over) => Err(TryRecvError::Disconnected),
        }
    }

    /// As [`recv`](Self::recv), and gives up at `deadline`.
    ///
    /// # Errors
    /// `Timeout` if nobody has sent by then, `Disconnected` as in `recv`.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        counted_point("csp::Receiver::recv_deadline");
        let mut value = MaybeUninit::<T>::uninit();
        let ours = value.as_mut_ptr().cast();
        // SAFETY: `&mut self` has this end to itself, and `value` is a place for a `T`.
        match unsafe {
            meet::exchange_until(self.0.word(), ours, deadline, const { &RECV_DEADLINE }, take::<T>)
        } {
            // SAFETY: it was handed over.
            Ok(()) => Ok(unsafe { value.assume_init() }),
            Err(Refused::Nobody) => Err(RecvTimeoutError::Timeout),
            Err(Refused::Over) => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// As [`recv_deadline`](Self::recv_deadline), `timeout` from now.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_deadline(after(timeout))
    }

    /// Receives until the sender is gone or the channel poisoned.
    pub fn iter(&mut self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// As [`Sender::poison`].
    pub fn poison(&mut self) {
        self.0.poison();
    }

    /// As [`Sender::is_poisoned`].
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

/// What a [`Receiver`] receives, until the channel ends.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// A deadline that the clock cannot express is none that would pass.
pub(super) fn after(timeout: Duration) -> Instant {
    const YEARS: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    let now = now();
    now.checked_add(timeout).unwrap_or(now + YEARS)
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
