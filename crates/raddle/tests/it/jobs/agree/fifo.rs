//! `scope_fifo` and `in_place_scope_fifo`.

use super::*;

#[test]
fn a_scope_returns_what_its_body_returns_when_all_jobs_have_ended() {
    everywhere(|| {
        let mut numbers = [1, 2, 3, 4];
        let value = jobs::scope_fifo(|s| {
            for number in &mut numbers {
                s.spawn_fifo(|_| *number *= 2);
            }
            "value"
        });
        assert_eq!((value, numbers), ("value", [2, 4, 6, 8]));
        let mut text = String::new();
        jobs::in_place_scope_fifo(|s| s.spawn_fifo(|s| s.spawn_fifo(|_| text.push('x'))));
        assert_eq!(text, "x");
    });
}

#[test]
fn a_job_outlives_the_job_that_spawned_it() {
    fn spawn<'scope>(s: &jobs::ScopeFifo<'scope>, depth: usize, count: &'scope AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            s.spawn_fifo(move |s| spawn(s, depth - 1, count));
            s.spawn_fifo(move |s| spawn(s, depth - 1, count));
        }
    }
    everywhere(|| {
        let count = AtomicUsize::new(0);
        jobs::scope_fifo(|s| spawn(s, 6, &count));
        assert_eq!(count.into_inner(), 127);
    });
}

#[test]
fn scopes_of_both_orders_nest() {
    everywhere(|| {
        let count = AtomicUsize::new(0);
        jobs::scope_fifo(|outer| {
            jobs::scope(|s| {
                s.spawn(|_| outer.spawn_fifo(|_| tick(&count)));
                outer.spawn_fifo(|_| tick(&count));
            });
            let (a, b) = jobs::join(|| jobs::scope_fifo(|_| 10), || jobs::scope(|_| 20));
            count.fetch_add(a + b, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 32);
    });
}

#[test]
fn a_panic_comes_out_when_all_jobs_have_run() {
    everywhere(|| {
        let ran = AtomicUsize::new(0);
        let bad = || {
            jobs::scope_fifo(|s| {
                for n in 0..20 {
                    let ran = &ran;
                    s.spawn_fifo(move |_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        if n == 3 {
                            throw("job");
                        }
                    });
                }
            });
        };
        assert_eq!((panic_of(bad), ran.load(Ordering::Relaxed)), ("job", 20));
        let bad = || {
            jobs::in_place_scope_fifo(|s| {
                s.spawn_fifo(|_| tick(&ran));
                throw("body");
            });
        };
        assert_eq!((panic_of(bad), ran.load(Ordering::Relaxed)), ("body", 21));
    });
}

/// A destructor that runs during a panic may use scopes, too.
#[test]
fn a_flow_that_unwinds_may_have_a_scope() {
    struct Scoped<'a>(&'a AtomicUsize);
    impl Drop for Scoped<'_> {
        fn drop(&mut self) {
            let count = || tick(self.0);
            jobs::scope_fifo(|s| (0..5).for_each(|_| s.spawn_fifo(|_| count())));
            jobs::scope(|s| (0..5).for_each(|_| s.spawn(|_| count())));
        }
    }
    everywhere(|| {
        let count = AtomicUsize::new(0);
        let unwinds = || {
            let _scoped = Scoped(&count);
            throw("unwinds");
        };
        assert_eq!((panic_of(unwinds), count.into_inner()), ("unwinds", 10));
    });
}
