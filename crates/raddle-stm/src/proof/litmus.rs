//! Owns: traps for zombies: transactions that assert in their bodies what holds in every state that was committed.
//! May use: `algorithm`, `atomically`, `stop`, `tvar`.
//! Never: an assertion after the transaction alone: an attempt that fails must not see it broken either.

use super::{Chance, on_threads};
use crate::{Algorithm, StopOr, TVar, abort, atomically, read_only};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

const ROUNDS: usize = 3000;

const KINDS: [Algorithm; 3] = [Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];

#[test]
fn no_attempt_sees_a_sum_that_never_was() {
    sum_stays(&[Algorithm::Versioned]);
}

#[test]
fn no_attempt_of_any_kind_sees_a_sum_that_never_was() {
    sum_stays(&KINDS);
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
        for round in 0..ROUNDS {
            KINDS[round / 2 % 3].atomically(|tx| {
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

/// What is rolled back, by an abort, a part's abort or a panic, nobody else has ever seen.
#[test]
fn what_is_rolled_back_is_exposed_to_nobody() {
    let both = Arc::new((TVar::new(0_u64), TVar::new(String::from("0"))));
    on_threads(4, 5, move |number| {
        let (n, text) = &*both;
        for round in 0..ROUNDS {
            let by = KINDS[round % 3];
            if number % 2 == 1 {
                by.atomically(|tx| {
                    let (n, text) = (tx.read(n)?, tx.with(text, |text| text.parse::<u64>().unwrap())?);
                    assert_eq!((n % 2, n), (0, text), "something was exposed");
                    Ok(())
                });
                assert_eq!(n.load() % 2, 0);
                continue;
            }
            let ended = catch_unwind(AssertUnwindSafe(|| {
                by.atomically_or_err(|tx| {
                    let before = tx.read(n)?;
                    tx.write(n, before + 1)?;
                    tx.write(text, String::from("exposed"))?;
                    match round % 5 {
                        0 => return abort(()),
                        1 => resume_unwind(Box::new(())),
                        _ => {}
                    }
                    let part = tx.nested(|tx| -> Result<(), StopOr<()>> {
                        tx.write(n, before + 3)?;
                        abort(())
                    })?;
                    assert_eq!((part, tx.read(n)?), (Err(()), before + 1));
                    tx.write(text, (before + 2).to_string())?;
                    Ok(tx.write(n, before + 2)?)
                })
            }));
            assert_eq!(matches!(ended, Ok(Ok(()))), round % 5 > 1);
        }
    });
}

/// Who has taken something out of what is shared has it for itself: nobody who was about to write it still does so, and
/// nobody who finds it in its place sees what becomes of it meanwhile, until it is put back.
#[test]
fn what_was_taken_out_is_private() {
    type Node = Arc<[TVar<u64>; 2]>;
    let place: Arc<TVar<Option<Node>>> = Arc::new(TVar::new(Some(Arc::default())));
    on_threads(4, 6, move |number| {
        for round in 0..ROUNDS {
            let by = KINDS[(round + number) % 3];
            match number {
                0 => {
                    let node = by.atomically(|tx| match tx.replace(&place, None)? {
                        Some(node) => Ok(node),
                        None => tx.retry(),
                    });
                    let [left, right] = &*node;
                    let before = left.load();
                    assert_eq!(before, right.load(), "it was not whole");
                    left.store(before + 7);
                    raddle_syscall::yield_processor();
                    assert_eq!((left.load(), right.load()), (before + 7, before), "another has written it");
                    right.store(before + 7);
                    place.store(Some(node));
                }
                1 => by.atomically(|tx| {
                    let Some(node) = tx.read(&place)? else { return Ok(()) };
                    tx.modify(&node[0], |n| n + 1)?;
                    tx.modify(&node[1], |n| n + 1)
                }),
                2 => by.atomically(|tx| {
                    let Some(node) = tx.read(&place)? else { return Ok(()) };
                    assert_eq!(tx.read(&node[0])?, tx.read(&node[1])?, "a look at what is private");
                    Ok(())
                }),
                _ => read_only(|tx| {
                    let Some(node) = tx.with(&place, Clone::clone)? else { return Ok(()) };
                    assert_eq!(tx.read(&node[1])?, tx.read(&node[0])?, "a look at what is private");
                    Ok(())
                }),
            }
        }
    });
}
