//! What is made is given back: memory stays flat, and everything is dropped exactly once.
// AddressSanitizer keeps what has been freed, to know it when it is used again.
#![cfg(not(any(loom, raddle_asan)))]

use raddle::{Runtime, csp, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are made, a tenth of which go before the memory is first looked at.
fn count() -> usize {
    std::env::var("LEAKS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000)
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the program's own memory");
    statm.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number of pages") * 4096
}

/// Memory that grows by less than two bytes for each one that is made is no leak of one.
#[track_caller]
fn assert_flat(mut make: impl FnMut(usize)) {
    make(count() / 10);
    let before = resident_bytes();
    make(count());
    let grown = resident_bytes().saturating_sub(before);
    // The other tests of this program run at the same time: a megabyte is theirs.
    assert!(grown < 2 * count() + (8 << 20), "{grown} bytes more after {} were made", count());
}

fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}

#[test]
fn processes_leave_nothing() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        assert_flat(|n| {
            rt.run(|| {
                for _ in 0..n / 100 {
                    let all: Vec<_> = (0..100).map(|n| csp::spawn(move || n)).collect();
                    all.into_iter().for_each(|h| drop(h.join()));
                }
            });
        });
    }
}

#[test]
fn named_processes_with_large_results_leave_nothing() {
    let rt = runtime(2);
    assert_flat(|n| {
        rt.run(|| {
            for n in 0..n / 10 {
                let builder = csp::Builder::new().name("named");
                let handle = builder.spawn(move || [n; 100]).unwrap();
                if n % 2 == 0 {
                    assert_eq!(handle.join().unwrap()[99], n);
                } else {
                    drop(handle);
                    csp::yield_now();
                }
            }
        });
    });
}

#[test]
fn processes_made_outside_leave_nothing() {
    let rt = runtime(1);
    assert_flat(|n| (0..n / 50).for_each(|n| assert_eq!(rt.run(|| n), n)));
}

#[test]
fn tasks_leave_nothing() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        assert_flat(|n| {
            rt.block_on(async move {
                for _ in 0..n / 100 {
                    let task = |n: usize| {
                        task::spawn(async move {
                            if n.is_multiple_of(2) {
                                task::yield_now().await
                            }
                        })
                    };
                    for task in (0..100).map(task).collect::<Vec<_>>() {
                        task.await.unwrap();
                    }
                }
            });
        });
    }
}

#[test]
fn runtimes_leave_nothing() {
    assert_flat(|n| {
        for n in 0..n / 2000 {
            runtime(n % 2 + 1).run(|| csp::spawn(|| ()).join().unwrap());
        }
    });
}

/// Counts its own drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn closures_results_and_payloads_are_dropped_once() {
    const ROUNDS: usize = 5_000;
    for workers in [1, 2] {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = runtime(workers);
        let counted = || Counted(drops.clone());
        rt.run(|| {
            for round in 0..ROUNDS {
                let (captured, returned, thrown) = (counted(), counted(), counted());
                let ends = csp::spawn(move || {
                    let _captured = captured;
                    returned
                });
                let panics = csp::spawn(move || -> Counted { std::panic::resume_unwind(Box::new(thrown)) });
                if round % 2 == 0 {
                    drop((ends.join().unwrap(), panics.join().err().unwrap()));
                } else {
                    drop((ends, panics));
                }
                let kept = counted();
                drop(task::spawn(async move {
                    task::yield_now().await;
                    kept
                }));
            }
        });
        drop(rt);
        assert_eq!(drops.load(Ordering::Relaxed), 4 * ROUNDS);
    }
}
