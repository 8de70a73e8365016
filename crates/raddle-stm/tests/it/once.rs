//! From `irrevocable` on a body runs once, whatever others do.

use crate::runtime;
use raddle::{csp, task};
use raddle_stm::{TVar, atomically, atomically_async, atomically_or_err};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};

/// Takes the next number, and counts how often it was at the place where nothing can be undone.
fn number(counter: &TVar<u32>, times: &AtomicU32) {
    atomically(|tx| {
        tx.irrevocable()?;
        times.fetch_add(1, Ordering::Relaxed);
        let n = tx.read(counter)?;
        // Others come to where they commit.
        csp::yield_now();
        tx.write(counter, n + 1)
    });
}

#[test]
fn it_runs_once_beside_processes_threads_and_tasks() {
    const EACH: u32 = 60;
    let (counter, times) = (TVar::new(0), Arc::new(AtomicU32::new(0)));
    let adds =
        |counter: TVar<u32>| move || (0..EACH).for_each(|_| atomically(|tx| tx.modify(&counter, |n| n + 1)));
    runtime(2).run(|| {
        let sealed: Vec<_> = (0..4)
            .map(|_| {
                let (counter, times) = (counter.clone(), times.clone());
                csp::spawn(move || (0..EACH).for_each(|_| number(&counter, &times)))
            })
            .collect();
        let processes: Vec<_> = (0..4).map(|_| csp::spawn(adds(counter.clone()))).collect();
        let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(adds(counter.clone()))).collect();
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                task::spawn(async move {
                    for _ in 0..EACH {
                        atomically_async(|tx| tx.modify(&counter, |n| n + 1)).await;
                    }
                })
            })
            .collect();
        sealed.into_iter().chain(processes).for_each(|process| process.join().unwrap());
        tasks.into_iter().for_each(|one| task::block_on(one).unwrap());
        raddle::blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
    });
    assert_eq!(times.load(Ordering::Relaxed), 4 * EACH);
    assert_eq!(counter.load(), (4 + 4 + 2 + 4) * EACH);
}

/// The words of the panic with which `f` ends.
fn says(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    panic
        .downcast_ref::<String>()
        .cloned()
        .or(panic.downcast_ref::<&str>().map(|&s| s.to_owned()))
        .expect("words")
}

#[test]
fn a_retry_comes_before_it_and_never_after() {
    let (ready, times) = (TVar::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            atomically(|tx| {
                let ready = tx.read(&ready)?;
                // Its second attempt may come here with the gate sealed, and waits all the same.
                tx.check(ready)?;
                tx.irrevocable()?;
                times.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
        });
        ready.store(true);
        waits.join().unwrap();
    });
    assert_eq!(times.load(Ordering::Relaxed), 1);
    let said = says(|| {
        atomically(|tx| {
            tx.irrevocable()?;
            let ready = tx.read(&ready)?;
            tx.check(!ready)
        });
    });
    assert!(said.contains("irrevocable"), "{said}");
    // Nothing is left of it: others commit.
    ready.store(false);
}

#[test]
fn an_error_rolls_it_back_and_the_gate_is_open_then() {
    let balance = TVar::new(1);
    let done: Result<(), _> = atomically_or_err(|tx| {
        tx.irrevocable()?;
        tx.write(&balance, 7)?;
        raddle_stm::abort("no paper")
    });
    assert_eq!(done.unwrap_err(), "no paper");
    std::thread::scope(|scope| {
        scope.spawn(|| balance.store(balance.load() + 1));
    });
    assert_eq!(balance.load(), 2);
}

