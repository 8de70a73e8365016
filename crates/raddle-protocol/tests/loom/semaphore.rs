//! The semaphore: permits are neither lost nor made, and who gets one sees what those did who had it.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Semaphore;
use std::sync::Arc;

fn of(permits: usize) -> Arc<(Semaphore, Guarded)> {
    Arc::new((Semaphore::new(permits), Guarded::default()))
}

#[test]
fn one_permit_is_a_lock() {
    check(ALL, || {
        let shared = of(1);
        let visit = |shared: &(Semaphore, Guarded)| {
            assert!(shared.0.take(1, false));
            shared.1.add_one();
            shared.0.give(1);
        };
        let other = shared.clone();
        let other = go(move || visit(&other));
        visit(&shared);
        other.join().unwrap();
        assert_eq!((shared.0.permits(), shared.1.read()), (1, 2));
    });
}

/// Both permits come from others; the second of them hands both over.
#[test]
fn who_needs_two_sees_what_both_givers_did() {
    check(Some(1), || {
        let shared = Arc::new((Semaphore::new(0), [Guarded::default(), Guarded::default()]));
        let givers = [0, 1].map(|n| {
            let shared = shared.clone();
            go(move || {
                shared.1[n].add_one();
                shared.0.give(1);
            })
        });
        assert!(shared.0.take(2, false));
        assert_eq!(shared.1[0].read() + shared.1[1].read(), 2);
        givers.into_iter().for_each(|giver| giver.join().unwrap());
        assert_eq!(shared.0.permits(), 0);
    });
}

#[test]
fn who_gives_up_neither_takes_a_permit_nor_keeps_the_next_from_it() {
    check(Some(1), || {
        let shared = of(0);
        let (gives_up, waits) = (shared.clone(), shared.clone());
        let gives_up = go(move || {
            if gives_up.0.take(1, true) {
                gives_up.0.give(1);
            }
        });
        let waits = go(move || assert!(waits.0.take(1, false)));
        shared.0.give(1);
        gives_up.join().unwrap();
        waits.join().unwrap();
        assert_eq!(shared.0.permits(), 0);
    });
}

/// One who gives up was the last in the list, and there are permits enough for the next.
#[test]
fn who_gives_up_leaves_the_permits_to_one_who_wants_less() {
    check(Some(1), || {
        let shared = of(1);
        let wants_less = shared.clone();
        let wants_less = go(move || {
            assert!(wants_less.0.take(1, false));
            wants_less.0.give(1);
        });
        // Here, and not there: to leave it in the middle is the one time that the model may.
        assert!(!shared.0.take(2, true));
        wants_less.join().unwrap();
        assert_eq!(shared.0.permits(), 1);
    });
}

#[test]
fn who_waits_while_it_is_closed_is_told() {
    check(ALL, || {
        let shared = of(0);
        let other = shared.clone();
        let waits = go(move || other.0.take(1, false));
        shared.0.close();
        assert!(!waits.join().unwrap());
    });
}

/// A future that is dropped in the list, or after it was given what it had waited for, and before it is told.
#[test]
fn a_future_that_is_dropped_gives_what_it_was_given_to_the_next() {
    check(Some(2), || {
        let shared = of(0);
        let (dropped, waits) = (shared.clone(), shared.clone());
        let dropped = go(move || dropped.0.take_and_drop(1));
        let waits = go(move || assert!(waits.0.take(1, false)));
        shared.0.give(1);
        let _given = dropped.join().unwrap();
        waits.join().unwrap();
        assert_eq!(shared.0.permits(), 0);
    });
}
