//! Owns: the tests that record all attempts of many transactions, and have them judged.
//! May use: `algorithm`, `atomically`, `chaos`, `stop`, `tvar`, `tx`.
//! Never: an attempt that is left out.

use super::history::{Attempt, judge};
use super::{Chance, on_threads};
use crate::{Algorithm, Stop, StopOr, TVar, Tx, abort, read_only};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A variable of each kind: a word, two words, a box.
enum Variable {
    Word(TVar<u64>),
    Pair(TVar<(u64, u64)>),
    Boxed(TVar<Arc<u64>>),
}

impl Variable {
    fn new(number: usize) -> Variable {
        match number % 3 {
            0 => Variable::Word(TVar::new(0)),
            1 => Variable::Pair(TVar::new((0, 0))),
            _ => Variable::Boxed(TVar::new(Arc::new(0))),
        }
    }

    fn read(&self, tx: &mut Tx<'_>) -> Result<u64, Stop> {
        match self {
            Variable::Word(word) => tx.read(word),
            Variable::Pair(pair) => {
                let (first, second) = tx.read(pair)?;
                assert_eq!(first, second, "a value is torn");
                Ok(first)
            }
            Variable::Boxed(boxed) => tx.with(boxed, |value| **value),
        }
    }

    fn write(&self, tx: &mut Tx<'_>, value: u64) -> Result<(), Stop> {
        match self {
            Variable::Word(word) => tx.write(word, value),
            Variable::Pair(pair) => tx.write(pair, (value, value)),
            Variable::Boxed(boxed) => tx.write(boxed, Arc::new(value)),
        }
    }
}

/// What is shared, and the counter of stamps.
struct World {
    variables: Vec<Variable>,
    stamps: AtomicU64,
}

impl World {
    fn new(variables: usize) -> Arc<World> {
        let variables = (0..variables).map(Variable::new).collect();
        Arc::new(World { variables, stamps: AtomicU64::new(1) })
    }

    fn stamp(&self) -> u64 {
        // Pairs with itself: who gets a later stamp sees what was done before the earlier one.
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }
}

/// One thread's record.
struct ThreadRecord<'w> {
    world: &'w World,
    attempts: RefCell<Vec<Attempt>>,
    next_value: RefCell<u64>,
}

impl ThreadRecord<'_> {
    fn new(world: &World, thread: usize) -> ThreadRecord<'_> {
        let next_value = RefCell::new(1 + thread as u64 * (1 << 32));
        ThreadRecord { world, attempts: RefCell::default(), next_value }
    }

    /// The last attempt is over, and another may begin.
    fn end(&self, has_committed: bool) {
        if let Some(last) = self.attempts.borrow_mut().last_mut()
            && last.end == 0
        {
            last.end = self.world.stamp();
            last.has_committed = has_committed;
        }
    }

    fn begin(&self) {
        self.end(false);
        self.attempts.borrow_mut().push(Attempt { begin: self.world.stamp(), ..Attempt::default() });
    }

    /// Reads one, and writes down what came, unless it was its own.
    fn read(&self, tx: &mut Tx<'_>, at: usize) -> Result<u64, Stop> {
        let value = self.world.variables[at].read(tx)?;
        let mut attempts = self.attempts.borrow_mut();
        let attempt = attempts.last_mut().expect("one is under way");
        let own = attempt.writes.iter().find(|(written, _)| *written == at);
        match own {
            Some((_, written)) => assert_eq!(value, *written, "its own write is not seen"),
            None => attempt.reads.push((at, value)),
        }
        Ok(value)
    }

    /// Writes a new value to one, which it has read.
    fn update(&self, tx: &mut Tx<'_>, at: usize) -> Result<(), Stop> {
        self.read(tx, at)?;
        let value = self.next_value.replace_with(|value| *value + 1);
        self.world.variables[at].write(tx, value)?;
        let mut attempts = self.attempts.borrow_mut();
        let attempt = attempts.last_mut().expect("one is under way");
        attempt.writes.retain(|(written, _)| *written != at);
        attempt.writes.push((at, value));
        Ok(())
    }

    /// What is written in `branch` is rolled back, and so is what was written down of it.
    fn rolled_back(&self, tx: &mut Tx<'_>, at: usize) -> Result<(), Stop> {
        let writes = self.attempts.borrow().last().expect("one is under way").writes.clone();
        tx.or_else(
            |tx| {
                self.update(tx, at)?;
                tx.retry()
            },
            |_| {
                self.attempts.borrow_mut().last_mut().expect("one is under way").writes = writes;
                Ok(())
            },
        )
    }

    /// Does something by chance.
    fn act(&self, tx: &mut Tx<'_>, chance: &mut Chance) -> Result<(), StopOr<()>> {
        self.begin();
        for _ in 0..=chance.below(5) {
            let at = chance.below(self.world.variables.len());
            match chance.below(8) {
                0..4 => drop(self.read(tx, at)?),
                4..7 => self.update(tx, at)?,
                _ => self.rolled_back(tx, at)?,
            }
            crate::chaos::point();
        }
        if chance.below(16) == 0 { abort(()) } else { Ok(()) }
    }
}

