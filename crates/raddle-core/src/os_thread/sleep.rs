//! Owns: the marks of OS threads that sleep until somebody wakes them, and how often that has happened.
//! May use: `block::current`, `observe::watcher`.
//! Never: a lock, but for the first sleep of an OS thread.
//!
//! It uses the record of the calling OS thread.

use super::record::{Record, own_record};
use crate::block::current_header;
use crate::observe::note_change;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many OS threads have been woken, and how many of them have noticed.
static WOKEN: AtomicU64 = AtomicU64::new(0);
static NOTICED: AtomicU64 = AtomicU64::new(0);

/// How often an OS thread of the program has gone to sleep without a deadline.
static SLEEPS: AtomicU64 = AtomicU64::new(0);

/// A number that is another when one more has gone to sleep.
pub fn sleeps() -> u64 {
    // Acquire pairs with the release in `Asleep::new`: who is counted is seen asleep.
    SLEEPS.load(Ordering::Acquire)
}

/// An OS thread that sleeps is about to be woken.
pub(crate) fn note_wake() {
    // Release pairs with the acquire in `wakes`.
    WOKEN.fetch_add(1, Ordering::Release);
}

/// An OS thread has seen that it is woken before it slept.
pub(crate) fn note_noticed() {
    // Release pairs with the acquire in `wakes`.
    NOTICED.fetch_add(1, Ordering::Release);
}

/// How many wakes there have been, if each of them has been noticed.
pub fn wakes() -> Option<u64> {
    // Acquire pairs with the releases of both counts: who has noticed one has been woken before.
    let noticed = NOTICED.load(Ordering::Acquire);
    // Acquire pairs with the release in `note_wake`.
    (WOKEN.load(Ordering::Acquire) == noticed).then_some(noticed)
}

/// Marks an OS thread of the program as one that sleeps until somebody wakes it.
pub(crate) struct Asleep(Option<&'static Record>);

impl Asleep {
    /// The calling OS thread goes to sleep, without a deadline if `for_good`.
    pub(crate) fn new(for_good: bool) -> Asleep {
        let record = (for_good && current_header().is_null()).then(own_record).flatten();
        if let Some(record) = record {
            // Release pairs with the acquire in `Record::sleeps`.
            record.sleep_count.fetch_add(1, Ordering::Release);
            // Perhaps the last that could have woken anybody. Release pairs with the acquire in `sleeps`.
            SLEEPS.fetch_add(1, Ordering::Release);
            note_change();
        }
        Asleep(record)
    }

    /// It has been woken.
    pub(crate) fn woken(self) {
        drop(self);
        // Release pairs with the acquire in `wakes`: it is not seen as one that sleeps any more.
        NOTICED.fetch_add(1, Ordering::Release);
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        if let Some(record) = self.0 {
            // Release pairs with the acquire in `Record::sleeps`.
            record.sleep_count.fetch_add(1, Ordering::Release);
        }
    }
}
