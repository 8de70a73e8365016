//! Owns: the typed face of alternation: guards that hold what they received, and `choose` between them.
//! May use: `raddle-core`.
//! Never: the macros' syntax, which is in `csp::macros`.
//!
//! `alt!` and `pri_alt!` are written with these; so may be what they cannot say. For arrays of receivers there is
//! [`Alternation`](super::Alternation).

use super::alternate::{self, Guard};
use super::chan::{self, Receiver};
use raddle_core::wait::{CallOn, FirstOf, Wait, WaitReason};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::mpsc::RecvError;
use std::time::{Duration, Instant};

/// Which of several ready guards an alternation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It looks from another guard on each time, so that none starves.
    Fair,
    /// The first in the order of the program: occam's `PRI ALT`.
    Priority,
}

impl Order {
    /// Where to look first among `count`.
    ///
    /// Multiples of the golden ratio are spread so evenly that of any `3 * count` successive looks one begins at each
    /// place; what else alternates on this OS thread in between only changes which.
    fn first(self, count: usize) -> usize {
        thread_local! {
            static LOOKS: Cell<u32> = const { Cell::new(0) };
        }
        match self {
            Order::Priority => 0,
            Order::Fair => {
                let look = LOOKS.get().wrapping_add(0x9e37_79b9);
                LOOKS.set(look);
                ((u64::from(look) * count as u64) >> 32) as usize
            }
        }
    }
}

mod sealed {
    /// What every guard has inside.
    pub trait Inside {
        /// Ready to be waited for where it now lies.
        fn guard(&self) -> &super::Guard;
        /// It is the one that was chosen.
        fn choose(&self, over: bool);
    }
}

/// What an alternation waits for: [`RecvGuard`], [`TimeGuard`], [`SkipGuard`].
pub trait Alternative: sealed::Inside {}
impl<G: sealed::Inside> Alternative for G {}

const CHOOSE: CallOn<FirstOf> = CallOn::new("csp::choose", WaitReason::MeetOne);

/// Waits until one of `guards` is ready, completes its communication, and returns its place in the list. If several are
/// ready at once it is by `order`; if none is, the first to become so.
///
/// # Panics
/// Inside a task; and if no guard is open, so that it would wait for ever.
///
/// ```
/// use raddle::csp::{self, Order, RecvGuard, TimeGuard};
/// use std::time::Duration;
/// let (_to, mut from) = csp::channel::<u32>();
/// let (mut message, mut time) = (RecvGuard::new(&mut from), TimeGuard::after(Duration::from_millis(1)));
/// assert_eq!(csp::choose(Order::Fair, [&mut message, &mut time]), 1);
/// assert!(message.received().is_none());
/// ```
///
/// A guard stands in the list once, or it would meet itself:
///
/// ```compile_fail
/// use raddle::csp::{self, Order, RecvGuard};
/// let (_to, mut from) = csp::channel::<u32>();
/// let mut message = RecvGuard::new(&mut from);
/// csp::choose(Order::Fair, [&mut message, &mut message]);
/// ```
#[track_caller]
pub fn choose<const N: usize>(order: Order, guards: [&mut dyn Alternative; N]) -> usize {
    let insides = guards.each_ref().map(|guard| guard.guard());
    // SAFETY: they stay where they are until this function has returned.
    let all = unsafe { FirstOf::new(&insides) };
    let wait = Wait::on(const { &CHOOSE }, &all, Location::caller());
    // SAFETY: a guard has a receiver borrowed mutably, which nobody else can use; its value is a place for what it
    // sends; and it is borrowed mutably here, so that it is not moved, and no two are the same.
    let ready = unsafe { alternate::choose(&insides, order.first(N), &wait) };
    guards[ready.guard].choose(ready.over);
    ready.guard
}

/// A guard that receives. If it was chosen, what came is to be taken by [`received`](Self::received): it is not dropped
/// else.
pub struct RecvGuard<'a, T> {
    guard: Guard,
    value: UnsafeCell<MaybeUninit<T>>,
    /// Chosen, with a value or because the channel is over.
    chosen: Cell<Option<Result<(), RecvError>>>,
    end: PhantomData<&'a mut Receiver<T>>,
}

// SAFETY: as the receiver that it has borrowed, and the value that came from it.
unsafe impl<T: Send> Send for RecvGuard<'_, T> {}

/// A guard that is ready from a moment on.
pub struct TimeGuard(Guard);

/// A guard that is chosen if no other is ready.
pub struct SkipGuard(Guard);

impl<'a, T> RecvGuard<'a, T> {
    /// Ready when the other end sends, or is gone, or the channel is poisoned.
    pub fn new(receiver: &'a mut Receiver<T>) -> Self {
        RecvGuard::when(true, receiver)
    }

    /// As [`new`](Self::new) if `open`, else never ready.
    pub fn when(open: bool, receiver: &'a mut Receiver<T>) -> Self {
        let guard = if open { Guard::channel(receiver.word(), chan::take::<T>) } else { Guard::closed() };
        RecvGuard {
            guard,
            value: UnsafeCell::new(MaybeUninit::uninit()),
            chosen: Cell::new(None),
            end: PhantomData,
        }
    }

    /// What was received, if this guard was chosen.
    ///
    /// # Errors
    /// Inside: if the sender is gone or the channel poisoned.
    pub fn received(self) -> Option<Result<T, RecvError>> {
        let came = self.chosen.get()?;
        // SAFETY: chosen without an error: the value was handed over, and `self` goes with this.
        Some(came.map(|()| unsafe { self.value.into_inner().assume_init() }))
    }
}

impl<T> sealed::Inside for RecvGuard<'_, T> {
    fn guard(&self) -> &Guard {
        assert!(self.chosen.get().is_none(), "what this guard has received was not taken");
        self.guard.aim(self.value.get().cast());
        &self.guard
    }

    fn choose(&self, over: bool) {
        self.chosen.set(Some(if over { Err(RecvError) } else { Ok(()) }));
    }
}

impl TimeGuard {
    /// Ready from `deadline` on.
    pub fn at(deadline: Instant) -> Self {
        TimeGuard(Guard::at(deadline))
    }

    /// Ready when `timeout` has passed from now.
    pub fn after(timeout: Duration) -> Self {
        TimeGuard::at(chan::after(timeout))
    }

    /// This one if `open`, else one that is never ready.
    #[must_use]
    pub fn when(self, open: bool) -> Self {
        if open { self } else { TimeGuard(Guard::closed()) }
    }
}

impl sealed::Inside for TimeGuard {
    fn guard(&self) -> &Guard {
        &self.0
    }

    fn choose(&self, _over: bool) {}
}

impl SkipGuard {
    /// Chosen if no other is ready, if `open`.
    pub fn when(open: bool) -> Self {
        SkipGuard(if open { Guard::skip() } else { Guard::closed() })
    }
}

impl sealed::Inside for SkipGuard {
    fn guard(&self) -> &Guard {
        &self.0
    }

    fn choose(&self, _over: bool) {}
}

impl<T> fmt::Debug for RecvGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvGuard").field("chosen", &self.chosen.get().is_some()).finish_non_exhaustive()
    }
}

impl fmt::Debug for TimeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeGuard").finish_non_exhaustive()
    }
}

impl fmt::Debug for SkipGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipGuard").finish_non_exhaustive()
    }
}
