//! Owns: the minimum instructions of each lock for short sections, without contention.
//! May use: atomics.
//! Never: a branch that waits; a lock that is not free is an error of this program.
//!
//! A spinlock or CLH lock takes one locked instruction to acquire and a store to release. MCS takes a locked one to
//! release, too: it must atomically check that there is no successor and remove itself from the queue.

use std::cell::Cell;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (word, tail) = (CacheLine(AtomicUsize::new(0)), CacheLine(AtomicPtr::new(std::ptr::null_mut())));
    let (word, tail) = (&black_box(&word).0, &black_box(&tail).0);
    match job.text("lock")? {
        "spin" | "clh" => with(job, |count| swap_and_store(word, count)),
        "mcs" => with(job, |count| swap_and_exchange(tail, count)),
        other => Err(format!("no floor of the lock {other}")),
    }
}

/// Alone in its cache line.
#[repr(align(64))]
struct CacheLine<T>(T);

/// The node of an MCS lock.
struct McsNode {
    next: AtomicPtr<McsNode>,
}

fn swap_and_store(word: &AtomicUsize, count: &Cell<u64>) {
    assert_eq!(word.swap(1, Ordering::Acquire), 0, "nobody else is here");
    count.set(count.get() + 1);
    word.store(0, Ordering::Release);
}

fn swap_and_exchange(tail: &AtomicPtr<McsNode>, count: &Cell<u64>) {
    let node = McsNode { next: AtomicPtr::new(std::ptr::null_mut()) };
    let me = std::ptr::from_ref(&node).cast_mut();
    assert!(tail.swap(me, Ordering::AcqRel).is_null(), "nobody else is here");
    count.set(count.get() + 1);
    let nobody = std::ptr::null_mut();
    let alone = node.next.load(Ordering::Relaxed).is_null()
        && tail.compare_exchange(me, nobody, Ordering::Release, Ordering::Relaxed).is_ok();
    assert!(alone, "nobody else is here");
}

fn with(job: &Job, visit: impl Fn(&Cell<u64>)) -> Result<Vec<Sample>, String> {
    let rounds = job.number("rounds")?;
    job.plan.time(rounds, || {
        let count = Cell::new(0);
        (0..rounds).for_each(|_| visit(black_box(&count)));
        count.get()
    })
}
