//! Owns: the choice: `select` agrees on one of several operations, `ready` finds one that is possible.
//! May use: `channel::core`, `channel::list`, `host`, `raddle-core`, `raddle-protocol`.
//! Never: a lock of two channels at once; no order of locks has to be kept.
//!
//! A selection looks at the notes of all channels, without their locks, and agrees on one of those that say yes. If
//! there is none it opens a wait, puts an entry into the queue of each channel, and sleeps; the first to select wins,
//! and when it wakes it takes its entries out again. An operation that turns out to be possible while the entries are
//! put in ends the wait by the same word, if nobody was first, and everything starts over: the attempt that follows
//! also takes entries out whose owners were selected elsewhere, so it gets further each time.

use super::super::core::Side;
use super::super::list::{Left, WaitEntry};
use super::operation::{Operation, Room};
use crate::host::choice::{count, now, point};
use crate::host::region;
use crate::host::{CallOn, EXPIRED, FirstOf, Guarded, Outcome, Thing, Wait, WaitReason, Waiter};
use raddle_protocol::order;
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const SELECT: CallOn<FirstOf> = CallOn::new("channel::select", WaitReason::Select);

/// The outcome of a wait that its owner ends before it sleeps. Each number below is the outcome of a case.
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
    /// Which end of which channel it is, by which a completion is checked.
    pub(super) end: CaseEnd,
    /// The number that its user knows it by.
    pub(super) index: usize,
    note: Option<(&'a AtomicU32, u32)>,
    entry: WaitEntry,
    room: Room,
}

/// One end of a channel: a completion with a clone of the end is as good as with the one that was selected.
///
/// While somebody holds an end, by reference, the address is this channel's: no other, of another type, can lie there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CaseEnd {
    pub(super) channel: *const (),
    pub(super) side: Side,
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
    pub(super) fn new(operation: &'a dyn Operation, side: Side, index: usize) -> Self {
        let end = CaseEnd { channel: operation.channel(), side };
        Case { operation, end, index, note: operation.note(), entry: WaitEntry::new(), room: Room::new() }
    }

    pub(super) fn copy(&self) -> Case<'a> {
        Case::new(self.operation, self.end.side, self.index)
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

/// One that is possible. The note may say so of one that is not: the peer whom it counts has been selected elsewhere,
/// and has not taken its entry out yet. A claim finds that out; who claims nothing has to ask.
fn find_possible(cases: &[Case<'_>], biased: bool) -> Option<usize> {
    let first = choose(cases, biased)?;
    let order = (first..cases.len()).chain(0..first);
    order.into_iter().find(|at| cases[*at].seems_possible() && cases[*at].operation.is_possible())
}

/// The order in which the waits of the cases are registered: from any of them, by steps of any size, to all.
///
/// A peer serves the oldest wait at its channel: of two cases at one channel the one that is registered first. Since
/// each step is as likely forward as backward, that is either, as often; of several, each about as often.
#[derive(Clone, Copy)]
struct Turns {
    cases: usize,
    first: usize,
    /// Has no factor in common with the number of cases.
    step: usize,
}

impl Turns {
    fn of(cases: usize, biased: bool) -> Turns {
        const PRIMES: [usize; 8] = [1, 3, 5, 7, 11, 13, 17, 19];
        if biased || cases < 2 {
            return Turns { cases, first: 0, step: 1 };
        }
        let which = random(2 * PRIMES.len());
        let prime = PRIMES[which / 2];
        let forward = if prime < cases && !cases.is_multiple_of(prime) { prime } else { 1 };
        let step = if which.is_multiple_of(2) { forward } else { cases - forward };
        Turns { cases, first: random(cases), step }
    }

    fn each(self) -> impl Iterator<Item = usize> {
        let mut at = self.first;
        (0..self.cases).map(move |_| {
            let this = at;
            at += self.step;
            if at >= self.cases {
                at -= self.cases;
            }
            this
        })
    }
}

/// Agrees on one of the operations; `None` if the time is over.
#[track_caller]
pub(super) fn select(cases: &mut [Case<'_>], until: Until, biased: bool) -> Option<Agreed> {
    point("channel::select");
    loop {
        if until == Until::Now {
            order::SHORT_LOOK_FENCE();
        }
        // PERF: after the fence, which waits for each store before it.
        count();
        if let Some(agreed) = agree(cases, biased) {
            return Some(agreed);
        }
        if is_over(until) {
            return None;
        }
        if let Some(agreed) = wait(cases, deadline(cases, until), biased) {
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
        count();
        if let Some(at) = find_possible(cases, biased) {
            return Some(cases[at].index);
        }
        if is_over(until) {
            return None;
        }
        if let Some(at) = watch(cases, deadline(cases, until), biased) {
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
fn wait(cases: &[Case<'_>], deadline: Option<Instant>, biased: bool) -> Option<Agreed> {
    let enqueue = |case: &Case<'_>, waiter: &Waiter, outcome: u32| {
        // SAFETY: `wait_in` takes the entries out again before it returns.
        unsafe { case.operation.enqueue(&case.entry, waiter, &case.room, outcome) }
    };
    let turns = Turns::of(cases.len(), biased);
    let at = wait_in(cases, turns, deadline, enqueue, |case| case.operation.dequeue(&case.entry))?;
    let case = &cases[at];
    Some(Agreed { at, left: case.entry.left(), room: case.room.copy() })
}

/// Waits until something has become possible. `None` if it is to be looked once more.
#[track_caller]
fn watch(cases: &[Case<'_>], deadline: Option<Instant>, biased: bool) -> Option<usize> {
    let watch = |case: &Case<'_>, waiter: &Waiter, outcome: u32| {
        // SAFETY: `wait_in` takes the entries out again before it returns.
        unsafe { case.operation.watch(&case.entry, waiter, outcome) }
    };
    wait_in(cases, Turns::of(cases.len(), biased), deadline, watch, |case| {
        case.operation.unwatch(&case.entry)
    })
}

/// Puts an entry of each case somewhere, waits, and takes them out again. The case that was selected, if one was.
#[track_caller]
fn wait_in(
    cases: &[Case<'_>],
    turns: Turns,
    deadline: Option<Instant>,
    put_in: impl Fn(&Case<'_>, &Waiter, u32) -> bool,
    take_out: impl Fn(&Case<'_>),
) -> Option<usize> {
    assert!(cases.len() <= POSSIBLE as usize, "a selection waits for at most {POSSIBLE} operations at once");
    // SAFETY: they stay where they are until this function has returned.
    let all = unsafe { FirstOf::new(cases) };
    let wait = Wait::on(const { &SELECT }, &all, Location::caller());
    let _shown = wait.show();
    let waiter = Waiter::new(SELECT.call());
    // The outcome is the number of the case. No need to look for an outcome in between: that is for the wait.
    let possible = turns.each().position(|at| !put_in(&cases[at], &waiter, at as u32));
    let waiting = possible.unwrap_or(cases.len());
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
    turns.each().take(waiting).filter(|at| Some(*at) != selected).for_each(|at| take_out(&cases[at]));
    if outcome == Outcome::Expired {
        region::check();
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_one_turn() {
        for cases in 1..200 {
            for biased in [true, false, false, false] {
                let mut turns: Vec<_> = Turns::of(cases, biased).each().collect();
                assert!(!biased || turns.is_sorted());
                turns.sort_unstable();
                assert!(turns.into_iter().eq(0..cases));
            }
        }
    }
}
