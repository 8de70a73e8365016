//! What a panic does: everything that was begun runs to its end first.

use super::*;

#[test]
fn both_closures_of_a_join_run_and_the_first_panic_goes_on() {
    everywhere(|| {
        let ran = AtomicUsize::new(0);
        let good = || ran.fetch_add(1, Ordering::Relaxed);
        let bad = |text| {
            good();
            throw(text);
        };
        assert_eq!(panic_of(|| jobs::join(|| bad("a"), good)), "a");
        assert_eq!(panic_of(|| jobs::join(good, || bad("b"))), "b");
        assert_eq!(panic_of(|| jobs::join(|| bad("a"), || bad("b"))), "a");
        assert_eq!(panic_of(|| jobs::join_context(|_| bad("a"), |_| bad("b"))), "a");
        assert_eq!(ran.into_inner(), 8);
    });
}

#[test]
fn a_panic_comes_back_from_another_worker() {
    on_workers(2, || {
        let barrier = Barrier::new(2);
        let bad = |text| {
            barrier.wait();
            throw(text);
        };
        assert_eq!(panic_of(|| jobs::join(|| bad("a"), || bad("b"))), "a");
        assert_eq!(panic_of(|| jobs::join(|| meet(&barrier), || bad("b"))), "b");
        let both = || {
            jobs::scope(|s| {
                s.spawn(|_| bad("job"));
                s.spawn(|_| bad("job"));
            });
        };
        assert_eq!(panic_of(both), "job");
    });
}

#[test]
fn the_result_of_the_other_closure_is_dropped() {
    everywhere(|| {
        let dropped = AtomicUsize::new(0);
        assert_eq!(panic_of(|| jobs::join(|| Dropped(&dropped), || throw("b"))), "b");
        assert_eq!(panic_of(|| jobs::join(|| throw("a"), || Dropped(&dropped))), "a");
        assert_eq!(dropped.into_inner(), 2);
    });
}

#[test]
fn a_scope_panics_as_its_body_or_as_a_job_when_all_have_run() {
    everywhere(|| {
        let ran = AtomicUsize::new(0);
        let count = || tick(&ran);
        let body = || {
            jobs::scope(|s| {
                (0..10).for_each(|_| s.spawn(|_| count()));
                throw("body");
            });
        };
        assert_eq!((panic_of(body), ran.load(Ordering::Relaxed)), ("body", 10));
        let job = || {
            jobs::scope(|s| {
                s.spawn(|s| {
                    s.spawn(|_| count());
                    throw("job");
                });
                (0..10).for_each(|_| s.spawn(|_| count()));
            });
        };
        assert_eq!((panic_of(job), ran.load(Ordering::Relaxed)), ("job", 21));
        let inner = || jobs::scope(|s| s.spawn(|_| jobs::scope(|t| t.spawn(|_| throw("inner")))));
        assert_eq!(panic_of(inner), "inner");
        let in_place = || jobs::in_place_scope(|s| s.spawn(|_| throw("in place")));
        assert_eq!(panic_of(in_place), "in place");
    });
}

#[test]
fn a_job_that_panics_drops_what_it_captured() {
    everywhere(|| {
        let dropped = AtomicUsize::new(0);
        let bad = || {
            jobs::scope(|s| {
                let captured = Dropped(&dropped);
                s.spawn(move |_| {
                    let _captured = captured;
                    throw("job");
                });
            });
        };
        assert_eq!((panic_of(bad), dropped.into_inner()), ("job", 1));
    });
}

#[test]
fn a_caught_panic_leaves_everything_usable() {
    everywhere(|| {
        for _ in 0..20 {
            assert_eq!(panic_of(|| jobs::join(|| jobs::join(|| throw("deep"), || ()), || ())), "deep");
            assert_eq!(jobs::join(|| 1, || 2), (1, 2));
        }
    });
}
