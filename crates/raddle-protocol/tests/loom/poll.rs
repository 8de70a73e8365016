//! The poll: one idle worker sleeps there instead of at its word, and what rings is for whoever that is.
//!
//! The kernel is two flags here: the bell, which the sleeper takes back, and an event, which ends a sleep as well. A
//! sleeper sleeps for ever: a wake that is lost is a model that does not end.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicBool, Ordering};
use raddle_protocol::model::{IdleSet, Outstanding, Watch, Woken};
use std::sync::Arc;

#[derive(Default)]
struct Kernel {
    bell: AtomicBool,
    event: AtomicBool,
}

impl Kernel {
    fn of(idle: &IdleSet) -> Arc<Kernel> {
        let kernel = Arc::new(Kernel::default());
        let rung = kernel.clone();
        // As the kernel's counter, which each changes in its turn.
        idle.set_bell(Box::new(move || {
            rung.bell.swap(true, Ordering::AcqRel);
        }));
        kernel
    }

    /// Until it rings, or something has happened.
    fn wait(&self) {
        while !self.bell.swap(false, Ordering::AcqRel) && !self.event.load(Ordering::Relaxed) {
            loom::thread::yield_now();
        }
    }
}

/// In the poll if that is free, else at the worker's word.
fn sleep(idle: &IdleSet, kernel: &Kernel, worker: usize, watch: Watch) -> (Woken, bool) {
    match idle.sleep_in(worker, watch, || kernel.wait()) {
        Some(woken) => (woken, true),
        None => (idle.sleep(worker, watch), false),
    }
}

#[test]
fn who_sleeps_in_the_poll_is_woken_by_the_bell() {
    check(ALL, || {
        let idle = Arc::new(IdleSet::new(1));
        let kernel = Kernel::of(&idle);
        let waker = idle.clone();
        let watch = idle.announce(0, false);
        let wakes = go(move || waker.wake_owner(0));
        assert_eq!(sleep(&idle, &kernel, 0, watch), (Woken::ByMail, true));
        wakes.join().unwrap();
        assert!(!idle.is_polled() && idle.is_balanced(), "{idle:?}");
    });
}

/// An event ends the sleep, and the waker rings too late: the next sleep in the poll is short, and no wake is lost.
#[test]
fn a_bell_that_rings_late_ends_a_later_sleep_and_no_wake_is_lost() {
    check(Some(2), || {
        let idle = Arc::new(IdleSet::new(1));
        let kernel = Kernel::of(&idle);
        kernel.event.store(true, Ordering::Relaxed);
        let waker = idle.clone();
        let first = idle.announce(0, false);
        // It finds it asleep, or up already.
        let wakes = go(move || waker.wakes_owner(0));
        let (woken, _) = sleep(&idle, &kernel, 0, first);
        kernel.event.store(false, Ordering::Relaxed);
        let was_asleep = wakes.join().unwrap();
        assert_eq!(woken == Woken::ByMail, was_asleep);
        let watch = idle.announce(0, false);
        let waker = idle.clone();
        let wakes = go(move || {
            while !waker.wakes_owner(0) {
                loom::thread::yield_now();
            }
        });
        let (mut woken, _) = sleep(&idle, &kernel, 0, watch);
        while woken != Woken::ByMail {
            // By the first's bell, which came too late for it.
            assert!(was_asleep);
            let watch = idle.announce(0, false);
            woken = sleep(&idle, &kernel, 0, watch).0;
        }
        wakes.join().unwrap();
        assert!(idle.is_balanced(), "{idle:?}");
    });
}

/// Of three threads loom would let two spin for ever: so the second does not stay.
#[test]
fn of_two_who_lie_down_one_is_in_the_poll_and_the_other_one_is_woken_at_its_word() {
    check(ALL, || {
        let idle = Arc::new(IdleSet::new(2));
        let kernel = Kernel::of(&idle);
        let (first, second) = (idle.announce(0, false), idle.announce(1, false));
        let other = idle.clone();
        let sleeps = go(move || assert_eq!(sleep(&other, &kernel, 0, first).0, Woken::ByMail));
        if idle.sleep_in(1, second, || {}).is_none() {
            idle.cancel(1, second);
        }
        assert!(idle.wakes_owner(0));
        sleeps.join().unwrap();
        assert!(!idle.is_polled() && idle.is_balanced(), "{idle:?}");
    });
}

