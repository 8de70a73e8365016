//! Sleep and wake: sleepers, searchers, notifiers and knockers.
//!
//! Work is a flag that is read and written relaxed: all order must come from the idle protocol. A looker sleeps
//! without a time-out here, so a wake may be lost only where the page allows it.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicBool, Ordering};
use raddle_core::model::{IdleSet, Inbox, Things, Watch, Woken};
use std::sync::Arc;

/// Work for anybody: two places, each empty or full.
struct Place {
    idle: IdleSet,
    work: [AtomicBool; 2],
}

impl Place {
    fn new(workers: usize) -> Arc<Place> {
        Arc::new(Place {
            idle: IdleSet::new(workers),
            work: [AtomicBool::new(false), AtomicBool::new(false)],
        })
    }

    fn publish(&self, which: usize) {
        self.work[which].store(true, Ordering::Relaxed);
        self.idle.notify();
    }

    fn sees_work(&self) -> bool {
        self.work.iter().any(|w| w.load(Ordering::Relaxed))
    }

    fn take(&self) -> Option<usize> {
        self.work.iter().position(|w| w.load(Ordering::Relaxed) && w.swap(false, Ordering::Relaxed))
    }

    /// As `wait_for_work`: searches if it may, else sleeps, until it has found something.
    fn wait_for_work(&self, worker: usize, mut searching: bool) -> usize {
        loop {
            if let Some(found) = searching.then(|| self.take()).flatten() {
                if self.idle.found() && self.sees_work() {
                    self.idle.notify();
                }
                return found;
            }
            let watch = self.idle.announce(worker, searching);
            let woken = if self.sees_work() {
                self.idle.cancel(worker, watch)
            } else {
                self.idle.sleep(worker, watch)
            };
            searching = woken == Woken::ToSearch || (woken == Woken::ByItself && self.idle.try_search());
            if !searching {
                loom::thread::yield_now();
            }
        }
    }
}

