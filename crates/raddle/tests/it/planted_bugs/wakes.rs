//! Wakes that are lost: conditions that are not asked again, notified too early, or under another lock; barriers.

use super::{Mended, Planted, Way, hangs, panics};
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex};
use raddle::{channel, csp, thread};
use std::collections::VecDeque;

/// A queue whose taker asks `if` it is empty, not `while`: another one may come between the wake and the lock.
#[test]
fn a_queue_asks_if_and_not_while() {
    fn take(queue: &(Mutex<VecDeque<u32>>, Condvar), way: Way) -> u32 {
        let mut items = queue.0.lock().unwrap();
        if way == Planted {
            if items.is_empty() {
                items = queue.1.wait(items).unwrap();
            }
        } else {
            items = queue.1.wait_while(items, |items| items.is_empty()).unwrap();
        }
        items.pop_front().expect("an item was promised")
    }
    fn program(way: Way) {
        let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        let takers = [0, 1].map(|_| {
            let queue = queue.clone();
            thread::spawn(move || take(&queue, way))
        });
        for item in [1, 2] {
            queue.0.lock().unwrap().push_back(item);
            queue.1.notify_one();
        }
        assert_eq!(takers.into_iter().map(|taker| taker.join().unwrap()).sum::<u32>(), 3);
    }
    panics(program, &["wakes.rs"]);
}

/// A flag is looked at before the lock is taken, so that the notice may come before the wait.
#[test]
fn a_notice_comes_before_the_wait() {
    fn program(way: Way) {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let other = shared.clone();
        let waits = thread::Builder::new().name("waits".into()).spawn(move || {
            let (ready, lock, changed) = &*other;
            if way == Planted {
                if !ready.load(SeqCst) {
                    drop(changed.wait(lock.lock().unwrap()).unwrap());
                }
            } else {
                drop(changed.wait_while(lock.lock().unwrap(), |()| !ready.load(SeqCst)).unwrap());
            }
        });
        let (ready, lock, changed) = &*shared;
        let held = (way == Mended).then(|| lock.lock().unwrap());
        ready.store(true, SeqCst);
        changed.notify_one();
        drop(held);
        waits.unwrap().join().unwrap();
    }
    hangs(program, &["'waits'", "Condvar::wait"]);
}

/// The flag is changed under another lock than the one that is waited with.
#[test]
fn a_flag_changes_under_the_wrong_lock() {
    fn program(way: Way) {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(()), Mutex::new(()), Condvar::new()));
        let other = shared.clone();
        let opens = thread::spawn(move || {
            let (open, door, window, changed) = &*other;
            let _held = if way == Planted { window.lock() } else { door.lock() }.unwrap();
            open.store(true, SeqCst);
            changed.notify_all();
        });
        let (open, door, _, changed) = &*shared;
        let mut held = door.lock().unwrap();
        while !open.load(SeqCst) {
            held = changed.wait(held).unwrap();
        }
        drop(held);
        opens.join().unwrap();
    }
    hangs(program, &["'main'", "Condvar::wait"]);
}

/// Three workers share three jobs and meet when they have done; one that found no job does not come.
#[test]
fn an_idle_worker_skips_the_barrier() {
    fn program(way: Way) {
        let (give, jobs) = channel::unbounded();
        (0..3).for_each(|job: u32| give.send(job).unwrap());
        drop(give);
        let met = Arc::new(Barrier::new(3));
        let workers = [0, 1, 2].map(|_| {
            let (jobs, met) = (jobs.clone(), met.clone());
            thread::spawn(move || {
                let done = jobs.iter().inspect(|_| thread::yield_now()).count();
                if done == 0 && way == Planted {
                    return;
                }
                met.wait();
            })
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }
    hangs(program, &["Barrier::wait"]);
}

/// Two members do two rounds; one that is called off ends, and hands its membership back with its result.
#[test]
fn a_member_ends_and_does_not_resign() {
    fn program(way: Way) {
        let first = csp::Barrier::new();
        let (call_off, called_off) = channel::bounded(1);
        let members = [first.enrol(), first].map(|mut member| {
            let called_off = called_off.clone();
            csp::spawn(move || {
                let rounds =
                    (0..2).take_while(|_| called_off.try_recv() != Ok(())).map(|_| member.sync()).count();
                (rounds, (way == Planted).then_some(member))
            })
        });
        let calls = csp::spawn(move || call_off.send(()));
        let ended = members.map(|member| member.join().unwrap());
        assert!(ended.iter().all(|(rounds, _)| *rounds <= 2));
        drop(called_off);
        let _ = calls.join().unwrap();
    }
    hangs(program, &["Barrier::sync"]);
}

/// A server looks at its stop flag between two requests, and waits for a request that never comes. The flag is a plain
/// atomic: it is raised while the server, which the request has woken, is at it.
#[test]
fn a_stop_flag_is_never_seen() {
    hangs(|way| serves(way, || ()), &["'server'", "recv"]);
}

/// The same with time for others before it is raised: seen too if the server had not begun to wait.
#[test]
fn a_stop_flag_is_raised_later_and_never_seen() {
    hangs(|way| serves(way, thread::yield_now), &["'server'", "recv"]);
}

fn serves(way: Way, before_it_is_raised: fn()) {
    let stop = Arc::new(AtomicBool::new(false));
    let (ask, asked) = channel::unbounded();
    let seen = stop.clone();
    let server = thread::Builder::new().name("server".into()).spawn(move || {
        while !seen.load(SeqCst) {
            if asked.recv().is_err() {
                break;
            }
        }
    });
    ask.send(1).unwrap();
    before_it_is_raised();
    stop.store(true, SeqCst);
    let ask = (way == Planted).then_some(ask);
    server.unwrap().join().unwrap();
    drop(ask);
}
