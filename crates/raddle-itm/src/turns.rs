//! Owns: in which order those get the clock who must have it: before all others.
//! May use: `clock`, `prim`, `loom`.
//! Never: making a transaction right: without a turn it would be, too.
//!
//! A transaction that has failed too often, or that does what cannot be undone, draws a number and waits for its turn.
//! Who wants to commit lets those go first who have drawn one before it. So each transaction gets the clock in the end.

use crate::clock::CommitClock;
use crate::prim::{AtomicU32, Ordering, sleep_at, wake_at};

/// The clock of all transactions of the program.
pub(crate) static CLOCK: CommitClock = CommitClock::new();

static TURNS: CommitTurns =
    CommitTurns { next: AtomicU32::new(0), served: AtomicU32::new(0), sleepers: AtomicU32::new(0) };

#[repr(align(128))]
struct CommitTurns {
    next: AtomicU32,
    served: AtomicU32,
    sleepers: AtomicU32,
}

/// The caller has the clock from its turn on, at the moment that is returned.
pub(crate) fn take() -> u64 {
    wait_for(TURNS.next.fetch_add(1, Ordering::Relaxed));
    loop {
        let moment = CLOCK.now();
        if CLOCK.lock(moment) {
            return moment;
        }
    }
}

/// The turn is the next one's, and the clock anybody's.
pub(crate) fn end(moment: u64) {
    CLOCK.unlock(moment);
    TURNS.served.fetch_add(1, Ordering::SeqCst); // pairs with the loads in `wait_for`
    // Either it sees who sleeps, or that one sees the new number.
    if TURNS.sleepers.load(Ordering::SeqCst) != 0 {
        wake_at(TURNS.served.as_ptr());
    }
}

/// In a child of `fork` nobody else is left who could have drawn a number: only the caller, if it `has_one`.
pub(crate) fn forget_others(has_one: bool) {
    let served = TURNS.served.load(Ordering::Relaxed);
    TURNS.next.store(served.wrapping_add(u32::from(has_one)), Ordering::Relaxed);
    TURNS.sleepers.store(0, Ordering::Relaxed);
}

/// Lets those commit first who have drawn a number.
#[inline(always)]
pub(crate) fn let_go_first() {
    let next = TURNS.next.load(Ordering::Relaxed);
    if TURNS.served.load(Ordering::Relaxed) != next {
        wait_for(next);
    }
}

/// Until all before `number` had their turn.
#[cold]
fn wait_for(number: u32) {
    let is_before = |served: u32| served.wrapping_sub(number).cast_signed() < 0;
    if !is_before(TURNS.served.load(Ordering::Relaxed)) {
        return;
    }
    TURNS.sleepers.fetch_add(1, Ordering::SeqCst); // pairs with the load in `end`
    loop {
        let served = TURNS.served.load(Ordering::SeqCst); // pairs with the addition in `end`
        if !is_before(served) {
            break;
        }
        sleep_at(TURNS.served.as_ptr(), served);
    }
    TURNS.sleepers.fetch_sub(1, Ordering::Relaxed);
}