#[test]
fn work_for_anybody_wakes_a_sleeper() {
    check(ALL, || {
        let place = Place::new(2);
        let sleeper = {
            let place = place.clone();
            go(move || place.wait_for_work(1, false))
        };
        place.publish(0);
        assert_eq!(sleeper.join().unwrap(), 0);
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn a_searcher_that_gives_up_looks_once_more() {
    check(ALL, || {
        let place = Place::new(2);
        assert!(place.idle.try_search());
        let searcher = {
            let place = place.clone();
            go(move || place.wait_for_work(1, true))
        };
        place.publish(0);
        assert_eq!(searcher.join().unwrap(), 0);
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn a_searcher_that_finds_passes_the_search_on() {
    check(Some(3), || {
        let place = Place::new(3);
        place.work[0].store(true, Ordering::Relaxed);
        assert!(place.idle.try_search());
        // The second work comes while worker 1 is leaving its search with the first; worker 2 sleeps.
        let asleep = place.idle.announce(2, false);
        let searcher = {
            let place = place.clone();
            go(move || {
                place.wait_for_work(1, true);
            })
        };
        let notifier = {
            let place = place.clone();
            go(move || place.publish(1))
        };
        place.idle.sleep(2, asleep);
        searcher.join().unwrap();
        notifier.join().unwrap();
    });
}

#[test]
fn two_sleepers_get_two_works() {
    check(Some(2), || {
        let place = Place::new(3);
        let sleep = |worker| {
            let place = place.clone();
            go(move || place.wait_for_work(worker, false))
        };
        let sleepers = [sleep(1), sleep(2)];
        place.publish(0);
        place.publish(1);
        let mut taken = sleepers.map(|sleeper| sleeper.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [0, 1]);
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn a_knock_reaches_a_sleeper_that_nobody_watches_for() {
    check(Some(3), || {
        let place = Place::new(2);
        let asleep = place.idle.announce(0, false);
        let spawner = {
            let place = place.clone();
            go(move || {
                place.idle.cancel(0, asleep);
                // Up, by mail or by itself. If worker 1 took it for a sleeper, it sleeps without a time-out: wake it.
                place.idle.knock_if_wanted();
            })
        };
        let waker = {
            let place = place.clone();
            go(move || place.idle.wake_owner(0))
        };
        let watch = place.idle.announce(1, false);
        if watch == Watch::NobodyBusy {
            place.idle.sleep(1, watch);
        } else {
            // A looker's doze ends by itself: a knock may miss it.
            place.idle.cancel(1, watch);
        }
        spawner.join().unwrap();
        waker.join().unwrap();
    });
}

#[test]
fn an_alarm_from_outside_is_reckoned_with() {
    check(ALL, || {
        let place = Place::new(1);
        let outside = {
            let place = place.clone();
            go(move || {
                // `work[0]` stands for the keeper's earliest deadline.
                place.work[0].store(true, Ordering::Relaxed);
                place.idle.wake_for_alarm(0);
            })
        };
        while !place.work[0].load(Ordering::Relaxed) {
            let watch = place.idle.announce(0, false);
            if place.work[0].load(Ordering::Relaxed) {
                place.idle.cancel(0, watch);
            } else {
                place.idle.sleep(0, watch);
            }
        }
        outside.join().unwrap();
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn a_waker_that_is_slow_to_count_corrupts_nothing() {
    check(Some(3), || {
        // The word at rest is right again whoever counts first: the waker that moved the bed, or the woken one that has
        // found work and gone, and a third that announces itself, knocks and leaves in between.
        let place = Place::new(2);
        let asleep = place.idle.announce(0, false);
        let waker = {
            let place = place.clone();
            go(move || place.idle.notify())
        };
        let third = {
            let place = place.clone();
            go(move || {
                place.idle.knock_if_wanted();
                let watch = place.idle.announce(1, false);
                if place.idle.cancel(1, watch) == Woken::ToSearch {
                    place.idle.found();
                }
            })
        };
        if place.idle.cancel(0, asleep) == Woken::ToSearch {
            place.idle.found();
        }
        waker.join().unwrap();
        third.join().unwrap();
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn mail_and_work_at_once_wake_once() {
    check(Some(3), || {
        let (place, inbox, things) = (Place::new(1), Arc::new(Inbox::default()), Things::new(1));
        let sender = {
            let (place, inbox, things) = (place.clone(), inbox.clone(), things.clone());
            go(move || {
                if inbox.push(things.make(0)) {
                    place.idle.wake_owner(0);
                }
            })
        };
        let notifier = {
            let place = place.clone();
            go(move || place.publish(0))
        };
        let (mut mail, mut work) = (0, 0);
        while mail + work < 2 {
            let watch = place.idle.announce(0, false);
            let woken = if place.sees_work() || !inbox.try_sleep() {
                place.idle.cancel(0, watch)
            } else {
                place.idle.sleep(0, watch)
            };
            let searching = woken == Woken::ToSearch || (woken == Woken::ByItself && place.idle.try_search());
            mail += inbox.run_all().len();
            if searching {
                work += usize::from(place.take().is_some());
                place.idle.found();
            }
        }
        sender.join().unwrap();
        notifier.join().unwrap();
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn a_looker_that_becomes_busy_leaves_the_wish_for_knocks() {
    check(ALL, || {
        let place = Place::new(3);
        let looker = place.idle.announce(1, false);
        let off_duty = place.idle.announce(2, false);
        assert_eq!((looker, off_duty), (Watch::Looker, Watch::OffDuty));
        // The looker's doze ends, and it finds work.
        assert_eq!(place.idle.cancel(1, looker), Woken::ByItself);
        assert!(place.idle.try_search());
        assert!(place.idle.found());
        // Nobody looks now, so a spawn must wake the other.
        place.idle.knock_if_wanted();
        assert_eq!(place.idle.cancel(2, off_duty), Woken::ToSearch);
        assert!(!place.idle.found());
        assert!(place.idle.is_balanced());
    });
}
