//! Owns: `Alternation`: receiving from the first of an array of receivers that is ready; occam's replicated `ALT`.
//! May use: `raddle-core`.
//! Never: an allocation a round; its places are kept.

use super::alt::Order;
use super::alternate::{self, Guard, Ready};
use super::chan::{self, Receiver};
use super::meet::{self, Refused};
use raddle_core::wait::{CallOn, FirstOf, Wait, WaitReason};
use raddle_core::worker::choice::{counted_point, give_way};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::mpsc::RecvError;
use std::time::Instant;

const RECV: CallOn<FirstOf> = CallOn::new("csp::Alternation::recv", WaitReason::MeetOne);

/// Receives from arrays of receivers, from one at a time.
///
/// ```
/// use raddle::csp::{self, Alternation};
/// let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| csp::channel()).unzip();
/// for (n, mut to) in senders.into_iter().enumerate() {
///     csp::spawn(move || to.send(n * 10).unwrap());
/// }
/// let mut alternation = Alternation::fair();
/// let mut came: Vec<_> = (0..3).map(|_| loop {
///     if let (n, Ok(value)) = alternation.recv(&mut receivers) {
///         break (n, value);
///     }
/// }).collect();
/// came.sort();
/// assert_eq!(came, [(0, 0), (1, 10), (2, 20)]);
/// ```
pub struct Alternation<T> {
    order: Order,
    /// Where the next round begins to look, if fair: behind the last that was chosen.
    next: usize,
    /// So many rounds have found that a sender is gone, one after the other.
    fruitless: usize,
    guards: Vec<Guard>,
    values: Vec<UnsafeCell<MaybeUninit<T>>>,
}

// SAFETY: between rounds it holds nothing.
unsafe impl<T> Send for Alternation<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Alternation<T> {}

/// What one round chose.
type Received<T> = (usize, Result<T, RecvError>);

impl<T> Alternation<T> {
    /// Round robin: with `n` receivers, one that is ready is chosen within `n` rounds.
    pub fn fair() -> Self {
        Alternation::new(Order::Fair)
    }

    /// Prefers the first.
    pub fn prioritised() -> Self {
        Alternation::new(Order::Priority)
    }

    fn new(order: Order) -> Self {
        Alternation { order, next: 0, fruitless: 0, guards: Vec::new(), values: Vec::new() }
    }

    /// Waits until one is ready, and receives from it. Returns its place in the array.
    ///
    /// # Errors
    /// Inside: that one's sender is gone, or its channel poisoned. It stays ready, then: see
    /// [`recv_if`](Self::recv_if) to leave it out.
    ///
    /// # Panics
    /// Inside a task; and if there are none.
    #[track_caller]
    pub fn recv(&mut self, receivers: &mut [Receiver<T>]) -> Received<T> {
        self.round(receivers, |_| true, None).expect("there is no deadline")
    }

    /// As [`recv`](Self::recv), from those for whose places `open` says true.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// Inside a task; and if none is open.
    #[track_caller]
    pub fn recv_if(&mut self, receivers: &mut [Receiver<T>], open: impl Fn(usize) -> bool) -> Received<T> {
        self.round(receivers, open, None).expect("there is no deadline")
    }

    /// As [`recv_if`](Self::recv_if); `None` if none is ready by `deadline`.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub fn recv_until(
        &mut self,
        receivers: &mut [Receiver<T>],
        open: impl Fn(usize) -> bool,
        deadline: Instant,
    ) -> Option<Received<T>> {
        self.round(receivers, open, Some(deadline))
    }

    #[track_caller]
    fn round(
        &mut self,
        receivers: &mut [Receiver<T>],
        open: impl Fn(usize) -> bool,
        deadline: Option<Instant>,
    ) -> Option<Received<T>> {
        // Before the look: who is always ready, as an ended channel is, is received from without a wait.
        counted_point("csp::alt");
        let first = if self.next < receivers.len() { self.next } else { 0 };
        let received = match look(receivers, first, &open) {
            Some(received) => received,
            None => self.wait(receivers, first, &open, deadline)?,
        };
        if self.order == Order::Fair {
            self.next = received.0 + 1;
        }
        self.fruitless = if received.1.is_err() { self.fruitless + 1 } else { 0 };
        // Each can end once. Who asks again and again would have those that are left send one message a time slice.
        if self.fruitless > receivers.len() {
            self.fruitless = 0;
            give_way();
        }
        Some(received)
    }

    /// Nobody is ready.
    #[track_caller]
    fn wait(
        &mut self,
        receivers: &mut [Receiver<T>],
        first: usize,
        open: &dyn Fn(usize) -> bool,
        deadline: Option<Instant>,
    ) -> Option<Received<T>> {
        let count = receivers.len();
        self.values.resize_with(count, || UnsafeCell::new(MaybeUninit::uninit()));
        self.guards.clear();
        for (number, receiver) in receivers.iter().enumerate() {
            let guard =
                if open(number) { Guard::channel(receiver.word(), chan::take::<T>) } else { Guard::closed() };
            guard.aim(self.values[number].get().cast());
            self.guards.push(guard);
        }
        self.guards.extend(deadline.map(Guard::at));
        // SAFETY: they stay where they are until this function has returned.
        let all = unsafe { FirstOf::new(&self.guards) };
        let wait = Wait::on(const { &RECV }, &all, Location::caller());
        // SAFETY: `receivers` is borrowed mutably, so that nobody else uses them; each guard aims at a place of its
        // own.
        let ready = unsafe { alternate::choose_now(&self.guards, first, &wait) };
        let Ready { guard, over } = ready;
        if guard == count {
            return None;
        }
        let place: *mut T = self.values[guard].get().cast();
        // SAFETY: it was handed over to this place, which is filled anew before it is read again.
        let value = || unsafe { place.read() };
        Some((guard, if over { Err(RecvError) } else { Ok(value()) }))
    }
}

/// Receives from the first that is ready now, from `first` on and round.
fn look<T>(receivers: &mut [Receiver<T>], first: usize, open: &dyn Fn(usize) -> bool) -> Option<Received<T>> {
    let count = receivers.len();
    for step in 0..count {
        let number = if first + step < count { first + step } else { first + step - count };
        if receivers[number].word().is_empty() || !open(number) {
            continue;
        }
        let mut value = MaybeUninit::<T>::uninit();
        let ours = value.as_mut_ptr().cast();
        // SAFETY: the receiver is borrowed mutably; `value` is a place for a `T`.
        match unsafe { meet::try_meet(receivers[number].word(), ours, chan::take::<T>) } {
            // SAFETY: it was handed over.
            Ok(()) => return Some((number, Ok(unsafe { value.assume_init() }))),
            Err(Refused::Over) => return Some((number, Err(RecvError))),
            Err(Refused::Nobody) => {}
        }
    }
    None
}

impl<T> fmt::Debug for Alternation<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alternation").field("order", &self.order).finish_non_exhaustive()
    }
}
