//! Readiness: who waits for an edge wakes up for it, whenever it comes. The kernel is a flag that is set before the
//! edge is told; the sleep is the futex's own protocol.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicU32, Ordering};
use raddle_protocol::model::{Futex, Readiness};
use std::sync::Arc;

const WORD: usize = 64;
const ANY: u32 = u32::MAX;

struct Descriptor {
    readiness: Readiness,
    futex: Futex,
    /// So much can be read.
    there: AtomicU32,
}

impl Descriptor {
    fn new() -> Arc<Descriptor> {
        let (readiness, there) = (Readiness::default(), AtomicU32::new(0));
        Arc::new(Descriptor { readiness, futex: Futex::new(1), there })
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
        if self.readiness.tell() {
            self.futex.wake(WORD, u32::MAX, ANY);
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
