//! What `raddle::thread` does that `std::thread` does not, or that is Raddle's choice.

use raddle::{Runtime, blocking, csp, thread};
use std::collections::HashSet;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The OS thread that the caller runs on now, whatever it runs as.
fn os_thread() -> PathBuf {
    std::fs::read_link("/proc/thread-self").expect("the kernel tells which of its threads reads this")
}

/// Two workers between which each thread that yields changes.
fn scattering() -> Runtime {
    Runtime::builder().workers(2).scatter_threads(true).build().expect("a runtime")
}

fn places_of(times: usize) -> HashSet<PathBuf> {
    let mut seen = HashSet::new();
    for _ in 0..times {
        seen.insert(os_thread());
        thread::yield_now();
    }
    seen
}

#[test]
fn a_thread_moves_between_workers() {
    scattering().run(|| assert_eq!(thread::spawn(|| places_of(100).len()).join().unwrap(), 2));
}

#[test]
fn a_pinned_thread_stays() {
    scattering().run(|| {
        for worker in [0, 1] {
            let pinned = thread::Builder::new().pin(worker).spawn(|| places_of(100)).unwrap();
            assert_eq!(pinned.join().unwrap().len(), 1);
        }
    });
}

#[test]
fn there_is_no_worker_of_that_number() {
    let one = Runtime::builder().workers(1).build().unwrap();
    let refused = one.run(|| thread::Builder::new().pin(1).spawn(|| ()).unwrap_err());
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn pins_nest_and_let_go() {
    scattering().run(|| {
        let thread = thread::spawn(|| {
            let outer = thread::current().pin();
            let inner = thread::current().pin();
            assert_eq!(places_of(50).len(), 1);
            drop(outer);
            blocking(|| drop(thread::current().pin()));
            assert_eq!(places_of(50).len(), 1);
            drop(inner);
            assert_eq!(places_of(100).len(), 2);
        });
        thread.join().unwrap();
    });
}

#[test]
fn a_forgotten_pin_ends_with_its_thread() {
    scattering().run(|| {
        for _ in 0..10 {
            thread::spawn(|| std::mem::forget(thread::current().pin())).join().unwrap();
            assert_eq!(thread::spawn(|| places_of(100).len()).join().unwrap(), 2);
        }
    });
}

#[test]
fn only_a_thread_itself_may_pin_it() {
    let other = thread::spawn(|| ());
    let handle = other.thread().clone();
    assert!(catch_unwind(|| handle.pin()).is_err());
    other.join().unwrap();
    drop(thread::current().pin());
}

#[test]
fn a_size_of_stack_that_no_class_has_is_an_error() {
    let refused = thread::Builder::new().stack_size(usize::MAX).spawn(|| ()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn a_forgotten_handle_does_not_keep_a_scope() {
    let ended = AtomicUsize::new(0);
    thread::scope(|s| std::mem::forget(s.spawn(|| ended.fetch_add(1, Ordering::Relaxed))));
    assert_eq!(ended.load(Ordering::Relaxed), 1);
}

#[test]
fn a_sleep_ends_at_its_deadline() {
    let until = Instant::now() + Duration::from_millis(3);
    thread::sleep_until(until);
    assert!(Instant::now() >= until);
    thread::spawn(move || thread::sleep_until(until)).join().unwrap();
    thread::spawn(move || thread::sleep_until(Instant::now())).join().unwrap();
}

#[test]
fn in_a_light_process_the_thread_is_the_process() {
    let process = csp::Builder::new().name("light").spawn(thread::current).unwrap().join().unwrap();
    assert_eq!(process.name(), Some("light"));
    assert_ne!(process.id(), thread::current().id());
    csp::spawn(|| {
        let me = thread::current();
        let waker = thread::spawn(move || me.unpark());
        thread::park();
        waker.join().unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn a_handle_of_stds_is_a_handle_of_ours() {
    let here = thread::Thread::from(std::thread::current());
    assert_eq!(here.id(), thread::current().id());
    assert_eq!(here.name(), thread::current().name());
    let woken = Arc::new(AtomicBool::new(false));
    let seen = woken.clone();
    let os = std::thread::spawn(move || {
        while !seen.load(Ordering::Acquire) {
            thread::park();
        }
    });
    let handle = thread::Thread::from(os.thread().clone());
    woken.store(true, Ordering::Release);
    thread::spawn(move || handle.unpark()).join().unwrap();
    os.join().unwrap();
}

#[test]
fn std_sees_a_thread_of_its_own_that_moves_with_ours() {
    scattering().run(|| {
        let threads: Vec<_> = (0..10)
            .map(|_| {
                thread::spawn(|| {
                    let me = std::thread::current();
                    for _ in 0..20 {
                        thread::yield_now();
                        assert_eq!(std::thread::current().id(), me.id());
                    }
                    me.unpark();
                    std::thread::park();
                    me.id()
                })
            })
            .collect();
        let ids: HashSet<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(ids.len(), 10);
    });
}

#[test]
fn sleepers_share_one_worker() {
    let one = Runtime::builder().workers(1).build().unwrap();
    one.run(|| {
        let (asleep, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|s| {
            for _ in 0..100 {
                s.spawn(|| {
                    most.fetch_max(asleep.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(10));
                    asleep.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        assert!(most.load(Ordering::Relaxed) > 1, "each sleeper held the worker");
    });
}
