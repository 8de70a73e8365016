//! Nobody waits in a circle for what is reserved, and nobody for ever.

use crate::child::{assert_success, in_child};
use crate::runtime;
use raddle::csp;
use raddle_stm::{Algorithm, TVar, atomically};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// In a process of its own: who hangs has the gate, or the variables, of all.
#[track_caller]
fn ends(test: &str, body: impl FnOnce()) {
    const ENDS_WITHIN: Duration = Duration::from_secs(20);
    const HANGS: i32 = 9;
    let output = in_child(&format!("reservations::{test}"), || {
        std::thread::spawn(|| {
            std::thread::sleep(ENDS_WITHIN);
            std::process::exit(HANGS);
        });
        body();
    });
    assert_success(&output);
}

/// A transaction that is overtaken until it has the token, says so, and then writes `x`.
fn writes_with_the_token(x: &TVar<u64>, says: &Sender<()>) {
    const TOKEN_AFTER: usize = 6;
    let (other, mut runs) = (TVar::new(0_u64), 0);
    atomically(|tx| {
        runs += 1;
        let n = tx.read(&other)?;
        if runs <= TOKEN_AFTER {
            std::thread::scope(|scope| drop(scope.spawn(|| other.store(n + 1))));
            tx.read(&other)?;
            unreachable!("it was written");
        } else if runs == TOKEN_AFTER + 1 {
            says.send(()).unwrap();
        }
        tx.modify(x, |x| x + n)
    });
}

/// In the first run reserves `x`, and then writes `inside` by a transaction inside, when told to.
fn writes_inside(x: &TVar<u64>, inside: &TVar<u64>, begun: &Sender<()>, told: &Receiver<()>) {
    let mut is_first = true;
    Algorithm::Pessimistic.atomically(|tx| {
        let n = tx.read(x)?;
        if std::mem::take(&mut is_first) {
            begun.send(()).unwrap();
            told.recv().unwrap();
            inside.store(7);
        }
        tx.write(x, n + 1)
    });
}

#[test]
fn a_transaction_inside_does_not_wait_for_the_token_of_one_that_waits_for_the_outer() {
    ends("a_transaction_inside_does_not_wait_for_the_token_of_one_that_waits_for_the_outer", || {
        let (x, inside) = (TVar::new(0), TVar::new(0));
        let ((begun, begins), (tell, told)) = (mpsc::channel(), mpsc::channel());
        std::thread::scope(|scope| {
            let (x, inside) = (&x, &inside);
            scope.spawn(move || writes_inside(x, inside, &begun, &told));
            begins.recv().unwrap();
            writes_with_the_token(x, &tell);
        });
        assert_eq!((x.load(), inside.load()), (7, 7));
    });
}

#[test]
fn a_transaction_inside_does_not_wait_for_an_irrevocable_one_that_waits_for_the_outer() {
    ends("a_transaction_inside_does_not_wait_for_an_irrevocable_one_that_waits_for_the_outer", || {
        let (x, inside) = (TVar::new(0), TVar::new(0));
        let ((begun, begins), (tell, told)) = (mpsc::channel(), mpsc::channel());
        std::thread::scope(|scope| {
            let (x, inside) = (&x, &inside);
            scope.spawn(move || writes_inside(x, inside, &begun, &told));
            begins.recv().unwrap();
            atomically(|tx| {
                tx.irrevocable()?;
                tell.send(()).unwrap();
                tx.modify(x, |x| x + 6)
            });
        });
        assert_eq!((x.load(), inside.load()), (7, 7));
    });
}

/// The older one waits for what the younger has; whose body's writes what the older has.
#[test]
fn a_transaction_inside_does_not_wait_for_an_older_one_that_waits_for_the_outer() {
    ends("a_transaction_inside_does_not_wait_for_an_older_one_that_waits_for_the_outer", || {
        let (x, y) = (TVar::new(0), TVar::new(0));
        let (begun, begins) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut is_first = true;
            let (x, y) = (&x, &y);
            Algorithm::Pessimistic.atomically(|tx| {
                tx.read(y)?;
                if std::mem::take(&mut is_first) {
                    let (begun, (tell, told)) = (begun.clone(), mpsc::channel());
                    scope.spawn(move || writes_inside(x, y, &begun, &told));
                    begins.recv().unwrap();
                    tell.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(50));
                }
                tx.modify(x, |x| x + 6)
            });
        });
        assert_eq!((x.load(), y.load()), (7, 7));
    });
}

/// And who wakes it writes what is reserved.
#[test]
fn what_is_reserved_is_written_while_a_transaction_inside_waits_for_a_change() {
    ends("what_is_reserved_is_written_while_a_transaction_inside_waits_for_a_change", || {
        for by in [Algorithm::Versioned, Algorithm::Pessimistic] {
            let (x, ready) = (TVar::new(0), TVar::new(false));
            let (begun, begins) = mpsc::channel();
            std::thread::scope(|scope| {
                let (x, ready) = (&x, &ready);
                scope.spawn(move || {
                    Algorithm::Pessimistic.atomically(|tx| {
                        let n = tx.read(x)?;
                        let _ = begun.send(());
                        atomically(|tx| {
                            let ready = tx.read(ready)?;
                            tx.check(ready)
                        });
                        tx.write(x, n + 1)
                    });
                });
                begins.recv().unwrap();
                by.atomically(|tx| {
                    tx.modify(x, |n| n + 6)?;
                    tx.write(ready, true)
                });
            });
            assert_eq!(x.load(), 7);
        }
    });
}

