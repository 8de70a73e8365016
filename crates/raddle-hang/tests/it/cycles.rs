//! What has a holder: cycles of locks, of joins and of jobs, in the first line; also while others run.

use crate::child::{in_program, stderr};
use crate::runtime;
use crate::{plain, said_until, until_input_ends};
use raddle::csp;
use raddle::hang::{OnDeadlock, dump};
use raddle::sync::{McsLock, Mutex};
use raddle::{Runtime, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Two threads take two locks in two orders; a barrier sees to it that each has its first.
pub(super) fn lock_order() {
    runtime(2).run(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let both = Arc::new(raddle::sync::Barrier::new(2));
        let (other, at) = (locks.clone(), both.clone());
        let warp = thread::Builder::new().name("warp".into()).spawn(move || {
            let _first = locks.0.lock().unwrap();
            both.wait();
            let _second = locks.1.lock().unwrap();
        });
        let weft = thread::Builder::new().name("weft".into()).spawn(move || {
            let _first = other.1.lock().unwrap();
            at.wait();
            let _second = other.0.lock().unwrap();
        });
        warp.unwrap().join().unwrap();
        weft.unwrap().join().unwrap();
    });
}

/// OS threads of the program, and a process, lock in two orders.
pub(super) fn os_threads() {
    let _used = runtime(1).run(|| 7);
    let rt = runtime(1);
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let _mine = locks.0.lock().unwrap();
    let other = locks.clone();
    let (told, taken) = std::sync::mpsc::channel();
    let _child = rt.spawn(move || {
        let _first = other.1.lock().unwrap();
        told.send(()).unwrap();
        let _second = other.0.lock().unwrap();
    });
    taken.recv().unwrap();
    let _second = locks.1.lock().unwrap();
}

pub(super) fn cycle_while_others_run() {
    let rt = runtime(2);
    drop(rt.spawn(|| {
        loop {
            csp::sleep(Duration::from_millis(1));
        }
    }));
    std::thread::spawn(lock_order);
    until_input_ends();
}

/// Half of a join, and a fork, have been taken, and wait for what nobody brings.
pub(super) fn jobs() {
    runtime(1).run(|| {
        let begun = AtomicBool::new(false);
        let until_begun = || {
            while !begun.load(Ordering::Relaxed) {
                csp::yield_now();
            }
        };
        let never_ends = || {
            begun.store(true, Ordering::Relaxed);
            let taken = Arc::new(AtomicBool::new(false));
            let is_taken = taken.clone();
            let promised = raddle::fork(move || {
                taken.store(true, Ordering::Relaxed);
                csp::park();
            });
            while !is_taken.load(Ordering::Relaxed) {
                csp::yield_now();
            }
            promised.join();
        };
        raddle::join(until_begun, never_ends);
    });
}

#[test]
fn a_cycle_of_locks_stands_in_the_first_line() {
    let output = in_program("lock_order", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&stderr(&output));
    let here = "crates/raddle-hang/tests/it/cycles.rs:N";
    let first = text.lines().next().unwrap();
    let warp = format!("thread 'warp' (#N, spawned at {here}) waits in Mutex::lock at {here}");
    let weft = format!("thread 'weft' (#N, spawned at {here}) waits in Mutex::lock at {here}");
    let wanted =
        format!("raddle: deadlock: {warp}, held by 'weft' since {here}; {weft}, held by 'warp' since {here}");
    assert_eq!(first, wanted, "{text}");
    assert!(text.contains("waits in join"), "{text}");
    assert!(text.contains("OS thread 'main' waits in join at"), "{text}");
    assert!(text.contains("exit code 3; RADDLE_DEADLOCK=report"), "{text}");
}

#[test]
fn os_threads_that_wait_belong_to_the_cycle() {
    let output = in_program("os_threads", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = stderr(&output);
    let first = text.lines().next().unwrap();
    assert!(first.contains("held by OS thread 'main' since"), "{text}");
    assert!(first.contains("; OS thread 'main' waits in Mutex::lock at"), "{text}");
}

#[test]
fn a_cycle_is_told_while_others_run() {
    if cfg!(any(raddle_tsan, raddle_twin)) {
        // Who runs cannot be stopped to look.
        return;
    }
    let text = said_until("cycle_while_others_run", "alive: ");
    let wanted = "raddle: a cycle of waits, while others run: thread 'warp' (#";
    assert!(text.lines().any(|line| line.starts_with(wanted) && line.contains("held by 'warp'")), "{text}");
}

#[test]
fn who_waits_for_a_job_waits_for_its_process() {
    let output = in_program("jobs", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&stderr(&output));
    let here = "crates/raddle-hang/tests/it/cycles.rs:N";
    assert!(text.starts_with(&format!("raddle: deadlock: job #N waits in park at {here}\n")), "{text}");
    assert!(text.contains(&format!("waits in raddle::join at {here}, for #N\n")), "{text}");
    assert!(text.contains(&format!("job #N waits in Fork::join at {here}, for #N\n")), "{text}");
}

/// One has been handed a lock and has not run since: the one before it does not hold it any more.
#[test]
fn no_cycle_goes_through_one_who_has_given_the_lock_away() {
    let rt = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).build().unwrap();
    let [begins, runs, over] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let (may_begin, has_begun, is_over) = (begins.clone(), runs.clone(), over.clone());
    let all = rt.spawn(move || {
        let (queue, mutex) = (McsLock::new(()), Mutex::new(()));
        csp::scope(|s| {
            let held = queue.lock();
            s.spawn(move || {
                while !may_begin.load(Ordering::Relaxed) {
                    csp::yield_now();
                }
                has_begun.store(true, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {}
            });
            s.spawn(|| drop(queue.lock()));
            s.spawn(|| {
                let _mutex = mutex.lock().unwrap();
                drop(queue.lock());
            });
            while mutex.try_lock().is_ok() {
                csp::yield_now();
            }
            (0..5).for_each(|_| csp::yield_now());
            begins.store(true, Ordering::Relaxed);
            drop(held);
            drop(mutex.lock().unwrap());
        });
    });
    while !runs.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let dump = dump();
    over.store(true, Ordering::Relaxed);
    all.join().unwrap();
    assert!(dump.json().contains(r#""cycles":[]"#), "{dump}");
}
