//! Threads: processes with thread-local storage of their own, on whatever worker they run.

use raddle_core::Runtime;
use raddle_core::csp::{self, Builder, JoinHandle};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A thread on the caller's runtime.
pub(crate) fn thread<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().own_tls(true).spawn(f).expect("threads are possible")
}

/// A runtime in which each thread that yields goes to the other worker.
fn scattering() -> Runtime {
    Runtime::builder().workers(2).scatter_threads(true).build().expect("a runtime")
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(7) };
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn errno() -> *mut i32 {
    // SAFETY: no preconditions.
    unsafe { libc::__errno_location() }
}

#[test]
fn each_has_its_own_variables_and_errno() {
    let runtime = scattering();
    runtime.run(|| {
        let all: Vec<_> = (0..50_u64)
            .map(|n| {
                thread(move || {
                    assert_eq!(NUMBER.get(), 7, "first values");
                    NUMBER.set(n);
                    let place = errno();
                    for turn in 0..100 {
                        TEXT.with_borrow_mut(|text| *text = format!("{n}:{turn}"));
                        // SAFETY: this thread's.
                        unsafe { *errno() = n as i32 + 1 };
                        csp::yield_now();
                        assert_eq!(errno(), place);
                        // SAFETY: as above.
                        assert_eq!(unsafe { *place }, n as i32 + 1);
                        assert_eq!(NUMBER.get(), n);
                        assert_eq!(TEXT.with_borrow(Clone::clone), format!("{n}:{turn}"));
                    }
                })
            })
            .collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    let migrations: u64 = runtime.stats().iter().map(|s| s.migrations).sum();
    assert!(migrations > 1000, "{migrations}");
}

#[test]
fn destructors_run_before_the_join() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            // It may wait, and so end on another worker than it began.
            csp::yield_now();
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local!(static COUNTED: RefCell<Option<Counted>> = const { RefCell::new(None) });
    scattering().run(|| {
        for n in 1..100 {
            thread(|| COUNTED.with_borrow_mut(|c| *c = Some(Counted))).join().unwrap();
            assert_eq!(DROPPED.load(Ordering::Relaxed), n);
        }
    });
}

#[test]
fn a_panic_is_caught_by_the_worker_that_it_ends_on() {
    struct Yields;
    impl Drop for Yields {
        fn drop(&mut self) {
            assert!(std::thread::panicking());
            (0..3).for_each(|_| csp::yield_now());
            assert!(std::thread::panicking());
        }
    }
    scattering().run(|| {
        let all: Vec<_> = (0..20)
            .map(|n| {
                thread(move || {
                    let _yields = Yields;
                    if n % 2 == 0 {
                        std::panic::resume_unwind(Box::new(n));
                    }
                    assert!(!std::thread::panicking());
                    std::mem::forget(_yields);
                })
            })
            .collect();
        for (n, t) in all.into_iter().enumerate() {
            assert_eq!(t.join().is_err(), n % 2 == 0);
        }
        assert!(!std::thread::panicking());
    });
}

#[test]
fn hash_maps_have_seeds() {
    scattering().run(|| {
        let hash = || thread(|| HashMap::<u8, u8>::new().hasher().hash_one(7)).join().unwrap();
        let all: std::collections::HashSet<u64> = (0..10).map(|_| hash()).collect();
        assert!(all.len() > 1);
    });
}

#[test]
fn nothing_of_a_former_life_is_seen() {
    scattering().run(|| {
        for n in 0..200 {
            thread(move || {
                assert_eq!((NUMBER.get(), TEXT.with_borrow(String::len)), (7, 0));
                // SAFETY: this thread's.
                assert_eq!(unsafe { *errno() }, 0);
                NUMBER.set(n);
                TEXT.with_borrow_mut(|text| text.push('x'));
                // SAFETY: as above.
                unsafe { *errno() = 33 };
            })
            .join()
            .unwrap();
        }
    });
}

#[test]
fn light_processes_and_threads_share_workers() {
    scattering().run(|| {
        let turns = Arc::new(AtomicUsize::new(0));
        let body = |turns: Arc<AtomicUsize>| {
            move || {
                for _ in 0..100 {
                    turns.fetch_add(1, Ordering::Relaxed);
                    csp::yield_now();
                    assert!(csp::current().is_some());
                }
            }
        };
        let mixed: Vec<_> = (0..40)
            .map(|n| if n % 2 == 0 { thread(body(turns.clone())) } else { csp::spawn(body(turns.clone())) })
            .collect();
        mixed.into_iter().for_each(|p| p.join().unwrap());
        assert_eq!(turns.load(Ordering::Relaxed), 4000);
    });
}
