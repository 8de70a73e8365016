//! Owns: loom's models of the protocols: every interleaving of two or three threads, of the code that runs.
//! May use: `protocol`, `loom`.
//! Never: a variable's type, or the scheduler.
//!
//! Each mistake that an interleaving can show is made in turn, in a process of its own, and some model must fail.

mod gate;
mod mistakes;
mod reserve;
mod slots;
mod versions;
mod watch;

use crate::protocol::clock::VersionClock;
use crate::protocol::commit::{Refusal, Write, are_of, commit, read, read_of};
use crate::protocol::reserve::Reservation;
use crate::protocol::word::{Seen, Word};
use loom::sync::atomic::{AtomicU64, Ordering};

/// Runs a model. `preemptions` bounds how often a thread that could go on is interrupted in one execution.
fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 5_000;
    builder.check(model);
}

/// A variable with a number in two halves, so that a torn value can be told.
struct Variable {
    word: Word,
    reservation: Reservation,
    halves: [AtomicU64; 2],
}

impl Variable {
    fn new() -> Variable {
        let (word, reservation) = (Word::new(0), Reservation::new());
        Variable { word, reservation, halves: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

    /// Its value, of a snapshot of that time; `None` if there is none to be had.
    fn read(&self, time: u64) -> Option<u64> {
        let load = || self.halves.each_ref().map(|half| half.load(Ordering::Relaxed));
        // As `Tx::look`: the short way first, but of no time that the clock has shown.
        let short = if time == u64::MAX { None } else { read_of(&self.word, time, load) };
        let [first, second] = match short {
            Some(halves) => halves,
            None => {
                let (halves, seen) = read(&self.word, load).ok()?;
                if !seen.is_of(time) {
                    return None;
                }
                halves
            }
        };
        assert_eq!(first, second, "the value is torn");
        Some(first)
    }
}

/// A write of a number.
struct Writing<'v> {
    variable: &'v Variable,
    value: u64,
    before: Seen,
    /// It takes out what was there. One model alone wants that: loom interrupts a load and a store of one thread at the
    /// later one only, and no longer notices half of the mistakes.
    takes: bool,
}

impl Write for Writing<'_> {
    fn word(&self) -> &Word {
        &self.variable.word
    }

    fn before(&self) -> Seen {
        self.before
    }

    fn set_before(&mut self, seen: Seen) {
        self.before = seen;
    }

    fn exchange(&mut self) {
        let halves = &self.variable.halves;
        let taken = if self.takes { halves[0].load(Ordering::Relaxed) } else { self.value };
        halves.iter().for_each(|half| half.store(self.value, Ordering::Relaxed));
        self.value = taken;
    }
}

/// Commits these, of a transaction that has read those at `time`.
fn publish(
    clock: &VersionClock,
    who: (u64, u64),
    writes: &[(&Variable, u64)],
    reads: &[&Variable],
    is_open: impl FnOnce() -> bool,
) -> Result<u64, Refusal> {
    commit_these(clock, who, writes, reads, is_open, false).map(|(version, _)| version)
}

/// As [`publish`], of a transaction that has read nothing; returns what it has taken out of the variables, too.
fn exchange(
    clock: &VersionClock,
    who: (u64, u64),
    writes: &[(&Variable, u64)],
) -> Result<(u64, Vec<u64>), Refusal> {
    commit_these(clock, who, writes, &[], || true, true)
}

fn commit_these(
    clock: &VersionClock,
    who: (u64, u64),
    writes: &[(&Variable, u64)],
    reads: &[&Variable],
    is_open: impl FnOnce() -> bool,
    takes: bool,
) -> Result<(u64, Vec<u64>), Refusal> {
    let writing = |&(variable, value)| Writing { variable, value, before: Seen::NOTHING, takes };
    let mut writes: Vec<_> = writes.iter().map(writing).collect();
    let (time, owner) = who;
    let holds = |_| are_of(time, owner, reads.iter().map(|variable| &variable.word));
    let may = |_: &[Writing<'_>]| if is_open() { Ok(()) } else { Err(Refusal::Closed) };
    let version = commit(clock, who, (&mut writes, false), holds, may)?;
    Ok((version, writes.iter().map(|write| write.value).collect()))
}
