//! One who waits before it has left its stack, and is woken by another worker: resumed there if it has left, else
//! handed to the worker that it is leaving. It is resumed once, where its context is seen saved, and never lost.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Departure, Inbox, Rendezvous, Seen, Things};
use std::sync::Arc;

/// What a waiter has in its frame, and the context that is saved when it leaves.
#[repr(align(8))]
struct Waiter {
    value: UnsafeCell<u32>,
    context: UnsafeCell<u32>,
    departure: Departure,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Waiter {}
// SAFETY: as above.
unsafe impl Send for Waiter {}

const SAVED: u32 = 1;

impl Waiter {
    fn new() -> Waiter {
        let (value, context) = (UnsafeCell::new(7), UnsafeCell::new(0));
        Waiter { value, context, departure: Departure::of_running() }
    }

    /// The switch away from it.
    fn leave(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.context.with_mut(|p| unsafe { *p = SAVED });
        self.departure.leave();
    }

    /// It goes on: its context is used up, and its frame is its own.
    fn resume(&self) {
        // SAFETY: as above.
        let before = self.context.with_mut(|p| unsafe { p.replace(0) });
        assert_eq!(before, SAVED, "it is resumed once, and when it has left");
        // SAFETY: as above.
        self.value.with_mut(|p| unsafe { *p = 0 });
    }
}

#[test]
fn who_is_woken_on_its_way_out_goes_on_once_and_where_it_has_left() {
    check(ALL, || {
        let word = Arc::new(Rendezvous::new());
        let (waiter, mail) = (Arc::new(Waiter::new()), Inbox::default());
        let (things, mail) = (Things::new(1), Arc::new(mail));
        let right = things.make(0);
        let other = {
            let (word, waiter, mail) = (word.clone(), waiter.clone(), mail.clone());
            go(move || {
                let Seen::Firm(_) = word.look() else { return false };
                // SAFETY: loom hands out the pointer after it has checked the access.
                assert_eq!(waiter.value.with(|p| unsafe { *p }), 7);
                word.clear();
                if waiter.departure.has_left() {
                    waiter.resume();
                } else {
                    assert!(!mail.push(right), "its worker is awake");
                }
                true
            })
        };
        assert!(word.wait(std::ptr::from_ref(&*waiter).cast_mut()).is_ok(), "nobody else waits");
        waiter.leave();
        // Its worker looks for mail, and again when it has been called.
        let mut came = take(&mail);
        if came {
            waiter.resume();
        }
        let was_woken = other.join().unwrap();
        if take(&mail) {
            assert!(!came, "its right is one");
            came = true;
            waiter.resume();
        }
        // SAFETY: as above.
        let goes_on = waiter.value.with(|p| unsafe { *p }) == 0;
        assert_eq!(goes_on, was_woken);
        assert!(was_woken || !came);
        // Nobody is to be left in the word when it goes.
        word.clear();
    });
}

/// Whether the waiter's right was among the mail.
fn take(mail: &Inbox) -> bool {
    !mail.run_all().is_empty()
}
