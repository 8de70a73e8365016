//! Threads: processes with thread-local storage of their own, on whatever worker they run.

use crate::watch::{Progress, Watchdog};
use raddle::csp::{self, Builder, JoinHandle};
use raddle::{Balance, Runtime};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

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
    let _dog = watched("a thousand migrations of threads");
    let runtime = scattering();
    let many_change_places = || {
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
    };
    // Five thousand yields, each of which sends the thread to the other worker; see `processes_may_all_be_threads`.
    while runtime.stats().iter().map(|s| s.migrations).sum::<u64>() <= 1000 {
        runtime.run(many_change_places);
    }
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

fn migrations(runtime: &Runtime) -> u64 {
    let (matrix, stats) = (runtime.migrations(), runtime.stats());
    let all: u64 = matrix.iter().flatten().sum();
    assert!((0..stats.len()).all(|to| matrix[to][to] == 0), "nobody takes from himself: {matrix:?}");
    assert!(all <= stats.iter().map(|s| s.migrations).sum());
    all
}

/// Aborts if `what` does not come about.
fn watched(what: &str) -> Watchdog {
    Watchdog::new(what.to_owned(), Progress::default(), String::new)
}

/// A thread that waits is woken by one that never lets go of the worker: it is taken by the idle one.
fn wakes_one_behind_itself(runtime: &Runtime) {
    runtime.run(|| {
        let seen = Arc::new(AtomicBool::new(false));
        let started = Arc::new(AtomicBool::new(false));
        let waits = {
            let (seen, started) = (seen.clone(), started.clone());
            move || {
                started.store(true, Ordering::Relaxed);
                csp::park();
                seen.store(true, Ordering::Relaxed);
            }
        };
        let holds = move || {
            let waiting = thread(waits);
            while !started.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            waiting.process().unpark();
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            waiting.join().unwrap();
        };
        thread(holds).join().unwrap();
    });
}

#[test]
fn one_that_waits_behind_an_endless_slice_is_taken_by_an_idle_worker() {
    let _dog = watched("a thread behind an endless slice");
    let runtime = Runtime::builder().workers(2).build().unwrap();
    (0..20).for_each(|_| wakes_one_behind_itself(&runtime));
}

#[test]
fn started_threads_spread_over_the_workers() {
    let _dog = watched("threads on two workers at once");
    let runtime = Runtime::builder().workers(2).build().unwrap();
    runtime.run(|| {
        // Each waits for the other without letting go of its worker, after both were ready on the same one.
        let here = Arc::new(AtomicUsize::new(0));
        let body = || {
            let here = here.clone();
            move || {
                csp::yield_now();
                here.fetch_add(1, Ordering::Relaxed);
                while here.load(Ordering::Relaxed) < 2 {
                    std::hint::spin_loop();
                }
            }
        };
        let both = [thread(body()), thread(body())];
        both.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// None of them ever waits for as long as a steal costs; they are always some, though.
#[test]
fn threads_that_only_yield_spread_over_the_workers() {
    let _dog = watched("threads that yield, on both workers");
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            // By a migration, or because some were taken before they had started.
            while runtime.stats().iter().take(runtime.workers()).any(|worker| worker.dispatches < 1000) {
                std::thread::yield_now();
            }
            over.store(true, Ordering::Relaxed);
        });
        runtime.run(|| {
            let yields = || {
                while !over.load(Ordering::Relaxed) {
                    csp::yield_now()
                }
            };
            raddle::thread::scope(|threads| {
                (0..8).for_each(|_| drop(threads.spawn(yields)));
            });
        });
    });
}

