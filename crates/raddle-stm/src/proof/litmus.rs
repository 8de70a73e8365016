//! Owns: traps for zombies: transactions that assert in their bodies what holds in every state that was committed.
//! May use: `algorithm`, `atomically`, `tvar`.
//! Never: an assertion after the transaction alone: an attempt that fails must not see it broken either.

use super::{Chance, on_threads};
use crate::{Algorithm, TVar, atomically, read_only};
use std::sync::Arc;

const ROUNDS: usize = 3000;

#[test]
fn no_attempt_sees_a_sum_that_never_was() {
    sum_stays(&[Algorithm::Versioned]);
}

#[test]
fn no_attempt_of_any_kind_sees_a_sum_that_never_was() {
    sum_stays(&[Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic]);
}

/// The sum is the same in every state.
fn sum_stays(kinds: &'static [Algorithm]) {
    const SUM: i64 = 1000;
    let accounts: Arc<[_; 4]> = Arc::new(std::array::from_fn(|_| TVar::new(SUM / 4)));
    on_threads(4, 1, move |number| {
        let mut chance = Chance::new(number as u64 + 1);
        for round in 0..ROUNDS {
            let (from, to) = (chance.below(4), chance.below(4));
            kinds[chance.below(kinds.len())].atomically(|tx| {
                let all: Vec<_> =
                    accounts.iter().map(|account| tx.read(account)).collect::<Result<_, _>>()?;
                assert_eq!(all.iter().sum::<i64>(), SUM, "a zombie");
                tx.modify(&accounts[from], |n| n - 1)?;
                tx.modify(&accounts[to], |n| n + 1)
            });
            if round % 4 == 0 {
                read_only(|tx| {
                    let sum = accounts.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?))?;
                    assert_eq!(sum, SUM, "a zombie");
                    Ok(())
                });
            }
        }
    });
}

/// An index that is always in bounds of the list beside it; a zombie would panic, or loop for ever.
#[test]
fn no_attempt_follows_an_index_out_of_its_list() {
    let shared = Arc::new((TVar::new(0_usize), TVar::new(vec![0_usize])));
    on_threads(4, 2, move |number| {
        let (index, list) = &*shared;
        let mut chance = Chance::new(number as u64 + 1);
        for _ in 0..ROUNDS {
            if number % 2 == 0 {
                let length = 1 + chance.below(8);
                atomically(|tx| {
                    tx.write(index, length - 1)?;
                    tx.write(list, (0..length).collect())
                });
            } else {
                atomically(|tx| {
                    let at = tx.read(index)?;
                    tx.with(list, |list| {
                        assert_eq!(list[at], at);
                        assert_eq!(list.len(), at + 1, "a zombie");
                    })
                });
            }
        }
    });
}

/// Each of two may go off duty if the other is on.
#[test]
fn writes_are_not_skewed() {
    let on_duty = Arc::new([TVar::new(true), TVar::new(true)]);
    on_threads(2, 3, move |number| {
        let kinds = [Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];
        for round in 0..ROUNDS {
            kinds[round / 2 % 3].atomically(|tx| {
                let both = [tx.read(&on_duty[0])?, tx.read(&on_duty[1])?];
                assert!(both[0] || both[1], "nobody is on duty");
                tx.write(&on_duty[number], !both[1 - number] || !both[number])
            });
        }
    });
}

/// What is put into a variable, and then published by another, is seen by who finds it published.
#[test]
fn what_is_published_is_complete() {
    let shared = Arc::new((TVar::new(0_u64), TVar::new(String::new())));
    on_threads(2, 4, move |number| {
        let (published, text) = &*shared;
        for round in 1..=ROUNDS as u64 {
            if number == 0 {
                text.store(round.to_string());
                published.store(round);
            } else {
                let (round, text) = atomically(|tx| Ok((tx.read(published)?, tx.read(text)?)));
                assert!(round == 0 || text.parse::<u64>().unwrap() >= round);
            }
        }
    });
}
