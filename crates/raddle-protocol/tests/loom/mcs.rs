//! The lock of Mellor-Crummey and Scott: a grant, a link that comes late, a queue that empties; one who sleeps, and is
//! called up, or granted in its sleep.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Mcs;
use std::sync::Arc;

/// All look.
const NOBODY_SLEEPS: u32 = u32::MAX;

fn threads(preemptions: Option<usize>, near: u32, others: usize, times: usize) {
    check(preemptions, move || {
        let lock = Arc::new((Mcs::new(near), Guarded::default()));
        let visit = move |lock: &(Mcs, Guarded)| (0..times).for_each(|_| lock.0.with(|| lock.1.add_one()));
        let others: Vec<_> = (0..others)
            .map(|_| {
                let lock = lock.clone();
                go(move || visit(&lock))
            })
            .collect();
        visit(&lock);
        let threads = others.len() + 1;
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(lock.1.read() as usize, threads * times);
    });
}

#[test]
fn two() {
    threads(ALL, NOBODY_SLEEPS, 1, 1);
}

#[test]
fn two_again_and_again() {
    threads(Some(3), NOBODY_SLEEPS, 1, 2);
}

#[test]
fn three() {
    threads(Some(2), NOBODY_SLEEPS, 2, 1);
}

#[test]
fn who_waits_sleeps_until_its_grant() {
    threads(ALL, 0, 1, 1);
}

#[test]
fn who_sleeps_is_called_up() {
    threads(Some(2), 1, 2, 1);
}

#[test]
fn a_try_sees_what_was_done() {
    check(ALL, || {
        let lock = Arc::new((Mcs::new(NOBODY_SLEEPS), Guarded::default()));
        let other = lock.clone();
        let other = go(move || other.0.with(|| other.1.add_one()));
        lock.0.try_with(|| lock.1.add_one());
        other.join().unwrap();
    });
}
