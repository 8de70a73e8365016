//! Owns: `Select`, a set of operations that grows at run time, and what the macros expand to.
//! May use: `host::choice`, `raddle-core`.
//! Never: an operation that was agreed on and is forgotten in silence.
//!
//! | file | what |
//! |---|---|
//! | `operation` | one operation: agreeing on it, waiting for it, completing it |
//! | `run` | the choice between several |
//! | `macros` | `select!` and `select_biased!` |

mod macros;
mod operation;
mod run;

use super::core::Side;
use super::error::{
    ReadyTimeoutError, RecvError, SelectTimeoutError, SendError, TryReadyError, TrySelectError,
};
use super::list::Left;
use super::{Receiver, Sender};
use crate::host::choice::now;
use operation::{Operation, Room, complete_recv, complete_send};
use run::{Agreed, CaseEnd};
pub use run::{Case, Until};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// A set of operations of which one is to be done, whichever is possible first.
///
/// A selection has two steps: it agrees on an operation, and its user completes that one. [`select!`](super::select!)
/// does both, for operations that are known when the program is written.
///
/// ```
/// use raddle::channel::{Select, unbounded};
/// let channels: Vec<_> = (0..8).map(|_| unbounded()).collect();
/// channels[5].0.send("here").unwrap();
/// let mut select = Select::new();
/// for (_, receiver) in &channels {
///     select.recv(receiver);
/// }
/// let operation = select.select();
/// assert_eq!(operation.index(), 5);
/// assert_eq!(operation.recv(&channels[5].1), Ok("here"));
/// ```
pub struct Select<'a> {
    cases: Vec<Case<'a>>,
    next_index: usize,
    biased: bool,
}

impl<'a> Select<'a> {
    /// An empty set. Of several possible operations any may be chosen, each as likely as the others.
    pub fn new() -> Select<'a> {
        Select { cases: Vec::new(), next_index: 0, biased: false }
    }

    /// An empty set. Of several possible operations the first that was added is chosen.
    pub fn new_biased() -> Select<'a> {
        Select { biased: true, ..Select::new() }
    }

    fn add(&mut self, operation: &'a dyn Operation, side: Side) -> usize {
        let index = self.next_index;
        self.cases.push(Case::new(operation, side, index));
        self.next_index += 1;
        index
    }

    /// Adds a send; returns its index.
    pub fn send<T>(&mut self, s: &'a Sender<T>) -> usize {
        self.add(s, Side::Send)
    }

    /// Adds a receive; returns its index.
    pub fn recv<T>(&mut self, r: &'a Receiver<T>) -> usize {
        self.add(r, Side::Receive)
    }

    /// Takes an operation out. The others keep their indices, and a new one gets a new index.
    ///
    /// # Panics
    /// If there is no operation with this index.
    pub fn remove(&mut self, index: usize) {
        assert!(index < self.next_index, "index out of bounds; {index} >= {}", self.next_index);
        let at = self.cases.iter().position(|case| case.index == index);
        self.cases.remove(at.expect("no operation with this index"));
    }

    #[track_caller]
    fn run(&mut self, until: Until) -> Option<SelectedOperation<'a>> {
        let agreed = run::select(&mut self.cases, until, self.biased)?;
        let case = &self.cases[agreed.at];
        Some(SelectedOperation { picked: Picked::new(case, case.index, agreed), operation: case.operation })
    }

    /// Agrees on an operation that is possible now.
    ///
    /// # Errors
    /// If none is.
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.run(Until::Now).ok_or(TrySelectError)
    }

    /// Agrees on an operation, waiting until one is possible.
    ///
    /// # Panics
    /// If there are none, if it would have to wait inside a task, and if it would have to wait for more than 16
    /// million.
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        assert!(!self.cases.is_empty(), "no operations have been added to `Select`");
        self.run(Until::Possible).expect("without a deadline it ends with an operation")
    }

    /// As [`select`](Self::select), waiting at most for `timeout`.
    ///
    /// # Errors
    /// If no operation has become possible by then.
    #[track_caller]
    pub fn select_timeout(&mut self, timeout: Duration) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.run(Until::after(timeout)).ok_or(SelectTimeoutError)
    }

    /// As [`select`](Self::select), waiting at most until `deadline`.
    ///
    /// # Errors
    /// If no operation has become possible by then.
    #[track_caller]
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.run(Until::At(deadline)).ok_or(SelectTimeoutError)
    }

    /// The index of an operation that is possible now. By the time that it is done it may be possible no more.
    ///
    /// # Errors
    /// If none is.
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        run::ready(&mut self.cases, Until::Now, self.biased).ok_or(TryReadyError)
    }

    /// The index of an operation that is possible, waiting until one is. It may return one that is not, or not any
    /// more: be prepared to ask again.
    ///
    /// # Panics
    /// If there are none, if it would have to wait inside a task, and if it would have to wait for more than 16
    /// million.
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        assert!(!self.cases.is_empty(), "no operations have been added to `Select`");
        let ready = run::ready(&mut self.cases, Until::Possible, self.biased);
        ready.expect("without a deadline it ends with an operation")
    }

    /// As [`ready`](Self::ready), waiting at most for `timeout`.
    ///
    /// # Errors
    /// If no operation has become possible by then.
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        run::ready(&mut self.cases, Until::after(timeout), self.biased).ok_or(ReadyTimeoutError)
    }

    /// As [`ready`](Self::ready), waiting at most until `deadline`.
    ///
    /// # Errors
    /// If no operation has become possible by then.
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        run::ready(&mut self.cases, Until::At(deadline), self.biased).ok_or(ReadyTimeoutError)
    }
}

