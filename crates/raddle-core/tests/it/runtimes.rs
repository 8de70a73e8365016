//! Several runtimes in one program, and OS threads that use them.

use crate::runtime;
use raddle::csp::{self, Process};
use raddle::{Runtime, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

#[test]
fn a_process_may_use_another_runtime() {
    let (outer, inner) = (runtime(2), Arc::new(runtime(1)));
    let sum: u32 = outer.run(|| {
        let ask = |n: u32| {
            let inner = inner.clone();
            csp::spawn(move || inner.run(move || csp::spawn(move || n * 2).join().unwrap()))
        };
        (0..50).map(ask).collect::<Vec<_>>().into_iter().map(|h| h.join().unwrap()).sum()
    });
    assert_eq!(sum, 2450);
}

#[test]
fn runtimes_wake_each_others_processes() {
    const TURNS: usize = 2000;
    for workers in [1, 2] {
        let (left, right) = (runtime(workers), runtime(workers));
        let ball = Arc::new(AtomicUsize::new(0));
        let bat = |me: usize, peers: mpsc::Receiver<Process>| {
            let ball = ball.clone();
            move || {
                let peer = peers.recv().unwrap();
                for turn in 0..TURNS {
                    while ball.load(Ordering::Relaxed) != 2 * turn + me {
                        csp::park();
                    }
                    ball.fetch_add(1, Ordering::Relaxed);
                    peer.unpark();
                }
            }
        };
        let (to_left, left_takes) = mpsc::channel();
        let (to_right, right_takes) = mpsc::channel();
        let (left_bat, right_bat) = (bat(0, left_takes), bat(1, right_takes));
        let in_left = left.run(move || csp::spawn(left_bat));
        let in_right = right.run(move || csp::spawn(right_bat));
        to_left.send(in_right.process()).unwrap();
        to_right.send(in_left.process()).unwrap();
        in_left.join().unwrap();
        in_right.join().unwrap();
        assert_eq!(ball.load(Ordering::Relaxed), 2 * TURNS);
    }
}

#[test]
fn a_cell_may_await_a_cell_of_another_runtime() {
    let (left, right) = (runtime(2), runtime(2));
    let far = right.run(|| {
        task::spawn(async {
            task::yield_now().await;
            11
        })
    });
    let near = left.run(|| task::spawn(async { far.await.unwrap() + 1 }));
    assert_eq!(task::block_on(near).unwrap(), 12);
}

#[test]
fn handles_may_be_joined_anywhere_even_after_their_runtime() {
    let rt = runtime(2);
    let handles: Vec<_> = rt.run(|| (0..100).map(|n| csp::spawn(move || n)).collect());
    let half = handles.len() / 2;
    let mut handles = handles.into_iter();
    for (n, handle) in handles.by_ref().take(half).enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    drop(rt);
    for (n, handle) in (half..).zip(handles) {
        assert_eq!(handle.join().unwrap(), n);
    }
}

#[test]
fn os_threads_use_the_default_runtime() {
    let use_it = |n: u64| {
        std::thread::spawn(move || {
            let processes: Vec<_> = (0..100).map(|m| csp::spawn(move || n * m)).collect();
            let sum: u64 = processes.into_iter().map(|h| h.join().unwrap()).sum();
            let task = task::block_on(async { task::spawn(async { 1 }).await.unwrap() });
            csp::scope(|s| {
                s.spawn(csp::yield_now);
            });
            csp::spawn_on(0, || ()).join().unwrap();
            sum + task
        })
    };
    for (n, thread) in (0..4).map(use_it).collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), 4950 * n as u64 + 1);
    }
}

#[test]
fn runtimes_come_and_go() {
    for n in 0..200 {
        let rt = Runtime::builder().workers(n % 4 + 1).build().unwrap();
        assert_eq!(rt.workers(), n % 4 + 1);
        let sum: usize = rt.run(|| (0..10).map(|m| csp::spawn(move || m).join().unwrap()).sum());
        assert_eq!(sum, 45);
    }
}

#[test]
fn what_is_run_may_borrow() {
    let mut text = String::from("a");
    let rt = runtime(1);
    rt.run(|| text.push('b'));
    rt.block_on(async { text.push('c') });
    assert_eq!(text, "abc");
}
