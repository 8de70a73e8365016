//! What is outstanding: as long as something is, and a worker is idle, some idle worker asks.
//!
//! A sleeper here sleeps for ever, though the protocol's keeper has a time-out: so an idle worker that should ask and
//! sleeps instead is a model that does not end.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::Outstanding;
use std::sync::Arc;

/// As `wait_for_work`, until this worker asks.
fn idle_until_it_asks(outstanding: &Outstanding, worker: usize) {
    let mut is_fresh = true;
    while !outstanding.asks(worker, is_fresh) {
        is_fresh = false;
        let watch = outstanding.idle().announce(worker, false);
        if outstanding.is_unkept() {
            outstanding.idle().cancel(worker, watch);
        } else {
            outstanding.idle().sleep(worker, watch);
        }
        loom::thread::yield_now();
    }
}

#[test]
fn what_begins_is_asked_for_by_the_one_who_falls_idle() {
    check(ALL, || {
        let outstanding = Arc::new(Outstanding::new(1));
        let other = outstanding.clone();
        let idle = go(move || idle_until_it_asks(&other, 0));
        outstanding.begin(false);
        idle.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

#[test]
fn a_second_beginning_calls_the_keeper() {
    check(ALL, || {
        let outstanding = Arc::new(Outstanding::new(2));
        outstanding.begin(false);
        assert!(outstanding.asks(0, true), "something is outstanding");
        // The keeper has its answer, and lies down; what begins now is not in that answer.
        let watch = outstanding.idle().announce(0, false);
        let other = outstanding.clone();
        let begins = go(move || other.begin(true));
        outstanding.idle().sleep(0, watch);
        begins.join().unwrap();
        assert!(outstanding.asks(0, false), "it keeps asking");
    });
}

/// It keeps asking for one poller, and asks the other too early: what begins there is found all the same.
#[test]
fn what_begins_behind_the_question_is_asked_for() {
    check(ALL, || {
        let shared = Arc::new((Outstanding::new(1), AtomicUsize::new(0)));
        shared.0.begin(false);
        let other = shared.clone();
        let begins = go(move || other.0.begin_at(&other.1, false));
        let (outstanding, count) = &*shared;
        loop {
            let begun = outstanding.begun();
            assert!(outstanding.asks(0, true), "something is outstanding");
            if count.load(Ordering::Acquire) > 0 {
                break;
            }
            let watch = outstanding.idle().announce(0, false);
            if outstanding.is_unkept() || outstanding.begun() != begun {
                outstanding.idle().cancel(0, watch);
            } else {
                outstanding.idle().sleep(0, watch);
            }
            loom::thread::yield_now();
        }
        begins.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

#[test]
fn a_keeper_that_becomes_busy_is_followed_by_another() {
    check(ALL, || {
        let outstanding = Arc::new(Outstanding::new(2));
        outstanding.begin(false);
        assert!(outstanding.asks(1, true), "something is outstanding");
        let other = outstanding.clone();
        let sleeper = go(move || {
            // It was idle before the other one.
            let mut first = true;
            while first || !other.asks(0, false) {
                first = false;
                let watch = other.idle().announce(0, false);
                if other.is_unkept() {
                    other.idle().cancel(0, watch);
                } else {
                    other.idle().sleep(0, watch);
                }
                loom::thread::yield_now();
            }
        });
        outstanding.pass_on(1);
        sleeper.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

#[test]
fn a_keeper_may_get_up_while_something_begins() {
    check(Some(3), || {
        let outstanding = Arc::new(Outstanding::new(2));
        assert!(!outstanding.asks(1, true), "nothing is outstanding");
        let idle = {
            let other = outstanding.clone();
            go(move || idle_until_it_asks(&other, 0))
        };
        let keeper = {
            let other = outstanding.clone();
            go(move || {
                let _perhaps = other.asks(1, true);
                other.pass_on(1);
            })
        };
        outstanding.begin(false);
        keeper.join().unwrap();
        idle.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}
