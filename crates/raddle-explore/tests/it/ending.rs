//! What a run leaves behind when it fails is taken down: everything is dropped, nothing is said, and no memory is kept.

use crate::child::{in_child, in_child_with, stderr};
use raddle::explore::{Kind, Options, try_explore};
use raddle::sync::{Arc, Barrier, Mutex};
use raddle::{csp, thread};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says what is dropped, and whether that is in order.
struct Counted(Arc<(AtomicUsize, AtomicUsize)>);

impl Counted {
    fn new(counts: &Arc<(AtomicUsize, AtomicUsize)>) -> Counted {
        counts.0.fetch_add(1, Ordering::Relaxed);
        Counted(counts.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits in all sorts of ways for what nobody brings.
fn hangs(counts: &Arc<(AtomicUsize, AtomicUsize)>) {
    let here = Counted::new(counts);
    let (lock, barrier) = (Arc::new(Mutex::new(())), Arc::new(Barrier::new(9)));
    let held = lock.lock().unwrap();
    let (mut to, mut from) = csp::channel::<u8>();
    let (inside, locks, meets) = (Counted::new(counts), lock.clone(), barrier.clone());
    drop(csp::spawn(move || {
        let _inside = inside;
        drop(locks.lock());
    }));
    let inside = Counted::new(counts);
    drop(thread::spawn(move || {
        let _inside = inside;
        meets.wait();
    }));
    let inside = Counted::new(counts);
    let receives = csp::spawn(move || {
        let _inside = inside;
        from.recv()
    });
    csp::scope(|s| {
        s.spawn(|| {
            let _inside = Counted::new(counts);
            csp::park();
        });
        let _last = receives.join();
    });
    drop((held, here));
    to.send(1).unwrap();
}

#[test]
fn what_a_failed_run_leaves_is_dropped_and_nothing_is_said() {
    let output = in_child("ending::what_a_failed_run_leaves_is_dropped_and_nothing_is_said", || {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let counted = counts.clone();
        let failure = try_explore(Options::default(), move || hangs(&counted)).expect_err("it hangs");
        assert_eq!(failure.kind(), Kind::Deadlock, "{failure}");
        let (made, dropped) = (counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed));
        assert!(made >= 10 && made == dropped, "{dropped} of {made} were dropped");
    });
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stderr(&output), "");
}

fn address_space_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the program's own memory");
    statm.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number of pages") * 4096
}

#[test]
fn failed_runs_keep_no_memory() {
    // The C library reserves 64 MB of address space for each of the first few threads that allocate.
    let one_arena = [("MALLOC_ARENA_MAX", "1")];
    let output = in_child_with("ending::failed_runs_keep_no_memory", &one_arena, || {
        let counts = Arc::default();
        let fail = |times| {
            for seed in 0..times {
                let (counts, options) =
                    (Arc::clone(&counts), Options { seed, iterations: 1, ..Options::default() });
                try_explore(options, move || hangs(&counts)).expect_err("it hangs");
            }
        };
        fail(5);
        let before = address_space_bytes();
        fail(40);
        let grown = address_space_bytes().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes more");
    });
    assert!(output.status.success(), "{output:?}");
}

/// A drop that unwraps what it joins would abort the program, since that has been cancelled.
#[test]
fn a_drop_that_joins_stops_no_search() {
    struct Joins(Option<csp::JoinHandle<()>>);
    impl Drop for Joins {
        fn drop(&mut self) {
            self.0.take().unwrap().join().unwrap();
        }
    }
    for own_tls in [false, cfg!(all(target_os = "linux", target_env = "gnu"))] {
        let failure = try_explore(Options::default(), move || {
            let child = csp::spawn(csp::park);
            let owner = csp::Builder::new().own_tls(own_tls).spawn(|| {
                let _joins = Joins(Some(child));
                csp::park();
            });
            owner.unwrap().join().unwrap();
        });
        assert_eq!(failure.expect_err("it hangs").kind(), Kind::Deadlock);
    }
}

/// A light process that would wait while it unwinds is left as it is, with all that have not ended yet.
#[test]
fn who_would_wait_as_it_unwinds_stops_no_search() {
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let failure = try_explore(Options::default(), || {
        let lock = Arc::new(Mutex::new(0));
        let locks = Locks(lock.clone());
        let child = csp::spawn(move || {
            let _last = locks;
            csp::park();
        });
        let _held = lock.lock().unwrap();
        child.join().unwrap();
    });
    assert_eq!(failure.expect_err("it hangs").kind(), Kind::Deadlock);
}
