//! A task: those who wake it, those who poll it, and who frees it.
//!
//! Whoever is told to queue the task polls it at once, on its own thread: a queue that hands over nothing but the
//! right, so that all order between one poll and the next must come from the word.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::{Polled, TaskWord};
use std::sync::Arc;

struct Task {
    word: TaskWord,
    /// What a poll writes, and whoever frees the task.
    future: UnsafeCell<u32>,
    /// Where it ran: a poll writes it, and who queues the task next reads it.
    home: UnsafeCell<u32>,
    /// What each waker does before it wakes. Relaxed: the program relies on the wake.
    letters: [AtomicUsize; 2],
    /// What the last poll has read of them; written under `future`'s right.
    read: UnsafeCell<usize>,
    /// The poll that finds as many letters ends the future.
    wanted: usize,
    /// The first one who frees it counts it.
    freed: AtomicUsize,
    /// What who has no reference knows it by: whether it is there. Whoever frees it says so first.
    slot: Mutex<bool>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    /// In its queue, and with a waker that a thread of the test drops.
    fn wanting(wanted: usize) -> Arc<Task> {
        let word = TaskWord::new();
        assert!(word.add_ref());
        Arc::new(Task {
            word,
            future: UnsafeCell::new(0),
            home: UnsafeCell::new(0),
            letters: [AtomicUsize::new(0), AtomicUsize::new(0)],
            read: UnsafeCell::new(0),
            wanted,
            freed: AtomicUsize::new(0),
            slot: Mutex::new(true),
        })
    }

    /// What the dispatcher does with one who has taken it from a queue.
    fn poll(&self) {
        loop {
            self.word.begin_poll();
            // SAFETY: loom hands out the pointer after it has checked the access.
            self.future.with_mut(|p| unsafe { *p += 1 });
            // SAFETY: as above.
            self.home.with_mut(|p| unsafe { *p += 1 });
            let found = self.letters.iter().map(|letter| letter.load(Ordering::Relaxed)).sum();
            // SAFETY: as above.
            self.read.with_mut(|p| unsafe { *p = found });
            if found >= self.wanted {
                return self.free_if(self.word.end_and_drop_ref());
            }
            if self.word.end_poll() == Polled::Waits {
                break;
            }
            self.queue();
        }
        self.drop_ref();
    }

    /// Who queues it reads in its header where it ran.
    fn queue(&self) {
        // SAFETY: as above.
        self.home.with(|p| unsafe { *p });
    }

    fn wake(&self) {
        if self.word.wake() {
            self.queue();
            self.poll();
        }
    }

    fn drop_ref(&self) {
        self.free_if(self.word.drop_ref());
    }

    fn free_if(&self, is_last: bool) {
        if is_last {
            *self.slot.lock().unwrap() = false;
            // SAFETY: as above.
            self.future.with_mut(|p| unsafe { *p = u32::MAX });
            // SAFETY: as above.
            self.home.with_mut(|p| unsafe { *p = u32::MAX });
            self.freed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A thread that has a waker.
    fn waker(self: &Arc<Task>, number: usize) -> loom::thread::JoinHandle<()> {
        assert!(self.word.add_ref());
        let task = self.clone();
        go(move || {
            task.letters[number].store(1, Ordering::Relaxed);
            task.wake();
            task.drop_ref();
        })
    }

    /// What the last poll read; all threads are joined, and it was freed once.
    fn end(&self, word_is_done: bool) -> usize {
        assert_eq!(self.freed.load(Ordering::Relaxed), 1, "freed twice, or never");
        assert_eq!(self.word.is_done(), word_is_done);
        // SAFETY: as above.
        self.read.with(|p| unsafe { *p })
    }
}

#[test]
fn a_poll_comes_after_a_wake_and_sees_what_the_waker_did() {
    check(ALL, || {
        let task = Task::wanting(9);
        let waker = task.waker(0);
        task.poll();
        task.drop_ref();
        waker.join().unwrap();
        assert_eq!(task.end(false), 1, "the wake is lost");
    });
}

#[test]
fn the_last_poll_sees_what_both_wakers_did() {
    check(Some(3), || {
        let task = Task::wanting(9);
        let wakers = [task.waker(0), task.waker(1)];
        task.poll();
        task.drop_ref();
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        assert_eq!(task.end(false), 2, "a wake is lost");
    });
}

#[test]
fn a_future_that_ends_is_polled_no_more_and_freed_once() {
    check(Some(3), || {
        let task = Task::wanting(1);
        let wakers = [task.waker(0), task.waker(1)];
        task.poll();
        task.drop_ref();
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        assert!(task.end(true) >= 1);
    });
}

#[test]
fn one_that_nobody_can_wake_is_freed_without_an_end() {
    check(ALL, || {
        let task = Task::wanting(9);
        assert!(task.word.add_ref());
        let holder = task.clone();
        let holder = go(move || holder.drop_ref());
        task.poll();
        task.drop_ref();
        holder.join().unwrap();
        assert_eq!(task.end(false), 0);
    });
}

/// As a task is aborted: by way of its slot, with no reference.
#[test]
fn one_that_may_be_gone_is_woken_or_left_alone() {
    check(ALL, || {
        let task = Task::wanting(9);
        let weak = task.clone();
        let aborts = go(move || {
            let is_there = weak.slot.lock().unwrap();
            let woken = *is_there && weak.word.try_add_ref();
            drop(is_there);
            if woken {
                weak.letters[0].store(1, Ordering::Relaxed);
                weak.wake();
                weak.drop_ref();
            }
            woken
        });
        task.poll();
        task.drop_ref();
        let woken = aborts.join().unwrap();
        assert_eq!(task.end(false), usize::from(woken), "woken, and has not seen why");
    });
}