impl Until {
    /// That much later than now; without an end if that is after the end of time.
    pub fn after(timeout: Duration) -> Until {
        now().checked_add(timeout).map_or(Until::Possible, Until::At)
    }
}

impl Clone for Select<'_> {
    fn clone(&self) -> Self {
        let cases = self.cases.iter().map(Case::copy).collect();
        Select { cases, next_index: self.next_index, biased: self.biased }
    }
}

impl Default for Select<'_> {
    fn default() -> Self {
        Select::new()
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}

/// An operation that a selection has agreed on, and that must be completed.
///
/// # Panics
/// When it is dropped instead. (A message that it had received is lost then; whoever was to receive one waits on.)
#[must_use = "the operation has been agreed on, and must be completed"]
pub struct SelectedOperation<'a> {
    picked: Picked<'a>,
    operation: &'a dyn Operation,
}

impl UnwindSafe for SelectedOperation<'_> {}
impl RefUnwindSafe for SelectedOperation<'_> {}

impl<'a> SelectedOperation<'a> {
    /// The index of the operation, as [`Select::send`] or [`Select::recv`] returned it.
    pub fn index(&self) -> usize {
        self.picked.index
    }

    fn complete(self, end: &dyn Operation, side: Side, kind: &str) -> Picked<'a> {
        assert!(self.picked.is_of(end, side), "passed a {kind} that wasn't selected");
        let picked = Picked { room: self.picked.room.copy(), ..self.picked };
        std::mem::forget(self);
        picked
    }

    /// Completes a send.
    ///
    /// # Errors
    /// If all receivers are gone.
    ///
    /// # Panics
    /// If `s` is no sender of the channel that was selected to be sent to.
    pub fn send<T>(self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        let picked = self.complete(s, Side::Send, "sender");
        complete_send(s, picked.left, msg)
    }

    /// Completes a receive.
    ///
    /// # Errors
    /// If the channel is empty and all senders are gone.
    ///
    /// # Panics
    /// If `r` is no receiver of the channel that was selected to be received from.
    #[track_caller]
    pub fn recv<T>(self, r: &Receiver<T>) -> Result<T, RecvError> {
        let picked = self.complete(r, Side::Receive, "receiver");
        complete_recv(r, picked.left, &picked.room)
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        self.operation.cancel(self.picked.left);
        if !std::thread::panicking() {
            panic!("dropped `SelectedOperation` without completing the operation");
        }
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}

/// What a selection has agreed on. It borrows the ends until it has been completed, so that the channel stays; after
/// that the arms of a macro may move or change them.
///
/// ```compile_fail,E0505
/// use raddle::channel::{__private as private, bounded};
/// let (s, r) = bounded(1);
/// s.send(1).unwrap();
/// let picked = private::pick(&mut [private::recv_case(&r)], private::Until::Possible, false).unwrap();
/// drop(r);
/// assert!(picked.is(0));
/// ```
pub struct Picked<'a> {
    end: CaseEnd,
    index: usize,
    left: Left,
    room: Room,
    ends: PhantomData<&'a ()>,
}

/// For the code that the macros expand to.
#[doc(hidden)]
#[track_caller]
pub fn pick<'a>(cases: &mut [Case<'a>], until: Until, biased: bool) -> Option<Picked<'a>> {
    let agreed = run::select(cases, until, biased)?;
    Some(Picked::new(&cases[agreed.at], agreed.at, agreed))
}

#[doc(hidden)]
pub fn recv_case<T>(r: &Receiver<T>) -> Case<'_> {
    Case::new(r, Side::Receive, 0)
}

#[doc(hidden)]
pub fn send_case<T>(s: &Sender<T>) -> Case<'_> {
    Case::new(s, Side::Send, 0)
}

impl<'a> Picked<'a> {
    fn new(case: &Case<'a>, index: usize, agreed: Agreed) -> Picked<'a> {
        Picked { end: case.end, index, left: agreed.left, room: agreed.room, ends: PhantomData }
    }

    fn is_of(&self, end: &dyn Operation, side: Side) -> bool {
        self.end == CaseEnd { channel: end.channel(), side }
    }

    /// Whether it is the operation at this place of the macro.
    #[inline]
    pub fn is(&self, index: usize) -> bool {
        self.index == index
    }

    /// Completes a receive.
    #[inline]
    #[track_caller]
    pub fn recv<T>(self, r: &Receiver<T>) -> Result<T, RecvError> {
        assert!(self.is_of(r, Side::Receive), "another receiver than was selected");
        complete_recv(r, self.left, &self.room)
    }

    /// A send, to be completed when the message has been worked out.
    #[inline]
    pub fn send<T>(self, s: &Sender<T>) -> Sending<'_, T> {
        assert!(self.is_of(s, Side::Send), "another sender than was selected");
        Sending { sender: s, left: self.left }
    }
}

/// A send that was agreed on. If the message's expression panics, or leaves otherwise, the send is cancelled.
pub struct Sending<'a, T> {
    sender: &'a Sender<T>,
    left: Left,
}

impl<T> Sending<'_, T> {
    /// Completes it.
    #[inline]
    pub fn complete(self, msg: T) -> Result<(), SendError<T>> {
        let (sender, left) = (self.sender, self.left);
        std::mem::forget(self);
        complete_send(sender, left, msg)
    }
}

impl<T> Drop for Sending<'_, T> {
    fn drop(&mut self) {
        self.sender.cancel(self.left);
    }
}
