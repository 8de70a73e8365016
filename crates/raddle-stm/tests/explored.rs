//! Transactions of processes under the seeds of an exploration.
//!
//! A program of its own, whose tests come one after the other: the clock of transactions and the gate are of the whole
//! program, and a run could not be repeated beside transactions of other tests.

use raddle::csp;
use raddle::explore::{Options, try_explore};
use raddle::task;
use raddle_stm::{Algorithm, TVar, Tx, atomically, atomically_async};
use std::sync::{Mutex, MutexGuard, PoisonError};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its transaction has the token, and one in its body waits for what others are to write, who come to the closed gate
/// meanwhile: to open it may be a wait for its lock, and that is no wait inside of the wait for the variables.
#[test]
fn a_process_that_waits_in_the_body_of_one_that_holds_the_others_up_waits_for_one_thing_at_a_time() {
    let _alone = alone();
    let found = try_explore(Options { iterations: 300, ..Options::default() }, || {
        let (own, ready) = (TVar::new(0), TVar::new(false));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let ready = ready.clone();
                csp::spawn(move || (0..3).for_each(|_| ready.store(true)))
            })
            .collect();
        let mut runs = 0;
        atomically(|tx| {
            runs += 1;
            tx.read(&own)?;
            if runs <= 6 {
                own.store(runs);
            } else {
                atomically(|tx| {
                    let ready = tx.read(&ready)?;
                    tx.check(ready)
                });
            }
            tx.write(&own, 0)
        });
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    assert!(found.is_ok(), "{}", found.unwrap_err());
}

/// Whether some schedule has the body of a transaction run again, beside one that writes what it reads.
fn is_overtaken(by: Algorithm, reads_both: bool) -> bool {
    let options = Options { iterations: 300, ..Options::default() };
    let found = try_explore(options, move || {
        let (first, second, own) = (TVar::new(0), TVar::new(0), TVar::new(0));
        let both = [first.clone(), second.clone()];
        let other =
            csp::spawn(move || atomically(|tx| both.iter().try_for_each(|one| tx.modify(one, |n| n + 1))));
        let mut runs = 0;
        by.atomically(|tx| {
            runs += 1;
            let n = tx.read(&first)?;
            if reads_both { tx.read(&second).map(drop) } else { tx.write(&own, n) }
        });
        other.join().unwrap();
        assert_eq!(runs, 1, "overtaken");
    });
    found.is_err_and(|found| found.to_string().contains("overtaken"))
}

/// Who only reads is overtaken between its reads, who reads once and writes between that and its commit.
#[test]
fn another_may_go_on_before_each_read_and_before_a_commit() {
    let _alone = alone();
    for by in [Algorithm::Versioned, Algorithm::Norec] {
        assert_eq!([false, true].map(|reads_both| is_overtaken(by, reads_both)), [true, true], "{by:?}");
    }
    // What it reads nobody writes before it has ended.
    assert_eq!(
        [false, true].map(|reads_both| is_overtaken(Algorithm::Pessimistic, reads_both)),
        [false, false]
    );
}

const KINDS: [Algorithm; 4] =
    [Algorithm::Pessimistic, Algorithm::Pessimistic, Algorithm::Versioned, Algorithm::Norec];

/// What one process does twice, by the digits of a number: a transaction of some kind that changes two variables, and
/// one of some kind in its body between, which changes a third; one of them may be irrevocable.
#[derive(Clone, Copy, Debug)]
struct Part {
    outer: Algorithm,
    inner: Option<Algorithm>,
    once: [bool; 2],
    variables: [usize; 3],
}

impl Part {
    fn of(mut number: usize) -> Part {
        let mut digit = |base| {
            let digit = number % base;
            number /= base;
            digit
        };
        let outer = KINDS[digit(4)];
        let inner = [None, Some(KINDS[0]), Some(KINDS[2]), Some(KINDS[3])][digit(4)];
        let once = match digit(5) {
            0 => [true, false],
            1 => [false, inner.is_some()],
            _ => [false, false],
        };
        let first = digit(3);
        let second = (first + 1 + digit(2)) % 3;
        Part { outer, inner, once, variables: [first, second, digit(3)] }
    }

    /// Returns how often it has added one to a variable.
    fn run(self, all: &[TVar<u32>; 3]) -> u32 {
        let [first, second, inside] = self.variables.map(|at| &all[at]);
        let (mut runs, mut added) = (0, 2);
        self.outer.atomically(|tx| {
            if self.once[0] {
                tx.irrevocable()?;
            }
            tx.modify(first, |n| n + 1)?;
            runs += 1;
            // Not what the body has reserved or read, but for the first time.
            if let Some(inner) = self.inner
                && ((runs == 1 && !self.once[0]) || !self.variables[..2].contains(&self.variables[2]))
            {
                inner.atomically(|tx| {
                    if self.once[1] {
                        tx.irrevocable()?;
                    }
                    csp::yield_now();
                    tx.modify(inside, |n| n + 1)
                });
                added += 1;
            }
            csp::yield_now();
            tx.modify(second, |n| n + 1)
        });
        added
    }
}

/// Three processes, each with a program by chance, and a task.
#[test]
fn programs_of_all_kinds_end_and_lose_nothing() {
    const PROGRAMS: usize = 300;
    let (_alone, mut chance) = (alone(), 1_u64);
    // The same in all runs: a commit goes by their addresses.
    let all = [TVar::new(0), TVar::new(0), TVar::new(0)];
    for _ in 0..PROGRAMS {
        let parts: [Part; 3] = std::array::from_fn(|_| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Part::of((chance >> 33) as usize)
        });
        let all = all.clone();
        // While one is irrevocable a task is polled again and again; some schedules would do nothing else.
        let rounds = if parts.iter().any(|part| part.once.contains(&true)) { 0 } else { 2 };
        let found = try_explore(Options { iterations: 50, ..Options::default() }, move || {
            let sum = || all.iter().map(TVar::load).sum::<u32>();
            let before = sum();
            let each = parts.map(|part| {
                let all = all.clone();
                csp::spawn(move || (0..2).map(|_| part.run(&all)).sum::<u32>())
            });
            let task = {
                let all = all.clone();
                task::spawn(async move {
                    for _ in 0..rounds {
                        // It waits for nobody, and breaks what is reserved.
                        let adds = |tx: &mut Tx<'_>| all.iter().try_for_each(|one| tx.modify(one, |n| n + 1));
                        atomically_async(adds).await;
                        task::yield_now().await;
                    }
                })
            };
            let added: u32 = each.into_iter().map(|one| one.join().unwrap()).sum();
            task::block_on(task).unwrap();
            assert_eq!(sum(), before + added + rounds * 3);
        });
        assert!(found.is_ok(), "{parts:?}: {}", found.unwrap_err());
    }
}
