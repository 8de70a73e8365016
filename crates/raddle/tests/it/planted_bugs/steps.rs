//! Steps that belong together, with somebody else between them.

use super::{Mended, Planted, Way, panics};
use raddle::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{csp, thread};

/// An account is looked at, the log is written, and the money is taken.
#[test]
fn two_buyers_look_before_they_pay() {
    fn pay(balance: &AtomicI32, log: &Mutex<Vec<String>>, way: Way) {
        let enough = match way {
            Planted => balance.load(SeqCst) >= 10,
            Mended => balance.fetch_update(SeqCst, SeqCst, |has| (has >= 10).then_some(has - 10)).is_ok(),
        };
        if enough {
            log.lock().unwrap().push("pays 10".into());
            if way == Planted {
                balance.fetch_sub(10, SeqCst);
            }
        }
    }
    fn program(way: Way) {
        let shared = Arc::new((AtomicI32::new(15), Mutex::new(Vec::new())));
        let buyers = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || pay(&shared.0, &shared.1, way))
        });
        buyers.into_iter().for_each(|buyer| buyer.join().unwrap());
        assert!(shared.0.load(SeqCst) >= 0, "the account is overdrawn");
    }
    panics(program, &["the account is overdrawn"]);
}

/// A sum that is read under the lock and written under the lock, and not held between.
#[test]
fn a_count_is_read_and_then_written() {
    fn program(way: Way) {
        let count = Arc::new(Mutex::new(0));
        let add = move |count: &Mutex<u32>| match way {
            Planted => {
                let before = *count.lock().unwrap();
                *count.lock().unwrap() = before + 1;
            }
            Mended => *count.lock().unwrap() += 1,
        };
        let other = count.clone();
        let adds = csp::spawn(move || add(&other));
        add(&count);
        adds.join().unwrap();
        assert_eq!(*count.lock().unwrap(), 2, "both have counted");
    }
    panics(program, &["both have counted"]);
}

const NONE: usize = 9;

/// A stack of free slots by their numbers. The head is compared and swapped; planted: without a count of its changes,
/// so that it may have gone and come back while its taker looked at the next one.
struct Free {
    head: AtomicUsize,
    next: [AtomicUsize; 3],
    counts: usize,
}

impl Free {
    fn new(way: Way) -> Free {
        let next = [1, 2, NONE].map(AtomicUsize::new);
        Free { head: AtomicUsize::new(0), next, counts: if way == Mended { 10 } else { 0 } }
    }

    fn take(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head % 10 == NONE {
                return None;
            }
            thread::yield_now();
            let next = self.next[head % 10].load(SeqCst);
            thread::yield_now();
            let new = (head - head % 10 + self.counts) + next;
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return Some(head % 10);
            }
        }
    }

    fn give(&self, slot: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[slot].store(head % 10, SeqCst);
            thread::yield_now();
            let new = (head - head % 10 + self.counts) + slot;
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
}

/// The first slot is taken, the second one too, and the first given back, while somebody takes.
#[test]
fn a_slot_comes_back_in_between() {
    fn program(way: Way) {
        let free = Arc::new(Free::new(way));
        let users: Arc<[AtomicUsize; 3]> = Arc::default();
        let uses = |slot: usize, users: &[AtomicUsize; 3]| {
            assert_eq!(users[slot].fetch_add(1, SeqCst), 0, "slot {slot} has two users");
        };
        let (other, others_users) = (free.clone(), users.clone());
        let takes = csp::spawn(move || {
            let slots = [other.take(), other.take()];
            slots.into_iter().flatten().for_each(|slot| uses(slot, &others_users));
            if let Some(first) = slots[0] {
                others_users[first].store(0, SeqCst);
                other.give(first);
            }
        });
        for _ in 0..2 {
            if let Some(slot) = free.take() {
                uses(slot, &users);
            }
        }
        takes.join().unwrap();
    }
    panics(program, &["has two users"]);
}
