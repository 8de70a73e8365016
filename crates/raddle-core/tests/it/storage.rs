//! The thread-local storage of processes: whose it is, what is found in it, and when it is cleared.

use crate::{child, runtime};
use raddle::{Runtime, blocking, csp};
use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What was seen to be true as long as the value was not dropped.
struct Canary(Box<[usize; 4]>);

impl Canary {
    fn new() -> Canary {
        // Somebody else runs meanwhile, and comes by here, too.
        csp::yield_now();
        csp::sleep(Duration::from_micros(100));
        Canary(Box::new([7; 4]))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.fill(0);
    }
}

thread_local! {
    static LAZY: Canary = Canary::new();
    static SCOPED: Cell<usize> = const { Cell::new(0) };
    static MARK: Cell<usize> = const { Cell::new(0) };
}

/// With light processes the second initialiser's value replaces, and drops, the first one's, which is in use.
#[test]
fn an_initialiser_that_waits_gives_each_process_a_value_of_its_own() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let uses = |_| {
                csp::spawn(|| {
                    LAZY.with(|canary| {
                        for _ in 0..10 {
                            assert_eq!(*canary.0, [7; 4]);
                            csp::yield_now();
                        }
                    });
                })
            };
            (0..50).map(uses).collect::<Vec<_>>().into_iter().for_each(|it| it.join().unwrap());
        });
    }
}

/// As the crate `scoped-tls` does it: set for the time of a call, and put back.
#[test]
fn what_is_set_for_a_call_is_not_seen_by_others() {
    fn with<R>(value: usize, f: impl FnOnce() -> R) -> R {
        let before = SCOPED.replace(value);
        let result = f();
        assert_eq!(SCOPED.replace(before), value);
        result
    }
    for workers in [1, 2] {
        runtime(workers).run(|| {
            csp::scope(|s| {
                for n in 1..100 {
                    s.spawn(move || {
                        with(n, || {
                            (0..n % 7).for_each(|_| csp::yield_now());
                            assert_eq!(SCOPED.get(), n);
                        });
                    });
                }
            });
            assert_eq!(SCOPED.get(), 0);
        });
    }
}

#[test]
fn the_next_process_finds_storage_as_the_last_has_left_it() {
    runtime(1).run(|| {
        let visit = || csp::spawn(|| MARK.replace(MARK.get() + 1)).join().unwrap();
        assert_eq!([visit(), visit(), visit()], [0, 1, 2]);
        assert_eq!(MARK.get(), 0, "the caller's is its own");
        // A thread's is as std's.
        assert_eq!(raddle::thread::spawn(|| MARK.get()).join().unwrap(), 0);
    });
}

#[test]
fn storage_comes_along_to_another_worker_and_through_a_call() {
    let moved = AtomicUsize::new(0);
    // SAFETY: no preconditions.
    let os_thread = || unsafe { libc::gettid() };
    Runtime::builder().workers(2).scatter_threads(true).build().unwrap().run(|| {
        csp::scope(|s| {
            for n in 0..20 {
                let moved = &moved;
                s.spawn(move || {
                    let (began, at) = (os_thread(), MARK.with(Cell::as_ptr).addr());
                    MARK.set(n);
                    for _ in 0..20 {
                        csp::yield_now();
                        assert_eq!((MARK.get(), MARK.with(Cell::as_ptr).addr()), (n, at));
                        moved.fetch_add(usize::from(began != os_thread()), Ordering::Relaxed);
                    }
                    assert_eq!(blocking(|| MARK.get()), n);
                });
            }
        });
    });
    assert!(cfg!(raddle_twin) || moved.into_inner() > 0, "none has moved");
}

static ENDED: AtomicUsize = AtomicUsize::new(0);

struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn destructors_run_when_the_runtime_ends() {
    thread_local!(static ENDS: Ends = const { Ends });
    let rt = runtime(2);
    rt.run(|| {
        csp::scope(|s| {
            (0..300).for_each(|_| {
                drop(s.spawn(|| {
                    ENDS.with(|_| ());
                    csp::yield_now();
                }))
            })
        });
    });
    assert_eq!(ENDED.load(Ordering::Relaxed), 0, "processes that end leave their storage as it is");
    drop(rt);
    let ended = ENDED.load(Ordering::Relaxed);
    assert!((1..=300).contains(&ended), "{ended}");
}

/// A destructor may do what a thread may: spawn, wait, set another variable.
#[test]
fn destructors_may_wait_and_spawn() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            csp::sleep(Duration::from_millis(1));
            assert_eq!(csp::spawn(|| csp::spawn(|| 7).join().unwrap()).join().unwrap(), 7);
            DONE.fetch_add(1, Ordering::Relaxed);
        }
    }
    static DONE: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static WAITS: Waits = const { Waits });
    for workers in [1, 2] {
        let rt = runtime(workers);
        rt.run(|| csp::spawn(|| WAITS.with(|_| ())).join().unwrap());
        drop(rt);
        assert_eq!(DONE.swap(0, Ordering::Relaxed), 1);
    }
}