/// The history of so many transactions of each thread, each by one of `kinds`.
fn history(
    kinds: &'static [Algorithm],
    threads: usize,
    variables: usize,
    transactions: usize,
    seed: u64,
) -> Vec<Attempt> {
    let world = World::new(variables);
    let attempts = on_threads(threads, seed, move |thread| {
        let record = ThreadRecord::new(&world, thread);
        let mut chance = Chance::new(seed * 64 + thread as u64 + 1);
        for _ in 0..transactions {
            let by = kinds[chance.below(kinds.len())];
            let done = by.atomically_or_err(|tx| record.act(tx, &mut chance));
            record.end(done.is_ok());
            audit(&record, &mut chance);
        }
        record.attempts.into_inner()
    });
    attempts.concat()
}

/// Now and then one that only reads, all variables.
fn audit(record: &ThreadRecord<'_>, chance: &mut Chance) {
    if chance.below(8) != 0 {
        return;
    }
    read_only(|tx| {
        record.begin();
        (0..record.world.variables.len()).try_for_each(|at| record.read(tx.0, at).map(drop))
    });
    record.end(true);
}

#[track_caller]
fn check(
    kinds: &'static [Algorithm],
    (threads, variables, transactions): (usize, usize, usize),
    seeds: std::ops::Range<u64>,
) {
    for seed in seeds {
        let history = history(kinds, threads, variables, transactions, seed);
        if let Err(wrong) = judge(&history) {
            panic!("seed {seed}: {wrong}");
        }
    }
}

#[test]
fn what_two_threads_see_is_of_one_order() {
    check(&[Algorithm::Versioned], (2, 3, 1000), 1..6);
}

#[test]
fn what_many_threads_see_is_of_one_order() {
    check(&[Algorithm::Versioned], (8, 6, 250), 6..10);
}

#[test]
fn what_transactions_by_value_see_is_of_one_order() {
    check(&[Algorithm::Norec], (4, 4, 300), 10..13);
}

#[test]
fn what_pessimistic_transactions_see_is_of_one_order() {
    check(&[Algorithm::Pessimistic], (4, 4, 300), 13..16);
}

#[test]
fn what_transactions_of_all_kinds_see_is_of_one_order() {
    check(ALL, (4, 4, 400), 16..22);
}

const ALL: &[Algorithm] = &[Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];

/// A hundred thousand transactions of two threads. No pauses: the processor's own order.
fn check_quick(kinds: &'static [Algorithm], seed: u64) {
    let world = World::new(4);
    let attempts = on_threads(2, 0, move |thread| {
        let record = ThreadRecord::new(&world, thread);
        let mut chance = Chance::new(seed * 64 + thread as u64 + 1);
        for _ in 0..50_000 {
            let by = kinds[chance.below(kinds.len())];
            let done = by.atomically_or_err(|tx| record.act(tx, &mut chance));
            record.end(done.is_ok());
        }
        record.attempts.into_inner()
    });
    let history = attempts.concat();
    assert!(history.len() >= 100_000);
    if let Err(wrong) = judge(&history) {
        panic!("seed {seed}: {wrong}");
    }
}

#[test]
fn what_a_hundred_thousand_transactions_see_is_of_one_order() {
    check_quick(&[Algorithm::Versioned], 0);
}

/// So many times by `RADDLE_FUZZ_ROUNDS`, 2 else; with 1000 they are a hundred million attempts.
#[test]
fn what_a_hundred_thousand_transactions_of_all_kinds_see_is_of_one_order() {
    let rounds = std::env::var("RADDLE_FUZZ_ROUNDS").map_or(2, |rounds| rounds.parse().expect("a number"));
    for seed in 1..=rounds {
        check_quick(ALL, seed);
    }
}
