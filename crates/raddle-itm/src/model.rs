//! Owns: loom's models of the clock: readers see one moment, no commit is lost, and no sleeper.
//! May use: `clock`, `loom`.
//! Never: a word of more than one value.

use crate::clock::CommitClock;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

loom::lazy_static! {
    /// What the kernel keeps: nobody sleeps who has not seen the word unchanged under its lock.
    static ref FUTEX: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

pub(crate) fn sleep(word: &AtomicU64, seen: u64) {
    let guard = FUTEX.0.lock().unwrap();
    if word.load(Ordering::Relaxed) == seen {
        drop(FUTEX.1.wait(guard).unwrap());
    }
}

pub(crate) fn wake() {
    drop(FUTEX.0.lock().unwrap());
    FUTEX.1.notify_all();
}

struct Memory {
    clock: CommitClock,
    words: [AtomicU64; 2],
}

impl Memory {
    fn new() -> Arc<Memory> {
        Arc::new(Memory { clock: CommitClock::new(), words: [AtomicU64::new(10), AtomicU64::new(0)] })
    }

    /// What both words are at one moment, which is returned, too.
    fn read(&self) -> ([u64; 2], u64) {
        loop {
            let moment = self.clock.now();
            let mut values = [0; 2];
            let mut is_one = true;
            for (value, word) in values.iter_mut().zip(&self.words) {
                *value = word.load(Ordering::Relaxed);
                is_one &= self.clock.is_still(moment);
            }
            if is_one {
                return (values, moment);
            }
        }
    }

    /// Moves one from the first to the second.
    fn moves(&self) {
        loop {
            let ([from, to], moment) = self.read();
            if self.clock.lock(moment) {
                self.words[0].store(from - 1, Ordering::Relaxed);
                self.words[1].store(to + 1, Ordering::Relaxed);
                return self.clock.unlock(moment);
            }
        }
    }
}

fn check(threads: usize, body: fn(&Memory)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let memory = Memory::new();
        let others: Vec<_> = (0..threads)
            .map(|_| {
                let memory = memory.clone();
                thread::spawn(move || body(&memory))
            })
            .collect();
        memory.moves();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(memory.read().0.iter().sum::<u64>(), 10);
    });
}

#[test]
fn a_reader_sees_one_moment() {
    check(1, |memory| {
        let ([from, to], _) = memory.read();
        assert_eq!(from + to, 10);
    });
}

#[test]
fn no_commit_is_lost() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Memory::new();
        let other = memory.clone();
        let other = thread::spawn(move || other.moves());
        memory.moves();
        other.join().unwrap();
        assert_eq!(memory.read().0, [8, 2]);
    });
}

#[test]
fn nobody_sleeps_for_ever() {
    check(1, |memory| {
        memory.read();
        memory.moves();
    });
}
