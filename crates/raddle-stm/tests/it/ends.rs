//! How a transaction ends: by a commit, an error, a panic; nothing is left of what did not commit.

use raddle_stm::{Stop, StopOr, TVar, Tx, abort, atomically, atomically_or_err, read_only};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn what_it_has_written_it_reads() {
    let (word, text) = (TVar::new(1), TVar::new(String::from("a")));
    let seen = atomically(|tx| {
        tx.write(&word, 2)?;
        tx.modify(&text, |text| text + "b")?;
        tx.modify(&text, |text| text + "c")?;
        Ok((tx.read(&word)?, tx.read(&text)?))
    });
    assert_eq!(seen, (2, String::from("abc")));
    assert_eq!((word.load(), text.load()), (2, String::from("abc")));
}

#[test]
fn an_error_rolls_back() {
    let text = TVar::new(String::from("a"));
    let ended = atomically_or_err(|tx| {
        tx.write(&text, String::from("b"))?;
        abort::<(), _>(7)
    });
    assert_eq!((ended, text.load()), (Err(7), String::from("a")));
}

#[test]
fn a_panic_rolls_back_and_goes_on() {
    let (word, text) = (TVar::new(1), TVar::new(String::from("a")));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        atomically(|tx| -> Result<(), Stop> {
            tx.write(&word, 2)?;
            tx.write(&text, String::from("b"))?;
            resume_unwind(Box::new("a panic"))
        });
    }));
    assert_eq!(panicked.expect_err("it panics").downcast_ref(), Some(&"a panic"));
    assert_eq!((word.load(), text.load()), (1, String::from("a")));
}

/// A value whose clone panics: in the middle of a read.
#[test]
fn a_clone_that_panics_rolls_back() {
    struct Uncloned;
    impl Clone for Uncloned {
        fn clone(&self) -> Uncloned {
            resume_unwind(Box::new("no clone"))
        }
    }
    let (word, other) = (TVar::new(1), TVar::new(Uncloned));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        atomically(|tx| {
            tx.write(&word, 2)?;
            tx.read(&other).map(drop)
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(word.load(), 1);
}

#[test]
fn an_alternative_takes_the_place_of_what_retries() {
    let (a, b) = (TVar::new(1), TVar::new(1));
    atomically(|tx| {
        tx.write(&a, 2)?;
        tx.or_else(
            |tx| {
                tx.write(&a, 3)?;
                tx.write(&b, 3)?;
                tx.or_else(|tx| tx.write(&b, 4).and_then(|()| tx.retry()), |tx| tx.retry())
            },
            |tx| {
                assert_eq!((tx.read(&a)?, tx.read(&b)?), (2, 1));
                Ok(())
            },
        )
    });
    assert_eq!((a.load(), b.load()), (2, 1));
}

#[test]
fn a_part_that_fails_leaves_the_rest() {
    let (a, b) = (TVar::new(1), TVar::new(1));
    let part = atomically(|tx| {
        tx.write(&a, 2)?;
        tx.nested(|tx| -> Result<(), StopOr<&str>> {
            tx.write(&a, 3)?;
            tx.write(&b, 3)?;
            abort("no")
        })
    });
    assert_eq!((part, a.load(), b.load()), (Err("no"), 2, 1));
}

/// Handles in values, and values that go with their handles.
#[test]
fn variables_hold_variables() {
    #[derive(Clone)]
    struct Link(u32, Option<TVar<Link>>);
    let mut list = None;
    for n in 0..1000 {
        list = Some(TVar::new(Link(n, list)));
    }
    let list = TVar::new(list);
    let sum = read_only(|tx| {
        let (mut sum, mut at) = (0, tx.read(&list)?);
        while let Some(here) = at {
            let Link(n, next) = tx.read(&here)?;
            sum += n;
            at = next;
        }
        Ok(sum)
    });
    assert_eq!(sum, 499_500);
    assert!(list.load().unwrap().is(&list.load().unwrap()));
}

/// Long logs have an index.
#[test]
fn a_long_transaction_finds_what_it_has_written() {
    let all: Vec<_> = (0..3000).map(TVar::new).collect();
    atomically(|tx| {
        for variable in &all {
            tx.modify(variable, |n| n + 1)?;
        }
        for (at, variable) in all.iter().enumerate() {
            assert_eq!(tx.read(variable)?, at + 1);
            tx.modify(variable, |n| n + 1)?;
        }
        Ok(())
    });
    assert!(all.iter().enumerate().all(|(at, variable)| variable.load() == at + 2));
}

/// Who drops the error, and goes on, commits nothing that was decided on it.
#[test]
fn who_goes_on_after_a_stop_commits_nothing() {
    let (a, b) = (TVar::new(0), TVar::new(0));
    let mut runs = 0;
    atomically(|tx| {
        runs += 1;
        let before = tx.read(&a)?;
        if runs == 1 {
            std::thread::scope(|scope| {
                scope.spawn(|| atomically(|tx| tx.write(&a, 1).and_then(|()| tx.write(&b, 1))));
            });
            assert!(tx.read(&b).is_err(), "half of a commit");
            assert!(tx.read(&a).is_err() && tx.write(&a, 7).is_err());
            return Ok(());
        }
        assert_eq!(before, 1);
        tx.write(&b, 2)
    });
    assert_eq!((runs, a.load(), b.load()), (2, 1, 2));
}

/// As often as the body is run, it writes; and it retries until the variable is 7, but says nothing of that.
#[track_caller]
fn check_waits(body: impl Fn(&mut Tx<'_>, &TVar<i32>) + Sync) {
    let (ready, written) = (TVar::new(0), TVar::new(0));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            atomically(|tx| {
                tx.modify(&written, |n| n + 1)?;
                body(tx, &ready);
                Ok(())
            });
        });
        for n in 1..=7 {
            std::thread::yield_now();
            assert_eq!(written.load(), 0, "it has committed");
            ready.store(n);
        }
        waits.join().unwrap();
        assert_eq!(written.load(), 1);
    });
}