#[test]
fn with_migration_off_threads_stay() {
    let runtime = Runtime::builder().workers(2).migration(false).scatter_threads(true).build().unwrap();
    runtime.run(|| {
        let all: Vec<_> = (0..20).map(|_| thread(|| (0..100).for_each(|_| csp::yield_now()))).collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(migrations(&runtime), 0);
}

#[test]
fn placed_threads_stay() {
    let runtime = scattering();
    runtime.run(|| {
        let _stays = raddle_thread::current().pin();
        let place = |n: usize| Builder::new().own_tls(true).worker(n % 2);
        let yields = || (0..100).for_each(|_| csp::yield_now());
        let all: Vec<_> = (0..20).map(|n| place(n).spawn(yields).unwrap()).collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(migrations(&runtime), 0);
}

#[test]
fn fair_moves_threads_while_nobody_is_idle() {
    fair_moves(6, 1);
}

/// Two threads on one worker and one on the other: none of the three is to have a worker for itself for good.
#[test]
fn fair_passes_on_the_one_too_many() {
    fair_moves(2, 10);
}

/// Returns when so many threads, beside a process on the other worker, have been moved so often.
fn fair_moves(threads: usize, moves: u64) {
    let _dog = watched("the balance `fair` moves a thread");
    let runtime = Runtime::builder().workers(2).balance(Balance::Fair).tick(Duration::from_micros(200));
    let runtime = Arc::new(runtime.build().unwrap());
    let (over, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let yields = |over: &Arc<AtomicBool>, begun: &Arc<AtomicBool>| {
        let (over, begun) = (over.clone(), begun.clone());
        move || {
            begun.store(true, Ordering::Relaxed);
            while !over.load(Ordering::Relaxed) {
                csp::yield_now();
            }
        }
    };
    let first = yields(&over, &begun);
    let fair = {
        let (runtime, over) = (runtime.clone(), over.clone());
        move || {
            while runtime.stats().iter().map(|s| s.fair_moves).sum::<u64>() < moves {
                std::thread::yield_now();
            }
            over.store(true, Ordering::Relaxed);
        }
    };
    let looks = std::thread::spawn(fair);
    let spawns = move || {
        // The second worker is never idle from here on, and so takes nothing by itself: all threads wait at the first.
        while !begun.load(Ordering::Relaxed) {
            csp::yield_now();
        }
        let all: Vec<_> = (0..threads).map(|_| thread(yields(&over, &begun))).collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    };
    runtime.run(|| {
        let busy = csp::spawn_on(1, first);
        csp::spawn_on(0, spawns).join().unwrap();
        busy.join().unwrap();
    });
    looks.join().unwrap();
}

#[test]
fn processes_may_all_be_threads() {
    let _dog = watched("a hundred migrations of processes");
    let runtime = scattering();
    let changes_places = move |n| {
        move || {
            assert_eq!(NUMBER.replace(n), 7);
            (0..20).for_each(|_| csp::yield_now());
            // Whoever gets this storage next finds what is left there.
            assert_eq!(NUMBER.replace(7), n);
        }
    };
    // Four hundred yields, each of which sends the process to the other worker. While that has no processor, the first
    // takes back what it has sent there, and such a way back is no migration.
    while migrations(&runtime) <= 100 {
        runtime.run(|| {
            let all: Vec<_> = (0..20).map(|n| csp::spawn(changes_places(n))).collect();
            all.into_iter().for_each(|p| p.join().unwrap());
        });
    }
}

#[test]
fn a_timed_park_ends_in_time_or_by_a_wake_wherever_it_is() {
    let _dog = watched("a timed park");
    scattering().run(|| {
        let parks = |timeout| {
            move || {
                for _ in 0..50 {
                    csp::yield_now();
                    csp::park_timeout(Duration::from_micros(timeout));
                }
            }
        };
        let all: Vec<_> = [0, 1, 20, 300].into_iter().cycle().take(24).map(|us| thread(parks(us))).collect();
        let sleeper = thread(|| csp::park_timeout(Duration::from_secs(1000)));
        csp::yield_now();
        sleeper.process().unpark();
        sleeper.join().unwrap();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// A thread's name is its own, the OS thread's its worker's: see `raddle::thread::Builder::name`.
#[cfg(not(raddle_twin))]
#[test]
fn a_thread_that_asks_the_c_library_for_its_name_gets_its_workers() {
    let runtime = Runtime::builder().workers(1).thread_name("alias").build().unwrap();
    let asks = || {
        let mut name = [0_u8; 16];
        // SAFETY: touches no memory of ours.
        let own = unsafe { libc::pthread_self() };
        // SAFETY: writes at most as many bytes as there are.
        let refused = unsafe { libc::pthread_getname_np(own, name.as_mut_ptr().cast(), name.len()) };
        assert_eq!(refused, 0);
        let name = std::ffi::CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned();
        (name, raddle::thread::current().name().map(String::from))
    };
    let spawn = || raddle::thread::Builder::new().name("mine".into()).spawn(asks).unwrap().join().unwrap();
    assert_eq!(runtime.run(spawn), ("alias-0".to_owned(), Some("mine".to_owned())));
}