/// Whether anybody else takes a fork is chance: who did would wait for the outer one, which waits for the fork.
#[test]
fn a_fork_in_the_body_does_not_wait_for_what_the_body_has_reserved() {
    ends("a_fork_in_the_body_does_not_wait_for_what_the_body_has_reserved", || {
        runtime(2).run(|| {
            for round in 0..10 {
                let (x, is_begun) = (TVar::new(0), AtomicBool::new(false));
                let mut is_first = true;
                Algorithm::Pessimistic.atomically(|tx| {
                    let n = tx.read(&x)?;
                    let writes = std::mem::take(&mut is_first);
                    let store = || {
                        is_begun.store(true, Ordering::Relaxed);
                        if writes {
                            x.store(5);
                        }
                    };
                    // As long as it takes somebody else to take the other.
                    let end = Instant::now() + Duration::from_millis(20);
                    let spins = || {
                        while !is_begun.load(Ordering::Relaxed) && Instant::now() < end {
                            std::hint::spin_loop();
                        }
                    };
                    if round % 2 == 0 {
                        raddle::join(spins, store)
                    } else {
                        raddle::join(store, spins)
                    };
                    tx.write(&x, n + 1)
                });
                assert_eq!(x.load(), 6);
            }
        });
    });
}

/// Those who reserve give way while they have it, and never while they have not.
fn a_stream_of_those_who_reserve(readers: usize, write: impl FnOnce(&TVar<u64>) + Send + 'static) {
    runtime(1).run(move || {
        let (x, done) = (TVar::new(0), std::sync::Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..readers)
            .map(|_| {
                let (x, done) = (x.clone(), done.clone());
                csp::spawn(move || {
                    while done.load(Ordering::Relaxed) == 0 {
                        Algorithm::Pessimistic.atomically(|tx| {
                            let n = tx.read(&x)?;
                            (0..3).for_each(|_| csp::yield_now());
                            Ok(n)
                        });
                    }
                })
            })
            .collect();
        let writer = {
            let (x, done) = (x.clone(), done.clone());
            csp::spawn(move || {
                csp::yield_now();
                write(&x);
                done.store(1, Ordering::Relaxed);
            })
        };
        writer.join().unwrap();
        all.into_iter().for_each(|process| process.join().unwrap());
        assert_eq!(x.load(), 1);
    });
}

#[test]
fn who_writes_what_is_always_reserved_comes_through() {
    ends("who_writes_what_is_always_reserved_comes_through", || {
        for readers in [1, 2, 5] {
            a_stream_of_those_who_reserve(readers, |x| x.store(1));
            a_stream_of_those_who_reserve(readers, |x| {
                Algorithm::Pessimistic.atomically(|tx| tx.modify(x, |n| n + 1));
            });
        }
    });
}

/// Two that are changed together, and the number of changes.
struct Pair {
    up: TVar<i64>,
    down: TVar<i64>,
    changes: TVar<u64>,
    /// As those who have committed count.
    committed: AtomicUsize,
}

impl Pair {
    fn new() -> Pair {
        let (up, down, changes) = (TVar::new(0), TVar::new(0), TVar::new(0));
        Pair { up, down, changes, committed: AtomicUsize::new(0) }
    }

    /// In one transaction: with what `between` does between the two reads of it.
    fn change(&self, by: Algorithm, is_irrevocable: bool, mut between: impl FnMut()) {
        by.atomically(|tx| {
            if is_irrevocable {
                tx.irrevocable()?;
            }
            let up = tx.read(&self.up)?;
            between();
            let down = tx.read(&self.down)?;
            assert_eq!(up + down, 0, "of two moments, {by:?}");
            tx.write(&self.up, up + 1)?;
            tx.modify(&self.changes, |n| n + 1)?;
            tx.write(&self.down, down - 1)
        });
        self.committed.fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self) {
        let changes = self.committed.load(Ordering::Relaxed);
        assert_eq!(self.changes.load(), changes as u64);
        assert_eq!(self.up.load(), changes as i64);
        assert_eq!(self.down.load(), -(changes as i64));
    }
}

/// All kinds inside of all kinds, which break what others have reserved while those wait for them.
#[test]
fn transactions_inside_of_others_see_one_moment_and_lose_nothing() {
    const ROUNDS: usize = 150;
    let all = [Algorithm::Pessimistic, Algorithm::Versioned, Algorithm::Norec, Algorithm::Pessimistic];
    ends("transactions_inside_of_others_see_one_moment_and_lose_nothing", || {
        let pairs = [Pair::new(), Pair::new(), Pair::new()];
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let pairs = &pairs;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let (outer, inner) = (all[(thread + round) % 4], all[(thread + round / 4) % 4]);
                        let at = thread * 7 + round;
                        let mut runs = 0;
                        // Its own in the first run, if it is that one.
                        pairs[at % 3].change(outer, false, || {
                            runs += 1;
                            if runs == 1 || at % 3 != (at / 3) % 3 {
                                std::thread::yield_now();
                                pairs[(at / 3) % 3].change(inner, round % 16 == 0, std::thread::yield_now);
                            }
                        });
                    }
                });
            }
        });
        pairs.iter().for_each(Pair::check);
    });
}
