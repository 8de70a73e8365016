use super::*;

#[test]
fn threads_borrow_from_their_maker() {
    everywhere(|| {
        let (mut numbers, mut sum) = (vec![1, 2, 3], 0);
        thread::scope(|s| {
            s.spawn(|| assert_eq!(numbers.len(), 3));
            s.spawn(|| sum = numbers.iter().sum());
        });
        numbers.push(sum);
        assert_eq!(numbers, [1, 2, 3, 6]);
    });
}

#[test]
fn a_scope_waits_for_those_that_nobody_joined() {
    everywhere(|| {
        let ended = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..20 {
                s.spawn(|| {
                    thread::yield_now();
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ended.load(Ordering::Relaxed), 20);
    });
}

#[test]
fn values_come_through_and_may_borrow() {
    everywhere(|| {
        let words = String::from("warp and weft");
        let first = thread::scope(|s| s.spawn(|| words.split(' ').next()).join().unwrap());
        assert_eq!(first, Some("warp"));
        assert_eq!(thread::scope(|_| 7), 7);
    });
}

#[test]
fn threads_of_a_scope_spawn_into_it() {
    everywhere(|| {
        let count = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..3 {
                    s.spawn(|| {
                        s.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                        count.fetch_add(10, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(count.load(Ordering::Relaxed), 33);
    });
}

#[test]
fn scopes_nest() {
    everywhere(|| {
        let outer = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                let inner = AtomicUsize::new(0);
                thread::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|| inner.fetch_add(1, Ordering::Relaxed));
                    }
                });
                outer.fetch_add(inner.load(Ordering::Relaxed), Ordering::Relaxed);
            });
        });
        assert_eq!(outer.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn a_panic_that_nobody_joined_is_the_scopes() {
    everywhere(|| {
        let text = panic_text(|| {
            thread::scope(|s| {
                s.spawn(|| panic!("seen by nobody"));
            });
        });
        assert_eq!(text, "a scoped thread panicked");
    });
}

#[test]
fn a_dropped_handle_leaves_its_panic_to_the_scope() {
    everywhere(|| {
        let text = panic_text(|| {
            thread::scope(|s| {
                let thread = s.spawn(|| panic!("seen by nobody"));
                while !thread.is_finished() {
                    thread::yield_now();
                }
                drop(thread);
            });
        });
        assert_eq!(text, "a scoped thread panicked");
    });
}

#[test]
fn a_panic_that_was_joined_is_the_joiners() {
    everywhere(|| {
        let payload = thread::scope(|s| s.spawn(|| panic!("seen")).join()).unwrap_err();
        assert_eq!(*payload.downcast::<&str>().unwrap(), "seen");
    });
}

#[test]
fn a_panic_of_the_closure_waits_for_the_threads_and_wins() {
    everywhere(|| {
        let ended = AtomicUsize::new(0);
        let text = panic_text(|| {
            thread::scope(|s| {
                s.spawn(|| panic!("of a thread"));
                s.spawn(|| {
                    thread::yield_now();
                    ended.fetch_add(1, Ordering::Relaxed);
                });
                panic!("of the closure");
            });
        });
        assert_eq!(text, "of the closure");
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_scoped_handle_tells_of_its_thread() {
    everywhere(|| {
        thread::scope(|s| {
            let gate = Gate::default();
            let there = gate.clone();
            let thread = s.spawn(move || {
                there.wait();
                thread::current().id()
            });
            assert!(!thread.is_finished());
            let outside = thread.thread().id();
            gate.open();
            while !thread.is_finished() {
                thread::yield_now();
            }
            assert_eq!(format!("{thread:?}"), "ScopedJoinHandle { .. }");
            assert_eq!(thread.join().unwrap(), outside);
            assert!(format!("{s:?}").starts_with("Scope {"));
        });
    });
}
