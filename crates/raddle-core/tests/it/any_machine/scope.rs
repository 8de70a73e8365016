//! Scopes: what `std::thread::scope` promises, for processes.

use crate::runtime;
use raddle::{Runtime, csp};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// In a process of one and of two workers, and on an OS thread, which uses the default runtime.
fn everywhere(test: impl Fn() + Sync) {
    for workers in [1, 2] {
        runtime(workers).run(&test);
    }
    test();
}

#[test]
fn children_borrow_and_are_waited_for() {
    everywhere(|| {
        let mut numbers = [1, 2, 3];
        let sum = AtomicUsize::new(0);
        csp::scope(|s| {
            for n in &mut numbers {
                s.spawn(|| {
                    csp::yield_now();
                    *n *= 10;
                    sum.fetch_add(*n, Ordering::Relaxed);
                });
            }
        });
        assert_eq!((numbers, sum.into_inner()), ([10, 20, 30], 60));
    });
}

#[test]
fn the_scope_and_its_children_return_values() {
    everywhere(|| {
        let text = String::from("borrowed");
        let length = csp::scope(|s| {
            let child = s.spawn(|| text.len());
            child.join().unwrap() + 1
        });
        assert_eq!(length, 9);
        let part: &str = csp::scope(|s| s.spawn(|| &text[..3]).join().unwrap());
        assert_eq!(part, "bor");
    });
}

#[test]
fn children_spawn_siblings() {
    everywhere(|| {
        let count = AtomicUsize::new(0);
        csp::scope(|s| {
            s.spawn(|| {
                for _ in 0..10 {
                    s.spawn(|| {
                        s.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        });
        assert_eq!(count.into_inner(), 20);
    });
}

#[test]
fn scopes_nest() {
    fn tree(depth: u32) -> usize {
        if depth == 0 {
            return 1;
        }
        csp::scope(|s| {
            let [left, right] = [(); 2].map(|()| s.spawn(move || tree(depth - 1)));
            left.join().unwrap() + right.join().unwrap()
        })
    }
    everywhere(|| assert_eq!(tree(8), 256));
}

#[test]
fn a_panic_of_a_child_that_nobody_joined_is_the_scopes() {
    everywhere(|| {
        let sibling = AtomicBool::new(false);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            csp::scope(|s| {
                s.spawn(|| resume_unwind(Box::new(1)));
                s.spawn(|| {
                    csp::yield_now();
                    sibling.store(true, Ordering::Relaxed);
                });
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"a scoped process panicked"));
        assert!(sibling.into_inner(), "the others were waited for");
    });
}

#[test]
fn a_panic_that_was_joined_is_the_joiners() {
    everywhere(|| {
        let joined = csp::scope(|s| s.spawn(|| resume_unwind(Box::new(5_i32))).join());
        assert_eq!(joined.unwrap_err().downcast_ref::<i32>(), Some(&5));
    });
}

#[test]
fn a_panic_of_the_closure_comes_after_the_children() {
    everywhere(|| {
        let child = AtomicBool::new(false);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            csp::scope(|s| {
                s.spawn(|| {
                    csp::yield_now();
                    child.store(true, Ordering::Relaxed);
                });
                resume_unwind(Box::new("mine"));
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
        assert!(child.into_inner());
    });
}

#[test]
fn a_handle_that_is_dropped_late_still_gives_its_panic_to_the_scope() {
    runtime(1).run(|| {
        let caught = catch_unwind(|| {
            csp::scope(|s| {
                let child = s.spawn(|| resume_unwind(Box::new(1)));
                while !child.is_finished() {
                    csp::yield_now();
                }
            });
        });
        assert!(caught.is_err());
    });
}

#[test]
fn scoped_children_have_names_and_places() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    rt.run(|| {
        csp::scope(|s| {
            let builder = csp::Builder::new().name("child").worker(1);
            let child = builder.spawn_scoped(s, || csp::current().unwrap().name().map(String::from)).unwrap();
            assert_eq!(child.process().name(), Some("child"));
            assert_eq!(child.join().unwrap().as_deref(), Some("child"));
            let refused = csp::Builder::new().worker(2).spawn_scoped(s, || ()).unwrap_err();
            assert!(refused.to_string().contains("no worker 2"), "{refused}");
        });
    });
}

#[test]
fn an_empty_scope_is_nothing() {
    everywhere(|| assert_eq!(csp::scope(|_| 3), 3));
}
