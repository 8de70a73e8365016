//! The condition variable: no notification is lost between the unlock and the wait, and none counts twice.

use crate::{Guarded, check, go};
use raddle_protocol::model::{Cond, Mutex};
use std::sync::Arc;

type Shared = Arc<(Mutex, Cond, Guarded)>;

/// Waits until the guarded number is not zero.
fn wait_for_it(shared: &Shared) {
    shared.0.lock();
    while shared.2.read() == 0 {
        let notified = shared.1.wait(&shared.0, false);
        assert!(notified, "there is no deadline");
    }
    shared.0.unlock(false);
}

fn set(shared: &Shared) {
    shared.0.lock();
    shared.2.add_one();
    shared.0.unlock(false);
}

fn shared() -> Shared {
    Arc::new((Mutex::default(), Cond::default(), Guarded::default()))
}

#[test]
fn one_that_waits_is_told() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let waits = go(move || wait_for_it(&other));
        set(&shared);
        shared.1.notify_one();
        waits.join().unwrap();
    });
}

#[test]
fn all_that_wait_are_told() {
    check(Some(2), || {
        let shared = shared();
        let waits = [shared.clone(), shared.clone()].map(|other| go(move || wait_for_it(&other)));
        set(&shared);
        shared.1.notify_all();
        waits.into_iter().for_each(|waits| waits.join().unwrap());
    });
}

/// A notification that meets one whose deadline passes goes to the other.
#[test]
fn a_deadline_does_not_swallow_a_notification() {
    check(Some(2), || {
        let shared = shared();
        let (gives_up, waits) = (shared.clone(), shared.clone());
        let gives_up = go(move || {
            gives_up.0.lock();
            let notified = gives_up.1.wait(&gives_up.0, true);
            gives_up.0.unlock(false);
            if notified {
                gives_up.1.notify_one();
            }
        });
        let waits = go(move || wait_for_it(&waits));
        set(&shared);
        shared.1.notify_one();
        gives_up.join().unwrap();
        waits.join().unwrap();
    });
}
