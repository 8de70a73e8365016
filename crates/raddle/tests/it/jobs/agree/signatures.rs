//! Bounds and signatures: code written for one compiles with the other.

use super::*;
use std::fmt::Debug;

#[test]
fn functions_have_these_bounds() {
    fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        jobs::join(a, b)
    }
    fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(jobs::FnContext) -> RA + Send,
        B: FnOnce(jobs::FnContext) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        jobs::join_context(a, b)
    }
    fn scope<'scope, F: FnOnce(&jobs::Scope<'scope>) -> R + Send, R: Send>(body: F) -> R {
        jobs::scope::<F, R>(body)
    }
    fn in_place_scope<'scope, F: FnOnce(&jobs::Scope<'scope>) -> R, R>(body: F) -> R {
        jobs::in_place_scope(body)
    }
    fn scope_fifo<'scope, F: FnOnce(&jobs::ScopeFifo<'scope>) -> R + Send, R: Send>(body: F) -> R {
        jobs::scope_fifo::<F, R>(body)
    }
    fn in_place_scope_fifo<'scope, F: FnOnce(&jobs::ScopeFifo<'scope>) -> R, R>(body: F) -> R {
        jobs::in_place_scope_fifo(body)
    }
    fn spawn_in<'scope, F: FnOnce(&jobs::Scope<'scope>) + Send + 'scope>(s: &jobs::Scope<'scope>, f: F) {
        s.spawn(f);
    }
    fn spawn_fifo_in<'scope, F>(s: &jobs::ScopeFifo<'scope>, f: F)
    where
        F: FnOnce(&jobs::ScopeFifo<'scope>) + Send + 'scope,
    {
        s.spawn_fifo(f);
    }
    let _spawn: fn(fn()) = jobs::spawn::<fn()>;
    let _spawn_fifo: fn(fn()) = jobs::spawn_fifo::<fn()>;
    assert_eq!(join(|| 1, || join_context(|_| 2, |_| 3)), (1, (2, 3)));
    scope(|s| spawn_in(s, |_| ()));
    scope_fifo(|s| spawn_fifo_in(s, |_| ()));
    in_place_scope(|s| spawn_in(s, |_| ()));
    in_place_scope_fifo(|s| spawn_fifo_in(s, |_| ()));
}

#[test]
fn scopes_are_shared_sent_and_printed() {
    fn is<T: Send + Sync + Debug>(value: &T) -> String {
        format!("{value:?}")
    }
    assert!(jobs::scope(is).contains("Scope"));
    assert!(jobs::scope_fifo(is).contains("Scope"));
    let printed = jobs::join_context(|context| format!("{context:?}"), |_| ()).0;
    assert!(printed.contains("FnContext"));
}

/// A job gets the very scope that it was spawned in, of the same lifetime.
#[test]
fn a_job_may_lend_its_scope_on() {
    fn twice<'scope>(s: &jobs::Scope<'scope>, f: &'scope (dyn Fn() + Sync)) {
        s.spawn(move |s| {
            s.spawn(move |_| f());
            f();
        });
    }
    let count = AtomicUsize::new(0);
    let note = || tick(&count);
    jobs::scope(|s| twice(s, &note));
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
