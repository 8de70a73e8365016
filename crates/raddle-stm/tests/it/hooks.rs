//! What a transaction puts off.

use raddle_stm::{Stop, StopOr, TVar, abort, atomically, atomically_or_err};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread::ThreadId;

#[derive(Clone, Default)]
struct Said(Rc<RefCell<Vec<&'static str>>>);

impl Said {
    fn says(&self, word: &'static str) -> impl FnOnce() + 'static {
        let said = self.clone();
        move || said.0.borrow_mut().push(word)
    }

    fn all(&self) -> Vec<&'static str> {
        self.0.borrow().clone()
    }
}

#[test]
fn a_commit_runs_what_was_put_off_in_order() {
    let said = Said::default();
    atomically(|tx| {
        tx.on_commit(said.says("first"));
        tx.on_abort(said.says("aborted"));
        tx.on_commit(said.says("second"));
        assert!(said.all().is_empty());
        Ok(())
    });
    assert_eq!(said.all(), ["first", "second"]);
}

#[test]
fn an_abort_runs_the_last_first() {
    let said = Said::default();
    let ended = atomically_or_err(|tx| {
        tx.on_abort(said.says("first"));
        tx.on_commit(said.says("committed"));
        tx.on_abort(said.says("second"));
        abort::<(), _>(())
    });
    assert!(ended.is_err());
    assert_eq!(said.all(), ["second", "first"]);
}

#[test]
fn a_nested_transaction_takes_its_own_along() {
    let said = Said::default();
    atomically(|tx| {
        tx.on_commit(said.says("outer"));
        tx.or_else(
            |tx| {
                tx.on_commit(said.says("first"));
                tx.on_abort(said.says("first is rolled back"));
                tx.retry()
            },
            |tx| {
                tx.on_commit(said.says("second"));
                Ok(())
            },
        )?;
        let failed = tx.nested(|tx| -> Result<(), StopOr<()>> {
            tx.on_commit(said.says("part"));
            tx.on_abort(said.says("part is rolled back"));
            abort(())
        })?;
        assert!(failed.is_err());
        Ok(())
    });
    assert_eq!(said.all(), ["first is rolled back", "part is rolled back", "outer", "second"]);
}

/// It runs after the commit: another transaction sees what was written.
#[test]
fn what_was_put_off_may_run_transactions() {
    let variable = TVar::new(1);
    let other = variable.clone();
    atomically(|tx| {
        let other = other.clone();
        tx.on_commit(move || other.store(other.load() + 1));
        tx.write(&variable, 5)
    });
    assert_eq!(variable.load(), 6);
}

/// Panics when it is dropped by the OS thread that has made it, if it is armed: those of other tests may come upon it.
struct Bomb(Option<ThreadId>);

impl Bomb {
    fn armed() -> Bomb {
        Bomb(Some(std::thread::current().id()))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 == Some(std::thread::current().id()) {
            resume_unwind(Box::new("a bomb"));
        }
    }
}

#[track_caller]
fn check_panics(words: &str, f: impl FnOnce()) {
    let panicked = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    assert_eq!(panicked.downcast_ref(), Some(&words));
}

#[test]
fn one_that_panics_keeps_no_other_from_running() {
    let (said, variable) = (Said::default(), TVar::new(1));
    check_panics("hook", || {
        atomically(|tx| {
            tx.on_commit(said.says("first"));
            tx.on_commit(|| resume_unwind(Box::new("hook")));
            tx.on_commit(|| resume_unwind(Box::new("a later one")));
            tx.on_commit(said.says("last"));
            tx.write(&variable, 2)
        });
    });
    assert_eq!((said.all(), variable.load()), (vec!["first", "last"], 2));
}

#[test]
fn after_an_abort_too() {
    let said = Said::default();
    check_panics("hook", || {
        let _ = atomically_or_err(|tx| {
            tx.on_abort(said.says("first"));
            tx.on_abort(|| resume_unwind(Box::new("hook")));
            let part = tx.nested(|tx| {
                tx.on_abort(said.says("part"));
                abort::<(), _>(())
            })?;
            part.or_else(|()| abort(()))
        });
    });
    assert_eq!(said.all(), ["part", "first"]);
}

/// Old values of others are dropped with some transaction, whose own affairs go before.
#[test]
fn old_values_that_panic_keep_nothing_from_running() {
    let (said, variable) = (Said::default(), TVar::new(Bomb::armed()));
    // Nothing is dropped here while a transaction of another test, which began before, goes on, or has no processor.
    let (mut panics, mut at) = (0, 0);
    while panics == 0 || at < 1000 {
        let once = || {
            atomically(|tx| {
                tx.on_commit(said.says("ran"));
                tx.write(&variable, Bomb::armed())
            });
        };
        panics += usize::from(catch_unwind(AssertUnwindSafe(once)).is_err());
        at += 1;
        assert_eq!(said.0.borrow().len(), at);
    }
    // The last one of them stays for good.
    std::mem::forget(variable);
}

/// What was not published is dropped at once; after what was put off.
#[test]
fn values_that_panic_while_it_fails_keep_nothing_from_running() {
    let (said, variable) = (Said::default(), TVar::new(Bomb(None)));
    check_panics("a bomb", || {
        let _ = atomically_or_err(|tx| {
            tx.on_abort(said.says("ran"));
            tx.write(&variable, Bomb::armed())?;
            abort::<(), _>(())
        });
    });
    assert_eq!(said.all(), ["ran"]);
    // Two panics at once would end the program.
    check_panics("the body", || {
        atomically(|tx| -> Result<(), Stop> {
            tx.on_abort(said.says("ran, too"));
            tx.write(&variable, Bomb::armed())?;
            resume_unwind(Box::new("the body"))
        });
    });
    assert_eq!(said.all(), ["ran", "ran, too"]);
}