#[test]
fn who_drops_that_it_retries_waits_all_the_same() {
    let is_ready = |tx: &mut Tx<'_>, ready: &TVar<i32>| -> Result<(), Stop> {
        let ready = tx.read(ready)?;
        tx.check(ready == 7)
    };
    check_waits(|tx, ready| drop(is_ready(tx, ready)));
    check_waits(|tx, ready| {
        let part = tx.nested(|tx| -> Result<(), StopOr<()>> { Ok(is_ready(tx, ready)?) });
        drop(part);
    });
    check_waits(|tx, ready| {
        // The part itself drops it.
        let part = tx.nested(|tx| if is_ready(tx, ready).is_err() { abort(()) } else { Ok(()) });
        drop(part);
    });
    check_waits(|tx, ready| drop(tx.or_else(|tx| is_ready(tx, ready), |tx| is_ready(tx, ready))));
}

/// What retries in the first alternative, and does not say so, gives way to the second all the same.
#[test]
fn an_alternative_that_drops_that_it_retries_is_rolled_back() {
    let (variable, ready) = (TVar::new(0), TVar::new(false));
    let second = atomically(|tx| {
        tx.or_else(
            |tx| {
                tx.write(&variable, 1)?;
                let is_ready = tx.read(&ready)?;
                drop(tx.check(is_ready));
                Ok(false)
            },
            |tx| Ok(tx.read(&variable)? == 0),
        )
    });
    assert!(second);
    assert_eq!(variable.load(), 0);
}

#[test]
fn an_alternative_that_aborts_is_rolled_back_alone() {
    let (first, second) = (TVar::new(0), TVar::new(0));
    atomically(|tx| {
        let ended = tx.or_else(
            |tx| {
                tx.write(&first, 1)?;
                abort::<(), _>("first")
            },
            |_| Ok(()),
        );
        assert!(matches!(ended, Err(StopOr::Abort("first"))));
        let ended = tx.or_else(
            |tx| Ok(tx.retry()?),
            |tx| {
                tx.write(&first, 2)?;
                abort::<(), _>("second")
            },
        );
        assert!(matches!(ended, Err(StopOr::Abort("second"))));
        tx.write(&second, 3)
    });
    assert_eq!((first.load(), second.load()), (0, 3));
}

/// What changes inside is one for all who look at it, whatever its size.
#[test]
fn a_value_that_changes_inside_is_one_for_all() {
    #[track_caller]
    fn check<T: Send + Sync + 'static>(value: T, adds: impl Fn(&T) -> u32) {
        let variable = TVar::new(value);
        let add = || atomically(|tx| tx.with(&variable, &adds));
        assert_eq!([add(), add(), add()], [0, 1, 2]);
        let replaced = atomically_or_err(|tx| Ok::<_, StopOr<()>>(tx.with(&variable, &adds)?));
        assert_eq!(replaced, Ok(3));
    }

    let adds = |n: &AtomicU32| n.fetch_add(1, Ordering::Relaxed);
    check(AtomicU32::new(0), adds);
    check([const { AtomicU32::new(0) }; 5], |all| adds(&all[4]));
    check(Mutex::new(0), |n| {
        let mut n = n.lock().unwrap();
        *n += 1;
        *n - 1
    });
}

/// Its first value was made of what was committed after the transaction has begun.
#[test]
fn a_new_variable_is_not_read_together_with_what_was_before_it() {
    let x = TVar::new(0);
    let made = Mutex::new(None);
    let seen = atomically(|tx| {
        let before = tx.read(&x)?;
        let mut made = made.lock().unwrap();
        let y = made.get_or_insert_with(|| {
            x.store(1);
            TVar::new(x.load())
        });
        Ok((before, tx.read(y)?))
    });
    assert_eq!(seen, (1, 1));
}
