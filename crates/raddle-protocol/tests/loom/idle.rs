//! Sleep and wake: sleepers, searchers, notifiers and knockers.
//!
//! Work is a flag that is read and written relaxed: all order must come from the idle protocol. A watcher sleeps
//! without a time-out here, so a wake may be lost only where the page allows it.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicBool, Ordering, fence};
use raddle_protocol::model::{IdleSet, Inbox, Right, Things, Watch, Woken};
use std::sync::Arc;

/// Work for anybody: two places, each empty or full.
struct Place {
    idle: IdleSet,
    work: [AtomicBool; 2],
}

impl Place {
    fn new(workers: usize) -> Arc<Place> {
        Place::with_room(workers, workers)
    }

    fn with_room(workers: usize, room: usize) -> Arc<Place> {
        Arc::new(Place {
            idle: IdleSet::with_room(workers, room),
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

/// Of three workers two have cores. Worker 0 is busy and leaves work in a place of its own, while both others lie down:
/// either may leave that work to the other, but not both.
#[test]
fn work_beyond_the_room_is_left_to_others_but_never_by_all() {
    check(Some(3), || {
        let place = Place::with_room(3, 2);
        let over = Arc::new(AtomicBool::new(false));
        let lie_down = |worker| {
            let (place, over) = (place.clone(), over.clone());
            go(move || {
                while !over.load(Ordering::Relaxed) {
                    let watch = place.idle.announce(worker, false);
                    let looks = !place.idle.is_full();
                    let woken = if over.load(Ordering::Relaxed) || (looks && place.sees_work()) {
                        place.idle.cancel(worker, watch)
                    } else {
                        place.idle.sleep(worker, watch)
                    };
                    if place.take().is_some() {
                        over.store(true, Ordering::Relaxed);
                        place.idle.wake_all();
                    }
                    if woken == Woken::ToSearch {
                        place.idle.found();
                    }
                    loom::thread::yield_now();
                }
            })
        };
        let both = [lie_down(1), lie_down(2)];
        place.work[0].store(true, Ordering::Relaxed);
        place.idle.notify_if_room();
        for one in both {
            one.join().unwrap();
        }
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

/// Worker 1 is idle and does not lie down for a while: it asks in each round to be the one that searches. It fell idle
/// while worker 0 searched, which becomes busy and publishes.
#[test]
fn one_that_does_not_lie_down_searches_when_the_other_has_found() {
    check(ALL, || {
        let place = Place::new(2);
        assert!(place.idle.try_search());
        let up = place.clone();
        let up = go(move || {
            let mut searching = false;
            for _ in 0..2 {
                searching = searching || up.idle.try_search();
                if searching && up.sees_work() {
                    break;
                }
            }
            up.wait_for_work(1, searching)
        });
        place.idle.found();
        place.publish(0);
        assert_eq!(up.join().unwrap(), 0);
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn nobody_is_woken_for_the_work_of_one_that_has_a_core_if_the_others_have_none() {
    check(ALL, || {
        let place = Place::with_room(3, 1);
        let asleep = [1, 2].map(|worker| place.idle.announce(worker, false));
        assert_eq!(asleep, [Watch::Watcher, Watch::OffDuty]);
        assert!(!place.idle.notify_if_room(), "worker 0 has the only core");
        assert!(place.idle.notify(), "what is nobody's wakes one in any case");
        assert!(place.idle.is_crowded());
        assert_eq!(place.idle.cancel(1, asleep[0]), Woken::ToSearch);
        place.idle.found();
        // It was the watcher: one that looks around is wanted in any case.
        assert!(place.idle.notify_if_room());
        assert_eq!(place.idle.cancel(2, asleep[1]), Woken::ToSearch);
        place.idle.found();
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
    });
}

#[test]
fn one_that_leaves_a_core_looks_beside_the_watcher_that_had_none() {
    check(ALL, || {
        let place = Place::with_room(3, 2);
        let watcher = place.idle.announce(2, false);
        let beside = place.idle.announce(1, false);
        assert_eq!((watcher, beside), (Watch::Watcher, Watch::Beside));
        assert!(!place.idle.is_full());
        assert_eq!(place.idle.cancel(1, beside), Woken::ByItself);
        assert!(place.idle.is_full() && !place.idle.is_crowded());
        assert!(!place.idle.notify_if_room(), "the watcher still looks");
        assert_eq!(place.idle.cancel(2, watcher), Woken::ByItself);
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
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

/// Worker 0 sleeps, gets up by mail or by itself, and spawns; worker 1 lies down, or lingered and lies down again.
fn a_knock_comes(lingers: bool) {
    let place = Place::new(2);
    let lingering = lingers.then(|| place.idle.announce_lingering(1, false));
    let asleep = place.idle.announce(0, false);
    assert_eq!(asleep, if lingers { Watch::OffDuty } else { Watch::Watcher });
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
    if let Some(lingering) = lingering
        && place.idle.cancel(1, lingering) == Woken::ToSearch
    {
        place.idle.found();
    }
    let watch = place.idle.announce(1, false);
    if watch == Watch::NobodyBusy {
        place.idle.sleep(1, watch);
    } else {
        // A watcher's doze ends by itself: a knock may miss it.
        place.idle.cancel(1, watch);
    }
    spawner.join().unwrap();
    waker.join().unwrap();
}

#[test]
fn a_knock_reaches_a_sleeper_that_nobody_watches_for() {
    check(Some(3), || a_knock_comes(false));
}

#[test]
fn a_knock_reaches_one_who_has_lingered() {
    check(Some(2), || a_knock_comes(true));
}

/// Nobody wakes another as long as one lingers; and work for anybody is not lost on those two.
#[test]
fn who_gets_up_beside_one_who_lingers_need_wake_nobody() {
    check(ALL, || {
        let place = Place::new(2);
        let lingers = place.idle.announce_lingering(1, false);
        let off_duty = place.idle.announce(0, false);
        assert_eq!((lingers, off_duty), (Watch::Watcher, Watch::OffDuty));
        let notifier = {
            let place = place.clone();
            go(move || place.publish(0))
        };
        // The first that sleeps is woken, and the other still looks.
        assert_eq!(place.idle.sleep(0, off_duty), Woken::ToSearch);
        assert!(place.idle.is_watched());
        assert_eq!(place.take(), Some(0));
        assert!(place.idle.found() && !place.sees_work());
        assert_eq!(place.idle.cancel(1, lingers), Woken::ByItself);
        notifier.join().unwrap();
        assert!(place.idle.is_balanced(), "{:?}", place.idle);
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
        // The word at rest is right again whoever counts first: the waker that moved the sleep word, or the woken one
        // that has found work and gone, and a third that announces itself, knocks and leaves in between.
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
        let watcher = place.idle.announce(1, false);
        let off_duty = place.idle.announce(2, false);
        assert_eq!((watcher, off_duty), (Watch::Watcher, Watch::OffDuty));
        // The watcher's doze ends, and it finds work.
        assert_eq!(place.idle.cancel(1, watcher), Woken::ByItself);
        assert!(place.idle.try_search());
        assert!(place.idle.found());
        // Nobody looks now, so a spawn must wake the other.
        place.idle.knock_if_wanted();
        assert_eq!(place.idle.cancel(2, off_duty), Woken::ToSearch);
        assert!(!place.idle.found());
        assert!(place.idle.is_balanced());
    });
}

/// A runtime that closes, reproduced from `crates/raddle-core/src/worker/shared.rs`: workers with their inboxes, and an
/// extra one, which sleeps beside the set (`crates/raddle-core/src/worker/extra.rs`).
struct Closing {
    idle: IdleSet,
    inboxes: Vec<Inbox>,
    beside: Inbox,
    has_run: AtomicBool,
    stopping: AtomicBool,
}

impl Closing {
    fn new(workers: usize) -> Arc<Closing> {
        Arc::new(Closing {
            idle: IdleSet::new(workers),
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
            beside: Inbox::default(),
            has_run: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    fn is_quiet(&self) -> bool {
        fence(Ordering::SeqCst);
        let Some(before) = self.idle.all_asleep() else { return false };
        let all_sleep = self.inboxes.iter().all(Inbox::is_asleep);
        fence(Ordering::SeqCst);
        all_sleep && self.idle.all_asleep() == Some(before)
    }

    /// As [`is_quiet`](Self::is_quiet), and the extra worker sleeps, too.
    fn is_quiet_beside(&self) -> bool {
        fence(Ordering::SeqCst);
        let Some(before) = self.idle.all_asleep() else { return false };
        let all_sleep = self.inboxes.iter().chain([&self.beside]).all(Inbox::is_asleep);
        fence(Ordering::SeqCst);
        all_sleep && self.idle.all_asleep() == Some(before) && self.beside.is_asleep()
    }

    /// The extra worker gets up, does something, and lies down again.
    fn get_up_beside(&self, what: impl FnOnce()) {
        self.beside.run_all();
        fence(Ordering::SeqCst);
        what();
        fence(Ordering::SeqCst);
        assert!(self.beside.try_sleep(), "nobody writes to it");
    }

    fn send(&self, right: Right, to: usize) {
        if self.inboxes[to].push(right) {
            self.idle.wake_owner(to);
        }
    }

    fn read_mail(&self, me: usize) {
        if !self.inboxes[me].run_all().is_empty() {
            self.has_run.store(true, Ordering::Relaxed);
        }
    }

    /// Announces, and marks its inbox asleep. False if there is mail.
    fn lie_down(&self, me: usize) -> bool {
        let watch = self.idle.announce(me, false);
        let marked = self.inboxes[me].try_sleep();
        if !marked {
            self.idle.cancel(me, watch);
        }
        marked
    }

    fn work_until_the_end(&self, me: usize, mut lingers: bool) {
        loop {
            self.read_mail(me);
            if self.stopping.load(Ordering::Relaxed) {
                return;
            }
            let watch = match std::mem::take(&mut lingers) {
                true => self.idle.announce_lingering(me, false),
                false => self.idle.announce(me, false),
            };
            if self.stopping.load(Ordering::Relaxed) || !self.inboxes[me].try_sleep() {
                self.idle.cancel(me, watch);
                continue;
            }
            if self.is_quiet() && !self.stopping.swap(true, Ordering::Relaxed) {
                assert!(self.has_run.load(Ordering::Relaxed), "ended while a letter lies in an inbox");
                self.idle.wake_all();
            }
            self.idle.sleep(me, watch);
        }
    }
}

fn a_runtime_ends(lingers: bool) {
    let (closing, things) = (Closing::new(2), Things::new(1));
    let other = {
        let closing = closing.clone();
        go(move || closing.work_until_the_end(0, lingers))
    };
    closing.send(things.make(0), 0);
    closing.work_until_the_end(1, false);
    other.join().unwrap();
    assert_eq!(things.count_run(), 1);
}

#[test]
fn a_runtime_ends_when_all_letters_have_been_read() {
    check(Some(2), || a_runtime_ends(false));
}

#[test]
fn a_runtime_ends_beside_one_who_lingers() {
    check(Some(2), || a_runtime_ends(true));
}

#[test]
fn a_letter_to_one_that_just_lies_down_again_is_not_overlooked() {
    check(Some(3), || {
        let (closing, things) = (Closing::new(3), Things::new(1));
        let watch = closing.idle.announce(0, false);
        assert!(closing.inboxes[0].try_sleep() && closing.lie_down(2));
        // Worker 0 gets up for no reason and lies down again, while worker 1 writes to it and then lies down itself.
        let reader = {
            let closing = closing.clone();
            go(move || {
                closing.idle.cancel(0, watch);
                closing.read_mail(0);
                if !closing.lie_down(0) {
                    closing.read_mail(0);
                }
            })
        };
        let writer = {
            let (closing, things) = (closing.clone(), things.clone());
            go(move || {
                closing.send(things.make(0), 0);
                assert!(closing.lie_down(1), "nobody writes to it");
            })
        };
        if closing.is_quiet() {
            assert!(closing.has_run.load(Ordering::Relaxed), "quiet while a letter lies in an inbox");
        }
        reader.join().unwrap();
        writer.join().unwrap();
    });
}

/// What an extra worker takes over from one that stands, and that goes on just then, has run when all is quiet.
#[test]
fn a_runtime_does_not_end_while_an_extra_worker_has_what_it_took_over() {
    check(Some(3), || {
        let closing = Closing::new(1);
        let waits_in_list = Arc::new(AtomicBool::new(true));
        assert!(closing.beside.try_sleep());
        let extra = {
            let (closing, waits_in_list) = (closing.clone(), waits_in_list.clone());
            go(move || {
                closing.get_up_beside(|| {
                    if waits_in_list.swap(false, Ordering::Relaxed) {
                        closing.has_run.store(true, Ordering::Relaxed);
                    }
                });
            })
        };
        if waits_in_list.swap(false, Ordering::Relaxed) {
            closing.has_run.store(true, Ordering::Relaxed);
        }
        assert!(closing.lie_down(0));
        if closing.is_quiet_beside() {
            assert!(
                closing.has_run.load(Ordering::Relaxed),
                "quiet while an extra worker has something to run"
            );
        }
        extra.join().unwrap();
    });
}

/// An extra worker wakes one and lies down, while another looks whether all sleep.
#[test]
fn a_letter_from_an_extra_worker_that_then_sleeps_is_not_overlooked() {
    check(Some(3), || {
        let (closing, things) = (Closing::new(2), Things::new(1));
        assert!(closing.lie_down(0));
        let extra = {
            let (closing, things) = (closing.clone(), things.clone());
            go(move || closing.get_up_beside(|| closing.send(things.make(0), 0)))
        };
        assert!(closing.lie_down(1));
        assert!(!closing.is_quiet_beside(), "quiet while a letter lies in an inbox");
        extra.join().unwrap();
        closing.read_mail(0);
    });
}

/// An extra worker gets up, by its alarm or by mail, while the only worker of the set lies down, or when it has lain
/// down. What the extra one does then lies in places of its own, where it wakes nobody: so somebody looks around.
fn somebody_watches_beside_one_that_gets_up(has_slept: bool) {
    let closing = Closing::new(1);
    assert!(closing.beside.try_sleep());
    let lie_down = |closing: &Closing| closing.idle.announce_beside(0, || !closing.beside.is_asleep());
    let asleep = has_slept.then(|| lie_down(&closing));
    let extra = {
        let closing = closing.clone();
        go(move || {
            // As `sleep_beside`, when its sleep is over; and from here on it is at something.
            closing.beside.run_all();
            fence(Ordering::SeqCst);
            closing.idle.note_up_beside();
        })
    };
    let mut watch = asleep.unwrap_or_else(|| lie_down(&closing));
    // Who sleeps though nobody watches is woken; time does not pass in a model.
    while watch == Watch::NobodyBusy {
        if closing.idle.sleep(0, watch) == Woken::ToSearch {
            closing.idle.found();
        }
        watch = lie_down(&closing);
    }
    extra.join().unwrap();
    assert_eq!(watch, Watch::Watcher);
    if closing.idle.cancel(0, watch) == Woken::ToSearch {
        closing.idle.found();
    }
    assert!(closing.idle.is_balanced(), "{:?}", closing.idle);
}

#[test]
fn who_lies_down_watches_beside_an_extra_worker_that_gets_up() {
    check(ALL, || somebody_watches_beside_one_that_gets_up(false));
}

#[test]
fn who_sleeps_is_woken_to_watch_beside_an_extra_worker_that_gets_up() {
    check(ALL, || somebody_watches_beside_one_that_gets_up(true));
}
