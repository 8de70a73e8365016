//! A fork that its flow has privately, while another flow has its handle: asked for, dropped, promoted.

use crate::parked::Parked;
use crate::{check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Asked, Asker, Interest, Promise};
use std::sync::Arc;

/// The place, with what is made of it at its promotion.
struct Fork {
    promise: Promise,
    /// What the handle's holder reads of the place, and its next user writes.
    place: UnsafeCell<u32>,
    /// The job's record: made before the promotion is seen.
    record: UnsafeCell<u32>,
    /// The act: a number, as address.
    act: *mut (),
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Fork {}
// SAFETY: as above.
unsafe impl Send for Fork {}

fn address(number: usize) -> *mut () {
    std::ptr::without_provenance_mut(number)
}

impl Fork {
    fn new() -> Arc<Self> {
        let act = address(0x101);
        Arc::new(Fork {
            promise: Promise::new(act),
            place: UnsafeCell::new(0),
            record: UnsafeCell::new(0),
            act,
        })
    }

    /// The flow promotes it, and it runs at once. True if the place is the flow's again.
    fn promote(&self) -> bool {
        assert_eq!(self.promise.act::<Parked>(), Some(self.act));
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.record.with_mut(|p| unsafe { *p = 7 });
        let interest = self.promise.promote::<Parked>(address(0x40), |_| ());
        assert_eq!(self.promise.act::<Parked>(), None);
        match interest {
            // SAFETY: it waits, and what is parked in a model lives to its end.
            Interest::Waiter(waiter) => unsafe { &*waiter }.wake(),
            Interest::Nobody => {
                // SAFETY: loom hands out the pointer after it has checked the access.
                self.place.with_mut(|p| unsafe { *p += 1 });
                return true;
            }
            Interest::Handle => {}
        }
        false
    }

    /// Who has the handle looks at the place.
    fn look(&self) {
        // SAFETY: as above.
        self.place.with(|p| unsafe { assert_eq!(*p, 0) });
    }

    fn look_at_record(&self) {
        // SAFETY: as above.
        self.record.with(|p| unsafe { assert_eq!(*p, 7) });
    }

    fn get(&self) {
        self.look();
        // Leaked, as frames of a model live to its end.
        let asker: &'static Asker<Parked> = Box::leak(Box::new(Asker::new()));
        let parked: &'static Parked = Box::leak(Box::new(Parked::default()));
        parked.wait(|| match self.promise.ask(asker, std::ptr::from_ref(parked).cast_mut()) {
            Asked::Waits => true,
            Asked::Promoted(record) => {
                assert_eq!(record, address(0x40));
                self.look_at_record();
                false
            }
        });
        assert_eq!(self.promise.record(), Some(address(0x40)));
        self.look_at_record();
    }
}

#[test]
fn a_future_is_asked_for_while_it_is_promoted() {
    check(None, || {
        let fork = Fork::new();
        let asker = {
            let fork = fork.clone();
            go(move || fork.get())
        };
        assert!(!fork.promote());
        asker.join().unwrap();
    });
}

#[test]
fn a_handle_is_dropped_while_its_future_is_promoted() {
    check(None, || {
        let fork = Fork::new();
        let holder = {
            let fork = fork.clone();
            go(move || {
                fork.look();
                match fork.promise.drop_handle() {
                    Some(record) => {
                        assert_eq!(record, address(0x40));
                        fork.look_at_record();
                        true
                    }
                    None => false,
                }
            })
        };
        let flow_has_the_place = fork.promote();
        assert!(holder.join().unwrap() != flow_has_the_place);
    });
}

#[test]
fn who_only_looks_sees_a_record_that_is_made() {
    check(None, || {
        let fork = Fork::new();
        let holder = {
            let fork = fork.clone();
            go(move || match fork.promise.record() {
                Some(_) => fork.look_at_record(),
                None => fork.look(),
            })
        };
        fork.promote();
        holder.join().unwrap();
        assert_eq!(fork.promise.private(), None);
    });
}

#[test]
fn its_own_flow_takes_it_plainly() {
    check(None, || {
        let fork = Fork::new();
        assert_eq!(fork.promise.private(), Some(fork.act));
        fork.promise.clear();
        assert_eq!(fork.promise.act::<Parked>(), None);
        fork.promise.make(fork.act);
        assert_eq!(fork.promise.private(), Some(fork.act));
    });
}
