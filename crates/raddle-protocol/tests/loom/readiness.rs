//! Readiness: who waits for an edge wakes up for it, whenever it comes. The kernel is a count that is raised before the
//! edge is told; the sleep is the futex's own protocol, and a task leaves its waker in a table.

use crate::{ALL, check, go};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU32, Ordering};
use raddle_protocol::model::{Futex, Readiness, is_same_edge};
use std::sync::Arc;

const WORD: usize = 64;
const ANY: u32 = u32::MAX;

struct Descriptor {
    readiness: Readiness,
    futex: Futex,
    /// So much can be read.
    there: AtomicU32,
    /// Whether a task has left its waker.
    table: Mutex<bool>,
    /// How often one was called.
    called: AtomicU32,
}

impl Descriptor {
    fn new() -> Arc<Descriptor> {
        let (readiness, there) = (Readiness::default(), AtomicU32::new(0));
        let (table, called) = (Mutex::new(false), AtomicU32::new(0));
        Arc::new(Descriptor { readiness, futex: Futex::new(1), there, table, called })
    }

    fn try_read(&self) -> bool {
        let (relaxed, less) = (Ordering::Relaxed, |n: u32| n.checked_sub(1));
        self.there.fetch_update(relaxed, relaxed, less).is_ok()
    }

    fn read(&self) {
        loop {
            let seen = self.readiness.want();
            if self.try_read() {
                return;
            }
            let unchanged = || self.readiness.word().load(Ordering::Relaxed) == seen;
            let _why = self.futex.wait(WORD, ANY, false, unchanged);
        }
    }

    fn arrives(&self, count: u32) {
        self.there.fetch_add(count, Ordering::Relaxed);
        let told = self.readiness.tell();
        if told.waiters {
            self.futex.wake(WORD, u32::MAX, ANY);
        }
        if told.left && std::mem::take(&mut *self.table.lock().unwrap()) {
            self.called.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// As a task does: true if it has read, false if it waits.
    fn poll(&self) -> bool {
        loop {
            let seen = self.readiness.want();
            if self.try_read() {
                return true;
            }
            self.readiness.note_left();
            let mut table = self.table.lock().unwrap();
            *table = is_same_edge(self.readiness.word().load(Ordering::Relaxed), seen);
            if *table {
                return false;
            }
        }
    }
}

#[test]
fn who_waits_for_the_first_edge_is_woken() {
    check(ALL, || {
        let descriptor = Descriptor::new();
        let other = descriptor.clone();
        let reads = go(move || other.read());
        descriptor.arrives(1);
        reads.join().unwrap();
        assert!(descriptor.futex.is_empty());
    });
}

/// One edge for two messages, and two who wait: both are woken, and neither waits for an edge that will not come.
#[test]
fn one_edge_is_for_all_who_wait() {
    check(Some(2), || {
        let descriptor = Descriptor::new();
        let read = || {
            let descriptor = descriptor.clone();
            go(move || descriptor.read())
        };
        let both = [read(), read()];
        descriptor.arrives(2);
        for one in both {
            one.join().unwrap();
        }
        assert!(descriptor.futex.is_empty());
    });
}

/// Whose waker is called when it has been left, and only then, once.
#[test]
fn a_task_that_waits_is_woken_for_the_first_edge() {
    check(ALL, || {
        let descriptor = Descriptor::new();
        let other = descriptor.clone();
        let polls = go(move || other.poll());
        descriptor.arrives(1);
        let has_read = polls.join().unwrap();
        let called = descriptor.called.load(Ordering::Relaxed);
        assert_eq!((has_read, called), if called == 0 { (true, 0) } else { (false, 1) });
    });
}

/// What the first edge is for is read, and the second comes while the task waits again, beside a thread that waits.
#[test]
fn a_task_beside_a_thread_is_woken_by_a_later_edge() {
    check(Some(2), || {
        let descriptor = Descriptor::new();
        let (reader, other) = (descriptor.clone(), descriptor.clone());
        let reads = go(move || reader.read());
        let polls = go(move || other.poll());
        descriptor.arrives(1);
        descriptor.arrives(1);
        reads.join().unwrap();
        // Who has called it has left what it waited for.
        let has_read = polls.join().unwrap();
        assert!(has_read || descriptor.called.load(Ordering::Relaxed) == 1, "it waits in vain");
        assert!(has_read || descriptor.try_read(), "nothing is there for it");
    });
}
