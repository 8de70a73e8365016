//! Owns: the tests that no wake is lost: whoever waits for a change goes on when it has come.
//! May use: `atomically`, `stop`, `tvar`, `tx`.
//! Never: a time-out in what is tested; a watchdog stands outside.

use super::on_threads;
use crate::{Stop, TVar, Tx, atomically};
use std::sync::Arc;

/// A buffer of one place.
fn put(tx: &mut Tx<'_>, place: &TVar<Option<u64>>, value: u64) -> Result<(), Stop> {
    let there = tx.read(place)?;
    tx.check(there.is_none())?;
    tx.write(place, Some(value))
}

fn take(tx: &mut Tx<'_>, place: &TVar<Option<u64>>) -> Result<u64, Stop> {
    match tx.replace(place, None)? {
        Some(value) => Ok(value),
        None => tx.retry(),
    }
}

/// Half of the threads put, half take: each waits for others all the time.
#[test]
fn who_waits_for_a_place_or_a_value_gets_it() {
    const EACH: u64 = 400;
    for (seed, threads) in [(11, 2), (12, 4), (13, 8)] {
        let place = Arc::new(TVar::new(None));
        let sums = on_threads(threads, seed, move |number| {
            let mut sum = 0;
            for value in 0..EACH {
                if number % 2 == 0 {
                    atomically(|tx| put(tx, &place, value));
                } else {
                    sum += atomically(|tx| take(tx, &place));
                }
            }
            sum
        });
        assert_eq!(sums.iter().sum::<u64>(), threads as u64 / 2 * EACH * (EACH - 1) / 2);
    }
}

/// Each waits for whichever of two places has something, by an alternative.
#[test]
fn who_waits_for_one_of_several_gets_it() {
    const EACH: u64 = 600;
    let places = Arc::new([TVar::new(None), TVar::new(None)]);
    let taken = on_threads(3, 14, move |number| match number {
        0 | 1 => {
            (0..EACH).for_each(|value| atomically(|tx| put(tx, &places[number], value)));
            0
        }
        _ => {
            let either = |tx: &mut Tx<'_>| tx.or_else(|tx| take(tx, &places[0]), |tx| take(tx, &places[1]));
            let taken: Vec<_> = (0..2 * EACH).map(|_| atomically(either)).collect();
            taken.len()
        }
    });
    assert_eq!(taken, [0, 0, 2 * EACH as usize]);
}

/// A token goes round; between, others write the same variables in vain attempts.
#[test]
fn a_ring_goes_on_beside_commits_that_step_back() {
    const ROUNDS: u64 = 300;
    let turn = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
    on_threads(4, 15, move |number| {
        let (turn, noise) = &*turn;
        for round in 0..ROUNDS {
            let mine = round * 4 + number as u64;
            atomically(|tx| {
                let now = tx.read(turn)?;
                tx.check(now == mine)?;
                tx.modify(noise, |n| n + 1)?;
                tx.write(turn, mine + 1)
            });
            // Blind, and so without a conflict of its own.
            atomically(|tx| tx.modify(noise, |n| n + 1));
        }
    });
}