/// As `wait_for_work`, of a worker for which nothing else is there, until it sleeps in the poll or has `seen` it.
fn idle_until_polled(outstanding: &Outstanding, kernel: &Kernel, worker: usize) {
    let (mut is_fresh, mut polled) = (true, false);
    while !polled {
        let asks = !outstanding.is_elsewhere(worker) && outstanding.asks(worker, is_fresh);
        is_fresh = false;
        let watch = outstanding.idle().announce(worker, false);
        if outstanding.is_unkept() {
            outstanding.idle().cancel(worker, watch);
        } else if asks {
            polled = sleep(outstanding.idle(), kernel, worker, watch).1;
        } else {
            outstanding.idle().sleep(worker, watch);
        }
        loom::thread::yield_now();
    }
}

#[test]
fn what_begins_outside_has_a_sleeper_go_into_the_poll() {
    check(ALL, || {
        let outstanding = Arc::new(Outstanding::new(1));
        let kernel = Kernel::of(outstanding.idle());
        kernel.event.store(true, Ordering::Relaxed);
        let other = outstanding.clone();
        let idle = go(move || idle_until_polled(&other, &kernel, 0));
        outstanding.begin_in_poll(false);
        idle.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

/// The poll is left just when something begins: that is not left alone, since nobody is called while one is there.
#[test]
fn what_begins_while_the_poll_is_left_is_seen() {
    check(Some(2), || {
        let outstanding = Arc::new(Outstanding::new(1));
        let kernel = Kernel::of(outstanding.idle());
        kernel.event.store(true, Ordering::Relaxed);
        outstanding.begin_in_poll(false);
        let other = outstanding.clone();
        let idle = go(move || {
            idle_until_polled(&other, &kernel, 0);
            other.end();
            idle_until_polled(&other, &kernel, 0);
        });
        outstanding.begin_in_poll(false);
        idle.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

/// The first leaves the poll and becomes busy: the other one, which had found it taken, goes there.
#[test]
fn who_leaves_the_poll_for_work_is_followed() {
    check(Some(2), || {
        let outstanding = Arc::new(Outstanding::new(2));
        let kernel = Kernel::of(outstanding.idle());
        kernel.event.store(true, Ordering::Relaxed);
        outstanding.begin_in_poll(false);
        let (other, there) = (outstanding.clone(), kernel.clone());
        let second = go(move || {
            idle_until_polled(&other, &there, 1);
            other.pass_poll_on(1);
        });
        idle_until_polled(&outstanding, &kernel, 0);
        outstanding.pass_poll_on(0);
        second.join().unwrap();
        assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
    });
}

/// As `wait_for_work`, of a worker that looks around by itself: it leaves the poll once to who has just come out of it.
/// A time-out is a sleep that is given up at once. Whether it has slept in the poll; if not, another one was there, or,
/// for one that `trusts`, was on its way.
fn looks_around(
    outstanding: &Outstanding,
    kernel: &Kernel,
    worker: usize,
    (mut is_fresh, trusts): (bool, bool),
) -> bool {
    let (idle, mut has_left) = (outstanding.idle(), false);
    while !outstanding.is_elsewhere(worker) {
        let leaves = outstanding.leaves_poll(is_fresh, &mut has_left);
        let asks = !leaves && outstanding.asks(worker, is_fresh);
        is_fresh = false;
        let watch = idle.announce(worker, false);
        if !asks || outstanding.is_unkept() {
            idle.cancel(worker, watch);
            if trusts && !leaves && !asks && !outstanding.is_unkept() {
                return false;
            }
        } else if idle.sleep_in(worker, watch, || kernel.wait()).is_some() {
            return true;
        } else {
            // At its word, while that one is there.
            idle.cancel(worker, watch);
            return false;
        }
        loom::thread::yield_now();
    }
    false
}

/// One comes out of the poll, and the other one is up: whether the first stays away or comes back, somebody goes there.
fn leaves_and_looks(comes_back: bool) {
    let outstanding = Arc::new(Outstanding::new(2));
    let kernel = Kernel::of(outstanding.idle());
    kernel.event.store(true, Ordering::Relaxed);
    outstanding.begin_in_poll(true);
    assert!(looks_around(&outstanding, &kernel, 0, (true, false)));
    let (other, there) = (outstanding.clone(), kernel.clone());
    let looks = go(move || looks_around(&other, &there, 1, (false, comes_back)));
    outstanding.pass_on_to_who_looks(0);
    let polls = comes_back && looks_around(&outstanding, &kernel, 0, (true, false));
    assert!(looks.join().unwrap() || polls);
    assert!(outstanding.idle().is_balanced(), "{:?}", outstanding.idle());
}

#[test]
fn who_stays_away_from_the_poll_is_followed_by_one_that_looks_around() {
    check(ALL, || leaves_and_looks(false));
}

#[test]
fn who_comes_back_to_the_poll_finds_it_free_or_somebody_there() {
    check(Some(2), || leaves_and_looks(true));
}
