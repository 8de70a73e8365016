//! Owns: where who is woken goes, and what a worker remembers of whom it has put first, and was given.
//! May use: nothing.
//! Never: a decision; these are `first`'s and `hunger`'s.

use std::cell::Cell;

/// So long a worker looks out at most, ns.
pub(super) const MOST_NS: u64 = 50_000;
/// What keeps it busy for less, on the mean, costs more than it brings: the lines of a channel go from core to core.
pub(super) const PROFIT_NS: u64 = 5_000;
/// Operations are rare if each of them comes with so much other work.
pub(super) const RARE_NS: u64 = 700;
/// That is found out once in so long.
pub(super) const WINDOW_NS: u64 = 200_000;

/// Where a process goes that may move and is woken by somebody on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeTo {
    /// To its waker, and waits behind all others.
    Here,
    /// To its waker, and has the next turn, for slices are long there.
    First,
    /// To a worker that sleeps, if there is one, else to its waker.
    Apart,
    /// To the worker of this number.
    Worker(usize),
}

/// What a worker knows of those that it has put first.
pub(super) struct First {
    /// How many there have been, ever.
    pub(super) put: Cell<usize>,
    /// Up to here stand such in the ready list.
    pub(super) until: Cell<usize>,
    /// How many others had been taken when the last of them came.
    pub(super) others: Cell<usize>,
    /// How many have come since.
    pub(super) in_a_row: Cell<usize>,
}

impl First {
    pub(super) fn new() -> First {
        let zero = || Cell::new(0);
        First { put: zero(), until: zero(), others: zero(), in_a_row: zero() }
    }

    /// One more has come: they stand up to here.
    pub(super) fn note(&self, until: usize) {
        self.until.set(until);
        self.put.set(self.put.get().wrapping_add(1));
        self.in_a_row.set(self.in_a_row.get() + 1);
    }
}

/// What a worker remembers of its hunger.
pub(super) struct Hunger {
    /// How long it looks out next time.
    pub(super) budget_ns: Cell<u64>,
    /// Since when it has had what it was given, until it has run dry; 0 if it was not.
    pub(super) fed_ns: Cell<u64>,
    /// For how long it was kept busy by that, as a mean that forgets.
    pub(super) lasts_ns: Cell<u64>,
    /// How many operations that did not wait there have been in so long a time.
    pub(super) operations: Cell<u64>,
    pub(super) in_ns: Cell<u64>,
    /// And before: whether there were so few that other work takes most of the time.
    pub(super) are_rare: Cell<bool>,
}

impl Hunger {
    pub(super) fn new() -> Hunger {
        Hunger {
            budget_ns: Cell::new(MOST_NS),
            fed_ns: Cell::new(0),
            lasts_ns: Cell::new(2 * PROFIT_NS),
            operations: Cell::new(0),
            in_ns: Cell::new(0),
            are_rare: Cell::new(true),
        }
    }

    /// Another batch has taken so long.
    pub(super) fn note_time(&self, elapsed_ns: u64) {
        let in_ns = self.in_ns.get().saturating_add(elapsed_ns);
        if in_ns < WINDOW_NS {
            return self.in_ns.set(in_ns);
        }
        self.are_rare.set(in_ns / (self.operations.replace(0) + 1) >= RARE_NS);
        self.in_ns.set(0);
    }

    /// At `now` it has run dry.
    pub(super) fn note_dry(&self, now: u64) {
        let fed_ns = self.fed_ns.replace(0);
        if fed_ns > 0 {
            let lasted = now.saturating_sub(fed_ns).min(8 * PROFIT_NS);
            self.lasts_ns.set((3 * self.lasts_ns.get() + lasted) / 4);
        }
    }
}
