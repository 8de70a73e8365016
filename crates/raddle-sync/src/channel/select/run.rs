//! Owns: the choice: `select` agrees on one of several operations, `ready` finds one that is possible.
//! May use: `channel::list`, `host`, `raddle-core`, `raddle-protocol`.
//! Never: a lock of two channels at once; no order of locks has to be kept.
//!
//! A selection looks at the notes of all channels, without their locks, and agrees on one of those that say yes. If
//! there is none it opens a wait, puts an entry into the queue of each channel, and sleeps; the first to select wins,
//! and when it wakes it takes its entries out again. An operation that turns out to be possible while the entries are
//! put in ends the wait by the same word, if nobody was first, and everything starts over: the attempt that follows
//! also takes entries out whose owners were selected elsewhere, so it gets further each time.

use super::super::list::{Entry, Left};
use super::operation::{Operation, Room};
use crate::host::choice::{now, point};
use crate::host::region;
use crate::host::{CallOn, EXPIRED, FirstOf, Guarded, Outcome, Thing, Wait, Waiter};
use raddle_protocol::order;
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const SELECT: CallOn<FirstOf> = CallOn::new("channel::select");

/// The outcome of a wait that its owner ends before it sleeps.
const POSSIBLE: u32 = EXPIRED - 1;

/// How long a selection may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Not at all.
    Now,
    /// Until this moment.
    At(Instant),
    /// Until something is possible.
    Possible,
}

/// One of the operations to choose from.
pub struct Case<'a> {
    pub(super) operation: &'a dyn Operation,
    /// The address of the end, by which a completion is checked.
    pub(super) end: *const (),
    /// The number that its user knows it by.
    pub(super) index: usize,
    note: Option<(&'a AtomicU32, u32)>,
    entry: Entry,
    room: Room,
}

impl Guarded for Case<'_> {
    fn thing(&self) -> Option<Thing> {
        self.operation.thing()
    }
}

// SAFETY: entry and room are in use during a call only that has the case by `&mut`.
unsafe impl Send for Case<'_> {}
// SAFETY: as above.
unsafe impl Sync for Case<'_> {}

/// What a selection has agreed on.
pub(super) struct Agreed {
    /// Which case.
    pub(super) at: usize,
    pub(super) left: Left,
    pub(super) room: Room,
}

impl<'a> Case<'a> {
    pub(super) fn new(operation: &'a dyn Operation, end: *const (), index: usize) -> Self {
        Case { operation, end, index, note: operation.note(), entry: Entry::new(), room: Room::new() }
    }

    pub(super) fn copy(&self) -> Case<'a> {
        Case::new(self.operation, self.end, self.index)
    }

    #[inline]
    fn seems_possible(&self) -> bool {
        match self.note {
            Some((note, bit)) => note.load(Ordering::Relaxed) & bit != 0,
            None => self.operation.clock().is_some_and(|clock| clock.is_ready()),
        }
    }

    #[inline]
    fn claim(&self, at: usize) -> Option<Agreed> {
        let left = self.operation.claim(&self.room)?;
        Some(Agreed { at, left, room: self.room.copy() })
    }
}

/// A number below `below`, another each time.
fn random(below: usize) -> usize {
    if let Some(chosen) = crate::host::choice::choose(below) {
        return chosen;
    }
    thread_local!(static STATE: Cell<u32> = const { Cell::new(0x9e37_79b9) });
    let next = STATE.with(|state| {
        // Marsaglia's xorshift of 32 bits.
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        state.set(x);
        x
    });
    ((u64::from(next) * below as u64) >> 32) as usize
}

