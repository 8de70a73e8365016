//! The lock of Craig, Landin and Hagersten: nodes change hands, and are used again; one who sleeps behind a waiter is
//! called up before that one holds.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Clh;
use std::sync::Arc;

/// All look.
const NOBODY_SLEEPS: u32 = u32::MAX;

fn threads(preemptions: Option<usize>, near: u32, others: usize, times: usize) {
    check(preemptions, move || {
        let lock = Arc::new((Clh::new(near), Guarded::default()));
        let visit = move |lock: &(Clh, Guarded)| lock.0.with_each(times, || lock.1.add_one());
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
fn two_with_nodes_that_are_used_again() {
    threads(Some(3), NOBODY_SLEEPS, 1, 3);
}

#[test]
fn three() {
    threads(Some(2), NOBODY_SLEEPS, 2, 1);
}

#[test]
fn who_sleeps_is_called_up_when_its_turn_is_near() {
    threads(Some(2), 1, 2, 1);
}

/// Nobody ever thinks that it is near: the call comes with the lock.
#[test]
fn who_sleeps_is_called_up_at_the_latest_before_the_one_before_it_holds() {
    threads(Some(2), 0, 2, 1);
}
