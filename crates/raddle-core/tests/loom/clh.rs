//! The lock of Craig, Landin and Hagersten: nodes change hands, and are used again.

use crate::{ALL, Guarded, check, go};
use raddle_core::model::Clh;
use std::sync::Arc;

fn threads(preemptions: Option<usize>, others: usize, times: usize) {
    check(preemptions, move || {
        let lock: Arc<(Clh, Guarded)> = Arc::default();
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
    threads(ALL, 1, 1);
}

#[test]
fn two_with_nodes_that_are_used_again() {
    threads(Some(3), 1, 3);
}

#[test]
fn three() {
    threads(Some(2), 2, 1);
}
