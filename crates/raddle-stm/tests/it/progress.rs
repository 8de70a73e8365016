//! Every transaction commits in the end, however many there are, and whatever the others do.

use crate::runtime;
use raddle::csp;
use raddle_stm::{TVar, atomically, read_only};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Many more OS threads than cores, and all want the same.
#[test]
fn many_threads_at_one_counter_all_come_through() {
    let counter = TVar::new(0);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| (0..500).for_each(|_| atomically(|tx| tx.modify(&counter, |n| n + 1))));
        }
    });
    assert_eq!(counter.load(), 64 * 500);
}

#[test]
fn many_processes_at_one_counter_all_come_through() {
    runtime(2).run(|| {
        let counter = TVar::new(0);
        let one = |counter: TVar<i32>| {
            move || {
                for _ in 0..50 {
                    // Gives way in the middle, so that others come between.
                    atomically(|tx| {
                        let n = tx.read(&counter)?;
                        csp::yield_now();
                        tx.write(&counter, n + 1)
                    });
                }
            }
        };
        let all: Vec<_> = (0..64).map(|_| csp::spawn(one(counter.clone()))).collect();
        all.into_iter().for_each(|process| process.join().unwrap());
        assert_eq!(counter.load(), 64 * 50);
    });
}

/// One reads all accounts, and some move money between them without a break: it would never see a moment without a
/// change.
#[test]
fn an_audit_comes_through_beside_updates() {
    const ACCOUNTS: usize = 300;
    let accounts: Arc<Vec<_>> = Arc::new((0..ACCOUNTS).map(|_| TVar::new(10_i64)).collect());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for mover in 0..3 {
            let (accounts, done) = (accounts.clone(), &done);
            scope.spawn(move || {
                let mut at = mover * 7;
                while !done.load(Ordering::Relaxed) {
                    let (from, to) = (at % ACCOUNTS, (at * 31 + 5) % ACCOUNTS);
                    at += 1;
                    atomically(|tx| {
                        tx.modify(&accounts[from], |n| n - 1)?;
                        tx.modify(&accounts[to], |n| n + 1)
                    });
                }
            });
        }
        for round in 0..40 {
            let mut sum = 0;
            if round % 2 == 0 {
                sum +=
                    read_only(|tx| accounts.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?)));
            } else {
                sum += atomically(|tx| {
                    let sum = accounts.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?))?;
                    tx.modify(&accounts[0], |n| n)?;
                    Ok(sum)
                });
            }
            assert_eq!(sum, 10 * ACCOUNTS as i64);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// A body that always loses, until it has the token; inside of it another transaction commits, which must not wait for
/// itself.
#[test]
fn a_transaction_in_the_body_of_one_that_holds_the_others_up_passes() {
    let (contended, log) = (TVar::new(0), TVar::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    atomically(|tx| tx.modify(&contended, |n| n + 1));
                }
            });
        }
        for _ in 0..20 {
            atomically(|tx| {
                let n = tx.read(&contended)?;
                atomically(|tx| tx.modify(&log, |n| n + 1));
                std::thread::sleep(std::time::Duration::from_micros(200));
                tx.write(&contended, n + 1)
            });
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(log.load() >= 20);
}

/// A cancelled holder opens the gate.
#[test]
fn who_is_cancelled_with_the_token_gives_it_back() {
    runtime(2).run(|| {
        let counter = TVar::new(0);
        let token = raddle::cancel::Token::new();
        let (region, other) = (token.clone(), counter.clone());
        let loses = csp::spawn(move || {
            region.run(|| {
                // It has changed each time when it would commit, and so never does.
                atomically(|tx| {
                    let n = tx.read(&other)?;
                    atomically(|tx| tx.modify(&other, |n| n + 1));
                    csp::yield_now();
                    tx.write(&other, n)
                });
            })
        });
        while counter.load() < 100 {
            csp::yield_now();
        }
        token.cancel();
        assert!(loses.join().unwrap().is_err());
        let before = counter.load();
        (0..10).for_each(|_| atomically(|tx| tx.modify(&counter, |n| n + 1)));
        assert_eq!(counter.load(), before + 10);
    });
}

