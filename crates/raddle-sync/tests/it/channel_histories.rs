//! Linearisability: random short histories of operations on one channel, each of which must have an order of its
//! operations, in keeping with when they began and ended, that a plain queue could have gone through.
//!
//! The search is Wing and Gong's ("Testing and verifying concurrent objects", 1993).

use super::{child, runtime};
use raddle::channel::{Receiver, RecvTimeoutError, Select, Sender, TryRecvError, bounded, unbounded};
use raddle::csp;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PARTICIPANTS: u64 = 3;
const EACH: u64 = 4;

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Sent(u64),
    /// Would have waited to send.
    Full,
    Received(u64),
    /// Would have waited to receive.
    Empty,
    /// Gave up after a time, which is right at any time.
    GaveUp,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    began: u64,
    ended: u64,
    did: Did,
}

/// A random number of its own for each participant.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random >> 11
}

fn act(kind: u64, number: u64, s: &Sender<u64>, r: &Receiver<u64>) -> Did {
    let moment = Duration::from_micros(20);
    match kind % 6 {
        0 => s.try_send(number).map_or(Did::Full, |()| Did::Sent(number)),
        1 => s.send_timeout(number, moment).map_or(Did::GaveUp, |()| Did::Sent(number)),
        2 => match r.try_recv() {
            Ok(got) => Did::Received(got),
            Err(TryRecvError::Empty) => Did::Empty,
            Err(TryRecvError::Disconnected) => unreachable!("a sender is here"),
        },
        3 => match r.recv_timeout(moment) {
            Ok(got) => Did::Received(got),
            Err(RecvTimeoutError::Timeout) => Did::GaveUp,
            Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is here"),
        },
        4 => {
            let mut select = Select::new();
            select.recv(r);
            select.try_select().map_or(Did::Empty, |selected| Did::Received(selected.recv(r).unwrap()))
        }
        _ => {
            let mut select = Select::new();
            select.recv(r);
            let selected = select.select_timeout(moment);
            selected.map_or(Did::GaveUp, |selected| Did::Received(selected.recv(r).unwrap()))
        }
    }
}

fn participant(who: u64, seed: u64, clock: &AtomicU64, s: &Sender<u64>, r: &Receiver<u64>) -> Vec<Step> {
    let mut random = (seed * PARTICIPANTS + who + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // SeqCst pairs with the other participants' ticks: the times are those of one clock.
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let step = |n| {
        let kind = next(&mut random);
        let began = tick();
        let did = act(kind, who * EACH + n, s, r);
        Step { began, ended: tick(), did }
    };
    (0..EACH).map(step).collect()
}

/// Whether some order explains the steps that are not `done` yet, from this content of the queue.
fn explains(
    steps: &[Step],
    capacity: usize,
    done: u32,
    queue: &mut VecDeque<u64>,
    hopeless: &mut HashSet<(u32, VecDeque<u64>)>,
) -> bool {
    let left = || (0..steps.len()).filter(|at| done & (1 << at) == 0);
    let Some(first_end) = left().map(|at| steps[at].ended).min() else { return true };
    if hopeless.contains(&(done, queue.clone())) {
        return false;
    }
    // Only what began before everything else ended can come next.
    for at in left().filter(|at| steps[*at].began <= first_end) {
        let mut after = queue.clone();
        let possible = match steps[at].did {
            Did::Sent(number) => {
                after.push_back(number);
                after.len() <= capacity
            }
            Did::Full => after.len() == capacity,
            Did::Received(number) => after.pop_front() == Some(number),
            Did::Empty => after.is_empty(),
            Did::GaveUp => true,
        };
        if possible && explains(steps, capacity, done | 1 << at, &mut after, hopeless) {
            return true;
        }
    }
    hopeless.insert((done, queue.clone()));
    false
}

/// At a rendezvous each message's send and receive must overlap.
fn meets(steps: &[Step]) -> bool {
    steps.iter().all(|one| {
        let partner = |wanted: Did| steps.iter().find(|other| other.did == wanted);
        match one.did {
            Did::Sent(number) => {
                let other = partner(Did::Received(number));
                other.is_some_and(|other| one.began < other.ended && other.began < one.ended)
            }
            Did::Received(number) => partner(Did::Sent(number)).is_some(),
            Did::Full | Did::Empty | Did::GaveUp => true,
        }
    })
}

fn histories(spawn: impl Fn(Box<dyn FnOnce() -> Vec<Step> + Send>) -> Box<dyn FnOnce() -> Vec<Step>>) {
    for capacity in [0, 1, 2, usize::MAX] {
        for seed in 0..150 {
            let (s, r) = if capacity == usize::MAX { unbounded() } else { bounded(capacity) };
            let clock = Arc::new(AtomicU64::new(0));
            let participants: Vec<_> = (0..PARTICIPANTS)
                .map(|who| {
                    let (clock, s, r) = (clock.clone(), s.clone(), r.clone());
                    spawn(Box::new(move || participant(who, seed, &clock, &s, &r)))
                })
                .collect();
            let steps: Vec<Step> = participants.into_iter().flat_map(|join| join()).collect();
            let right = if capacity == 0 {
                meets(&steps)
            } else {
                explains(&steps, capacity, 0, &mut VecDeque::new(), &mut HashSet::new())
            };
            assert!(right, "no queue of capacity {capacity} does this (seed {seed}): {steps:#?}");
        }
    }
}

#[test]
fn os_threads_see_a_queue() {
    histories(|body| {
        let thread = std::thread::spawn(body);
        Box::new(|| thread.join().unwrap())
    });
}

#[test]
fn processes_see_a_queue() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            histories(|body| {
                let process = csp::spawn(body);
                Box::new(|| process.join().unwrap())
            });
        });
    }
}