#[test]
fn inside_of_it_transactions_commit_unless_they_write_what_it_has_read() {
    let (outer, inner) = (TVar::new(1), TVar::new(1));
    let sum = atomically(|tx| {
        tx.irrevocable()?;
        let n = tx.read(&outer)?;
        inner.store(n + 1);
        tx.write(&outer, n + 10)?;
        tx.read(&inner)
    });
    assert_eq!((sum, outer.load(), inner.load()), (2, 11, 2));
    let said = says(|| {
        atomically(|tx| {
            tx.irrevocable()?;
            let n = tx.read(&outer)?;
            outer.store(5);
            tx.write(&inner, n)
        });
    });
    assert!(said.contains("inside of its body"), "{said}");
    let said = says(|| {
        atomically(|tx| {
            tx.irrevocable()?;
            atomically(|tx| {
                let n = tx.read(&inner)?;
                tx.check(n > 100)
            });
            Ok(())
        });
    });
    assert!(said.contains("nobody could wake it"), "{said}");
    std::thread::scope(|scope| {
        scope.spawn(|| inner.store(3));
    });
}

#[test]
fn what_it_puts_off_may_wait_for_others() {
    let (done, seen) = (TVar::new(0), TVar::new(0));
    std::thread::scope(|scope| {
        let (come, comes) = mpsc::channel();
        let (other, others) = (done.clone(), seen.clone());
        scope.spawn(move || {
            comes.recv().unwrap();
            others.store(other.load());
        });
        atomically(|tx| {
            tx.irrevocable()?;
            let (come, seen) = (come.clone(), seen.clone());
            tx.on_commit(move || {
                come.send(()).unwrap();
                atomically(|tx| {
                    let seen = tx.read(&seen)?;
                    tx.check(seen == 4)
                });
            });
            tx.write(&done, 4)
        });
    });
}

#[test]
fn a_task_is_told_that_it_cannot() {
    runtime(1).run(|| {
        let ends = task::spawn(async {
            atomically_async(|tx| tx.irrevocable()).await;
        });
        let panic = task::block_on(ends).unwrap_err();
        assert!(
            format!("{panic:?}").contains("cannot be irrevocable")
                || panic.to_string().contains("irrevocable")
        );
    });
}

/// Hooks run when the transaction is decided: what they begin is no part of it.
#[test]
fn what_it_puts_off_may_be_irrevocable_as_well() {
    let (seen, undone) = (TVar::new(0), TVar::new(0));
    atomically(|tx| {
        tx.irrevocable()?;
        let seen = seen.clone();
        tx.on_commit(move || number(&seen, &AtomicU32::new(0)));
        Ok(())
    });
    let done: Result<(), _> = atomically_or_err(|tx| {
        tx.irrevocable()?;
        let undone = undone.clone();
        // Nor does it keep others from it.
        tx.on_abort(move || {
            std::thread::scope(|scope| {
                scope.spawn(|| number(&undone, &AtomicU32::new(0)));
            })
        });
        raddle_stm::abort("no paper")
    });
    assert_eq!(done.unwrap_err(), "no paper");
    assert_eq!((seen.load(), undone.load()), (1, 1));
}

/// Whoever took one would wait at his commit for the transaction, which waits for him.
#[test]
fn forks_of_its_body_are_calls() {
    let (counter, yields) = (TVar::new(0), || (0..3).for_each(|_| csp::yield_now()));
    // Others have the time to take the second.
    let count = || {
        yields();
        counter.store(counter.load() + 1);
    };
    let body = || {
        atomically(|tx| {
            tx.irrevocable()?;
            raddle::join(count, count);
            raddle::par_for(0..4, |_| count());
            raddle::scope(|s| (0..2).for_each(|_| s.spawn(|_| count())));
            raddle::scope_fifo(|s| s.spawn_fifo(|_| count()));
            let other = counter.clone();
            let fork = raddle::fork(move || other.store(other.load() + 1));
            yields();
            fork.join();
            Ok(())
        });
    };
    for workers in [1, 2] {
        runtime(workers).run(body);
    }
    // On an OS thread, where a call would be another process's.
    body();
    assert_eq!(counter.load(), 30);
    // And nobody is held up afterwards.
    let (a, b) = runtime(1).run(|| raddle::join(yields, || counter.store(0)));
    assert_eq!((a, b, counter.load()), ((), (), 0));
}
