//! What is done once: by one, seen by all, tried again after a panic.

use crate::{ALL, Guarded, check, go};
use raddle_protocol::model::Once;
use std::sync::Arc;

fn shared() -> Arc<(Once, Guarded)> {
    Arc::default()
}

/// Does it, if it is not done; the first attempt fails if `fails`.
fn once(shared: &(Once, Guarded), fails: bool) {
    if shared.0.begin().is_some() {
        shared.1.add_one();
        shared.0.finish(fails && shared.1.read() == 1);
    }
}

#[test]
fn one_does_it_and_both_see_it() {
    check(ALL, || {
        let shared = shared();
        let other = shared.clone();
        let other = go(move || once(&other, false));
        once(&shared, false);
        assert_eq!(shared.1.read(), 1);
        other.join().unwrap();
    });
}

#[test]
fn who_finds_it_done_sees_it() {
    check(ALL, || {
        let shared = shared();
        let other = shared.clone();
        let other = go(move || once(&other, false));
        if shared.0.is_complete() {
            assert_eq!(shared.1.read(), 1);
        }
        other.join().unwrap();
    });
}

#[test]
fn who_tries_again_sees_what_the_first_left() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let other = go(move || once(&other, true));
        once(&shared, true);
        other.join().unwrap();
    });
}

#[test]
fn all_that_wait_are_woken() {
    check(Some(2), || {
        let shared = shared();
        let waits = [shared.clone(), shared.clone()].map(|other| {
            go(move || {
                other.0.wait();
                assert_eq!(other.1.read(), 1);
            })
        });
        once(&shared, false);
        waits.into_iter().for_each(|waits| waits.join().unwrap());
    });
}