/// One of those that seem possible: the first, or any, each as likely as the others.
#[inline]
fn choose(cases: &[Case<'_>], biased: bool) -> Option<usize> {
    let mut seeming = cases.iter().enumerate().filter(|(_, case)| case.seems_possible()).map(|(at, _)| at);
    let mut chosen = seeming.next()?;
    if !biased {
        let mut seen = 1;
        for other in seeming {
            seen += 1;
            if random(seen) + 1 == seen {
                chosen = other;
            }
        }
    }
    Some(chosen)
}

/// Agrees on an operation that is possible now.
#[inline]
fn agree(cases: &[Case<'_>], biased: bool) -> Option<Agreed> {
    let first = choose(cases, biased)?;
    cases[first].claim(first).or_else(|| agree_late(cases, first))
}

/// Somebody was faster at the one that was chosen: the next after it, round to itself.
#[cold]
fn agree_late(cases: &[Case<'_>], first: usize) -> Option<Agreed> {
    let order = (first + 1..cases.len()).chain(0..=first);
    order.filter(|at| cases[*at].seems_possible()).find_map(|at| cases[at].claim(at))
}

/// Agrees on one of the operations; `None` if the time is over.
#[track_caller]
pub(super) fn select(cases: &mut [Case<'_>], until: Until, biased: bool) -> Option<Agreed> {
    point("channel::select");
    loop {
        if until == Until::Now {
            order::SHORT_LOOK_FENCE();
        }
        if let Some(agreed) = agree(cases, biased) {
            return Some(agreed);
        }
        if is_over(until) {
            return None;
        }
        if let Some(agreed) = wait(cases, deadline(cases, until)) {
            return Some(agreed);
        }
    }
}

/// Finds one of the operations that is possible; `None` if the time is over.
#[track_caller]
pub(super) fn ready(cases: &mut [Case<'_>], until: Until, biased: bool) -> Option<usize> {
    point("channel::Select::ready");
    loop {
        if until == Until::Now {
            order::SHORT_LOOK_FENCE();
        }
        if let Some(at) = choose(cases, biased) {
            return Some(cases[at].index);
        }
        if is_over(until) {
            return None;
        }
        if let Some(at) = watch(cases, deadline(cases, until)) {
            return Some(cases[at].index);
        }
    }
}

fn is_over(until: Until) -> bool {
    match until {
        Until::Now => true,
        Until::At(deadline) => now() >= deadline,
        Until::Possible => false,
    }
}

/// When to look again at the latest: the deadline, or the time of a clock.
fn deadline(cases: &[Case<'_>], until: Until) -> Option<Instant> {
    let clocks = cases.iter().filter(|case| case.note.is_none());
    let times = clocks.filter_map(|case| case.operation.clock()?.next());
    let deadline = if let Until::At(deadline) = until { Some(deadline) } else { None };
    times.chain(deadline).min()
}

/// Waits in all queues. `None` if it is to be tried once more.
#[track_caller]
fn wait(cases: &[Case<'_>], deadline: Option<Instant>) -> Option<Agreed> {
    let enqueue = |case: &Case<'_>, waiter: &Waiter, outcome: u32| {
        // SAFETY: `wait_in` takes the entries out again before it returns.
        unsafe { case.operation.enqueue(&case.entry, waiter, &case.room, outcome) }
    };
    let at = wait_in(cases, deadline, enqueue, |case| case.operation.dequeue(&case.entry))?;
    let case = &cases[at];
    Some(Agreed { at, left: case.entry.left(), room: case.room.copy() })
}

/// Waits until something has become possible. `None` if it is to be looked once more.
#[track_caller]
fn watch(cases: &[Case<'_>], deadline: Option<Instant>) -> Option<usize> {
    let watch = |case: &Case<'_>, waiter: &Waiter, outcome: u32| {
        // SAFETY: `wait_in` takes the entries out again before it returns.
        unsafe { case.operation.watch(&case.entry, waiter, outcome) }
    };
    wait_in(cases, deadline, watch, |case| case.operation.unwatch(&case.entry))
}

/// Puts an entry of each case somewhere, waits, and takes them out again. The case that was selected, if one was.
#[track_caller]
fn wait_in(
    cases: &[Case<'_>],
    deadline: Option<Instant>,
    put_in: impl Fn(&Case<'_>, &Waiter, u32) -> bool,
    take_out: impl Fn(&Case<'_>),
) -> Option<usize> {
    // SAFETY: they stay where they are until this function has returned.
    let all = unsafe { FirstOf::new(cases) };
    let wait = Wait::on(const { &SELECT }, &all, Location::caller());
    let _shown = wait.show();
    let waiter = Waiter::new(SELECT.name());
    let numbered = || cases.iter().zip(0_u32..);
    // No need to look for an outcome in between: that is for the wait.
    let possible = numbered().find(|(case, number)| !put_in(case, &waiter, *number));
    let waiting = possible.map_or(cases.len(), |(_, number)| number as usize);
    if possible.is_some() {
        // Nobody sleeps here: there is nobody to wake.
        let _right = waiter.try_select(POSSIBLE);
    }
    let outcome = waiter.wait(deadline);
    let selected = match outcome {
        Outcome::Selected(POSSIBLE) | Outcome::Expired => None,
        Outcome::Selected(number) => Some(number as usize),
    };
    // The selected one has been taken out by whoever selected it.
    let mut others = cases[..waiting].iter().enumerate().filter(|(at, _)| Some(*at) != selected);
    others.by_ref().for_each(|(_, case)| take_out(case));
    if outcome == Outcome::Expired {
        region::check();
    }
    selected
}