/// What it reads last is newer each time: it does not move its snapshot for ever, but fails, and so comes to the token.
#[test]
fn who_always_finds_something_newer_fails_until_it_has_the_token() {
    let (cold, hot) = (TVar::new(0), [0; 10].map(TVar::new));
    let mut reads = Vec::new();
    atomically(|tx| {
        reads.push(0);
        tx.read(&cold)?;
        for hot in &hot {
            hot.store(1);
            assert_eq!(tx.read(hot)?, 1);
            *reads.last_mut().unwrap() += 1;
        }
        Ok(())
    });
    assert_eq!(reads, [4, 4, 4, 4, 4, 4, 10]);
}

/// It has the token, and a transaction in its body waits for what another is to write, who would wait for the token.
#[test]
fn a_transaction_in_the_body_of_one_that_holds_the_others_up_may_wait_for_them() {
    let (own, ready) = (TVar::new(0), TVar::new(false));
    let (asks, is_asked) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let other = ready.clone();
        scope.spawn(move || {
            is_asked.recv().unwrap();
            other.store(true);
        });
        let mut runs = 0;
        atomically(|tx| {
            runs += 1;
            tx.read(&own)?;
            if runs <= 6 {
                own.store(runs);
            } else {
                let _ = asks.send(());
                atomically(|tx| {
                    let ready = tx.read(&ready)?;
                    tx.check(ready)
                });
            }
            tx.write(&own, 0)
        });
        assert!(runs >= 7);
    });
}

/// Cancelled at its last attempt, with the token, while others stand at the gate: nothing in its end may be a wait that
/// a cancellation ends.
#[test]
fn who_commits_with_the_token_and_is_cancelled_opens_the_gate() {
    const ROUNDS: usize = 1500;
    fn loses() {
        let (region, own, mut runs) = (raddle::cancel::Token::new(), TVar::new(0), 0);
        let inner = region.clone();
        let _ = region.run(|| {
            atomically(|tx| {
                tx.read(&own)?;
                runs += 1;
                if runs <= 7 {
                    own.store(runs);
                } else {
                    csp::yield_now();
                    inner.cancel();
                }
                tx.write(&own, 0)
            })
        });
    }

    runtime(2).run(|| {
        let shared = TVar::new(0);
        for _ in 0..ROUNDS {
            let other = shared.clone();
            let stores = move || {
                for n in 0..20 {
                    other.store(n);
                    csp::yield_now();
                }
            };
            let pair = |_| [csp::spawn(stores.clone()), csp::spawn(loses)];
            let all: Vec<_> = (0..12).flat_map(pair).collect();
            all.into_iter().for_each(|process| process.join().unwrap());
        }
        shared.store(7);
        assert_eq!(shared.load(), 7);
    });
}

/// What was put off runs when the transaction is decided: it may wait for what others commit, also if the transaction
/// had the token.
#[test]
fn what_was_put_off_by_who_holds_the_others_up_may_wait_for_them() {
    for end in ["commit", "retry", "panic"] {
        let (own, other) = (TVar::new(0), TVar::new(0));
        let mut runs = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            atomically(|tx| {
                runs += 1;
                tx.read(&own)?;
                if runs <= 6 {
                    own.store(runs);
                    return tx.write(&own, 0);
                }
                let there = other.clone();
                let put_off = move || std::thread::spawn(move || there.store(7)).join().unwrap();
                match end {
                    "commit" => tx.on_commit(put_off),
                    _ => tx.on_abort(put_off),
                }
                assert!(end != "panic", "on purpose");
                let is_there = tx.read(&other)? == 7;
                tx.check(end == "commit" || is_there)?;
                tx.write(&own, 0)
            });
        }));
        assert!(runs >= 7);
        assert_eq!((outcome.is_err(), other.load()), (end == "panic", 7), "{end}");
    }
}