thread_local!(static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) });
static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A result whose drop waits, in the middle of a use of a variable.
struct Late(usize);

impl Drop for Late {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            held.push(self.0);
            csp::yield_now();
            csp::sleep(Duration::from_micros(100));
            assert_eq!(held.pop(), Some(self.0));
        });
        SEEN.lock().unwrap().push(self.0);
    }
}

/// The drop of a result that nobody wants is the program's code: it runs in the process's own storage, and may wait.
#[test]
fn the_drop_of_an_unwanted_result_is_at_home() {
    let uses = |n: usize| HELD.with_borrow_mut(|held| held.resize(n % 2, n));
    for workers in [1, 2] {
        for threads in [false, true] {
            let rt = runtime(workers);
            rt.run(|| {
                for n in 0..50 {
                    let ends = move || {
                        uses(n);
                        HELD.with_borrow_mut(Vec::clear);
                        Late(n)
                    };
                    drop(csp::Builder::new().own_tls(threads).spawn(ends).unwrap());
                }
            });
            drop(rt);
            let mut seen = std::mem::take(&mut *SEEN.lock().unwrap());
            seen.sort_unstable();
            assert_eq!(seen, Vec::from_iter(0..50));
        }
    }
}

#[test]
fn jobs_that_were_taken_have_storage_of_their_own() {
    let pool = raddle::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        raddle::scope(|s| {
            for n in 1..200 {
                s.spawn(move |_| {
                    let before = SCOPED.replace(n);
                    let index = raddle::current_thread_index();
                    csp::yield_now();
                    csp::sleep(Duration::from_micros(10));
                    assert_eq!((SCOPED.replace(before), raddle::current_thread_index()), (n, index));
                });
            }
        });
    });
}

/// A guard that a process leaves in a thread-local variable keeps no other process on its worker.
#[test]
fn a_pin_that_is_left_behind_pins_nobody() {
    thread_local!(static LEFT: RefCell<Option<raddle::thread::PinGuard>> = const { RefCell::new(None) });
    runtime(1).run(|| {
        csp::spawn(|| LEFT.set(Some(raddle::thread::current().pin()))).join().unwrap();
        csp::spawn(|| {
            let _own = raddle::thread::current().pin();
            drop(LEFT.take());
        })
        .join()
        .unwrap();
    });
}

#[test]
fn light_processes_share_the_storage_of_their_worker() {
    // SAFETY: no process waits while it depends on a thread-local variable.
    let rt = unsafe { Runtime::builder().workers(1).light_processes() }.build().unwrap();
    rt.run(|| {
        MARK.set(5);
        assert_eq!(csp::spawn(|| MARK.get()).join().unwrap(), 5);
    });
    runtime(1).run(|| {
        MARK.set(5);
        assert_eq!(csp::spawn(|| MARK.get()).join().unwrap(), 0);
        // SAFETY: it waits for nothing.
        let first = unsafe { csp::spawn_light(|| MARK.replace(6)) }.join().unwrap();
        // SAFETY: as above.
        let second = unsafe { csp::spawn_light(|| MARK.get()) }.join().unwrap();
        assert_eq!((first, second, MARK.get()), (0, 6, 5));
    });
}

#[test]
fn the_environment_cannot_make_processes_light() {
    let name = "storage::the_environment_cannot_make_processes_light";
    let output = child::in_child_with(name, &[("RADDLE_PROCESSES", "light")], || {
        let refused = Runtime::builder().workers(1).build().unwrap_err().to_string();
        assert!(refused.contains("RADDLE_PROCESSES=light contradicts the program"), "{refused}");
        assert!(refused.contains("unsafe(light)"), "{refused}");
        // SAFETY: no process uses a thread-local variable.
        unsafe { Runtime::builder().workers(1).light_processes() }.build().unwrap().run(|| ());
    });
    child::assert_success(&output);
}

#[test]
fn the_environment_can_give_light_processes_storage() {
    let name = "storage::the_environment_can_give_light_processes_storage";
    let output = child::in_child_with(name, &[("RADDLE_PROCESSES", "full")], || {
        // SAFETY: it waits for nothing while it depends on a thread-local variable.
        let rt = unsafe { Runtime::builder().workers(1).light_processes() }.build().unwrap();
        rt.run(|| {
            MARK.set(5);
            assert_eq!(csp::spawn(|| MARK.get()).join().unwrap(), 0, "the environment asks for storage");
        });
    });
    child::assert_success(&output);
}