fn sender(kind: u64, number: u64, to: &mut csp::Sender<u64>) -> Did {
    match kind % 3 {
        0 => to.try_send(number).map_or(Did::Full, |()| Did::Sent(number)),
        1 => to.send_timeout(number, Duration::from_micros(20)).map_or(Did::GaveUp, |()| Did::Sent(number)),
        _ => to.send(number).map_or(Did::GaveUp, |()| Did::Sent(number)),
    }
}

fn receiver(kind: u64, from: &mut csp::Receiver<u64>) -> Did {
    let moment = Duration::from_micros(20);
    match kind % 4 {
        0 => from.try_recv().map_or(Did::Empty, Did::Received),
        1 => from.recv_timeout(moment).map_or(Did::GaveUp, Did::Received),
        2 => csp::alt! {
            recv(*from) -> got => got.map_or(Did::GaveUp, Did::Received),
            after(moment) => Did::GaveUp,
        },
        _ => from.recv().map_or(Did::GaveUp, Did::Received),
    }
}

/// A history of the two ends of one csp channel: each message is handed over while both sides are there, in order, and
/// none is lost or doubled, whoever tries, alternates or gives up.
fn csp_history(seed: u64, processes: bool) {
    let clock = Arc::new(AtomicU64::new(0));
    let (mut to, mut from) = csp::channel();
    let steps = |end: u64, clock: Arc<AtomicU64>, act: Box<dyn FnMut(u64, u64) -> Did + Send>| {
        move || {
            // Its end of the channel goes with it.
            let mut act = act;
            let mut random = (seed * 2 + end + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // SeqCst pairs with the other end's ticks: the times are those of one clock.
            let tick = || clock.fetch_add(1, Ordering::SeqCst);
            let step = |n| {
                let kind = next(&mut random);
                let began = tick();
                let did = act(kind, n);
                Step { began, ended: tick(), did }
            };
            (0..2 * EACH).map(step).collect::<Vec<Step>>()
        }
    };
    let sends = steps(0, clock.clone(), Box::new(move |kind, n| sender(kind, n, &mut to)));
    let receives = steps(1, clock, Box::new(move |kind, _| receiver(kind, &mut from)));
    let (sent, received) = if processes {
        let (sends, receives) = (csp::spawn(sends), csp::spawn(receives));
        (sends.join().unwrap(), receives.join().unwrap())
    } else {
        let sends = std::thread::spawn(sends);
        let received = receives();
        (sends.join().unwrap(), received)
    };
    let number = |step: &Step| match step.did {
        Did::Sent(number) | Did::Received(number) => Some(number),
        _ => None,
    };
    let (gave, had): (Vec<u64>, Vec<u64>) =
        (sent.iter().filter_map(number).collect(), received.iter().filter_map(number).collect());
    assert_eq!(gave, had, "seed {seed}: {sent:#?} {received:#?}");
    assert!(meets(&[sent, received].concat()), "seed {seed}: handed over to somebody who was not there");
}

#[test]
fn csp_ends_meet() {
    (0..150).for_each(|seed| csp_history(seed, false));
    for workers in [1, 2] {
        runtime(workers).run(|| (0..300).for_each(|seed| csp_history(seed, true)));
    }
}

#[test]
fn the_search_knows_what_no_queue_does() {
    let step = |began, ended, did| Step { began, ended, did };
    let check =
        |capacity, steps: &[Step]| explains(steps, capacity, 0, &mut VecDeque::new(), &mut HashSet::new());
    let turned = [step(0, 1, Did::Sent(1)), step(2, 3, Did::Sent(2)), step(4, 5, Did::Received(2))];
    assert!(!check(2, &turned), "the second message before the first");
    assert!(!check(1, &turned[..2]), "two messages in one place");
    assert!(!check(1, &[step(0, 1, Did::Sent(1)), step(2, 3, Did::Empty)]));
    assert!(check(1, &[step(0, 3, Did::Sent(1)), step(1, 2, Did::Empty)]));
    assert!(!meets(&[step(0, 1, Did::Sent(1)), step(2, 3, Did::Received(1))]));
}

#[test]
fn a_channel_starts_no_worker() {
    let output = child::in_child("channel_histories::a_channel_starts_no_worker", || {
        let (s, r) = bounded(0);
        let other = std::thread::spawn(move || (0..100).for_each(|n| s.send(n).unwrap()));
        assert!(r.iter().eq(0..100));
        other.join().unwrap();
        let tasks = std::fs::read_dir("/proc/self/task").expect("Linux says which threads there are");
        let name =
            |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task?.path().join("comm"));
        let workers = tasks.filter_map(|task| name(task).ok()).filter(|name| name.starts_with("raddle"));
        assert_eq!(workers.count(), 0);
    });
    child::assert_success(&output);
}
