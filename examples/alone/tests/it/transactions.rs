//! Owns: tests of transactions between OS threads: who retries sleeps on a futex.
//! May use: `raddle-stm`, `std::thread`.
//! Never: a process.

use raddle_stm::{Stop, TVar, Tx, atomically, atomically_until, read_only};
use std::time::{Duration, Instant};

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

#[test]
fn who_waits_is_woken() {
    const EACH: u64 = 2000;
    let places = [TVar::new(None), TVar::new(None)];
    let sum = TVar::new(0);
    std::thread::scope(|scope| {
        for place in &places {
            for _ in 0..2 {
                scope.spawn(move || (0..EACH).for_each(|value| atomically(|tx| put(tx, place, value))));
            }
        }
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    atomically(|tx| {
                        let value = tx.or_else(|tx| take(tx, &places[0]), |tx| take(tx, &places[1]))?;
                        tx.modify(&sum, |sum| sum + value)
                    });
                }
            });
        }
    });
    assert_eq!(sum.load(), 4 * EACH * (EACH - 1) / 2);
}

#[test]
fn a_deadline_ends_the_wait() {
    let place = TVar::new(None);
    let deadline = Instant::now() + Duration::from_millis(2);
    assert!(atomically_until(deadline, |tx| take(tx, &place)).is_err());
}

#[test]
fn all_come_through_and_none_sees_a_sum_that_never_was() {
    let accounts: Vec<_> = (0..16).map(|_| TVar::new(100_i64)).collect();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let accounts = &accounts;
            scope.spawn(move || {
                for round in 0..1000 {
                    let (from, to) = ((round + number) % 16, (round * 7 + number * 3) % 16);
                    atomically(|tx| {
                        tx.modify(&accounts[from], |n| n - 1)?;
                        tx.modify(&accounts[to], |n| n + 1)
                    });
                    if round % 50 == 0 {
                        let sum =
                            read_only(|tx| accounts.iter().try_fold(0, |sum, one| Ok(sum + tx.read(one)?)));
                        assert_eq!(sum, 1600);
                    }
                }
            });
        }
    });
}
