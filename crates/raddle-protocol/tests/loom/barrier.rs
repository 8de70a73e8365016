//! The barrier: phases that do not overlap, and members that come and go.

use crate::parked::Parked;
use crate::{check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Barrier, WaitNode};
use std::sync::Arc;

struct Hall {
    barrier: Barrier<Parked>,
    /// What each member does in a phase.
    work: [UnsafeCell<u32>; 3],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Hall {}
// SAFETY: as above.
unsafe impl Send for Hall {}

impl Hall {
    fn new(members: usize) -> Arc<Hall> {
        let hall = Hall { barrier: Barrier::new(), work: std::array::from_fn(|_| UnsafeCell::new(0)) };
        (1..members).for_each(|_| hall.barrier.enrol());
        Arc::new(hall)
    }

    fn work(&self, who: usize) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.work[who].with_mut(|p| unsafe { *p += 1 });
    }

    fn seen(&self, who: usize) -> u32 {
        // SAFETY: as above.
        self.work[who].with(|p| unsafe { *p })
    }

    /// As `csp::Barrier::sync`.
    fn sync(&self) {
        // Leaked, as frames of a model live to its end.
        let place: &'static WaitNode<Parked> = Box::leak(Box::new(WaitNode::new(Parked::default())));
        let address = std::ptr::from_ref(place).cast_mut();
        // SAFETY: it is leaked.
        place.who.wait(|| match unsafe { self.barrier.arrive(address) } {
            None => true,
            Some(released) => {
                released.filter(|other| *other != address).for_each(wake);
                false
            }
        });
    }

    fn resign(&self) {
        self.barrier.resign().into_iter().flatten().for_each(wake);
    }
}

fn wake(place: *mut WaitNode<Parked>) {
    // SAFETY: it waits, and the frames of a model live to its end.
    unsafe { &*place }.who.wake();
}

#[test]
fn each_sees_what_the_others_did_before() {
    check(Some(1), || {
        let hall = Hall::new(2);
        let member = |who: usize, hall: Arc<Hall>| {
            move || {
                for phase in 1..=2 {
                    hall.work(who);
                    hall.sync();
                    assert_eq!(hall.seen(1 - who), phase);
                    hall.sync();
                }
            }
        };
        let other = go(member(1, hall.clone()));
        member(0, hall.clone())();
        other.join().unwrap();
    });
}

#[test]
fn one_of_three_resigns() {
    check(Some(1), || {
        let hall = Hall::new(3);
        let other = {
            let hall = hall.clone();
            go(move || {
                hall.work(1);
                hall.sync();
                assert_eq!((hall.seen(0), hall.seen(2)), (1, 1));
            })
        };
        let third = {
            let hall = hall.clone();
            go(move || {
                hall.work(2);
                hall.resign();
            })
        };
        hall.work(0);
        hall.sync();
        assert_eq!((hall.seen(1), hall.seen(2)), (1, 1));
        other.join().unwrap();
        third.join().unwrap();
        assert_eq!(hall.barrier.members(), 2);
    });
}

#[test]
fn one_is_enrolled_while_a_phase_ends() {
    check(Some(1), || {
        let hall = Hall::new(2);
        let other = {
            let hall = hall.clone();
            go(move || {
                hall.sync();
                hall.resign();
            })
        };
        // By one who has not arrived: the new member is missing from this very phase.
        hall.barrier.enrol();
        let child = {
            let hall = hall.clone();
            go(move || {
                hall.work(2);
                hall.sync();
                hall.resign();
            })
        };
        hall.sync();
        assert_eq!(hall.seen(2), 1);
        hall.resign();
        other.join().unwrap();
        child.join().unwrap();
        assert_eq!(hall.barrier.members(), 0);
    });
}

/// As a membership with a deadline that has passed, and is dropped then.
#[test]
fn one_resigns_after_it_has_arrived() {
    check(Some(2), || {
        let hall = Hall::new(2);
        let other = {
            let hall = hall.clone();
            go(move || {
                let phase = hall.barrier.phase();
                hall.work(1);
                let place: &'static WaitNode<Parked> = Box::leak(Box::new(WaitNode::new(Parked::default())));
                let address = std::ptr::from_ref(place).cast_mut();
                // SAFETY: it is leaked.
                let released = unsafe { hall.barrier.arrive(address) };
                released.into_iter().flatten().filter(|other| *other != address).for_each(wake);
                let released = hall.barrier.resign_arrived(phase);
                released.into_iter().flatten().for_each(wake);
                address as usize
            })
        };
        let place: &'static WaitNode<Parked> = Box::leak(Box::new(WaitNode::new(Parked::default())));
        let address = std::ptr::from_ref(place).cast_mut();
        // SAFETY: it is leaked.
        place.who.wait(|| match unsafe { hall.barrier.arrive(address) } {
            None => true,
            Some(released) => {
                // The other does not wait: it is in the list, and nobody wakes it.
                assert!(released.filter(|one| *one != address).count() <= 1);
                false
            }
        });
        assert_eq!(hall.seen(1), 1);
        other.join().unwrap();
        assert_eq!(hall.barrier.members(), 1);
    });
}
