//! The watcher's word: one who changes something, or asks, against a watcher that lies down.

use crate::{ALL, check, go};
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use raddle_protocol::model::{IdleSet, WatchWord};
use std::sync::Arc;
use std::time::Duration;

struct Place {
    word: WatchWord,
    /// What the watcher looks at: somebody is up.
    changed: AtomicBool,
    asked: AtomicU32,
}

impl Place {
    fn new() -> Arc<Place> {
        let (changed, asked) = (AtomicBool::new(false), AtomicU32::new(0));
        Arc::new(Place { word: WatchWord::new(), changed, asked })
    }

    fn change(&self) {
        self.changed.store(true, Ordering::Relaxed);
        self.word.note_change();
    }

    fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.word.call();
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Sleeps until a change, or a call; nobody else would end it.
    fn lie_down(&self, made: u32) {
        let nothing = || !self.changed.load(Ordering::Relaxed) && self.asked() == made;
        assert!(!self.word.lie_down(None, nothing), "time does not pass in a model");
    }
}

#[test]
fn a_change_is_seen_or_wakes_the_watcher() {
    check(ALL, || {
        let place = Place::new();
        let worker = {
            let place = place.clone();
            go(move || place.change())
        };
        place.lie_down(0);
        worker.join().unwrap();
        assert!(place.changed.load(Ordering::Relaxed));
    });
}

#[test]
fn what_was_asked_for_is_seen_after_the_call() {
    check(ALL, || {
        let place = Place::new();
        let asker = {
            let place = place.clone();
            go(move || place.ask())
        };
        // Time does not pass in a model: it ends by the call.
        place.word.tick(Duration::MAX);
        assert_eq!(place.asked(), 1, "a call was used up");
        asker.join().unwrap();
    });
}

#[test]
fn a_call_while_it_lies_down_is_not_used_up() {
    check(ALL, || {
        let place = Place::new();
        let asker = {
            let place = place.clone();
            go(move || place.ask())
        };
        place.lie_down(0);
        assert_eq!(place.asked(), 1);
        asker.join().unwrap();
    });
}

/// A worker announces its sleep, finds something in its last look, and gets up without having slept: the watcher, which
/// has just seen it asleep as all others, does not sleep on.
#[test]
fn one_that_gets_up_before_it_has_slept_is_watched() {
    check(ALL, || {
        let shared = Arc::new((IdleSet::new(1), WatchWord::new()));
        let worker = {
            let shared = shared.clone();
            go(move || {
                let (idle, word) = &*shared;
                let watch = idle.announce(0, false);
                idle.cancel(0, watch);
                word.note_change();
            })
        };
        let (idle, word) = &*shared;
        // As `rest`: time does not pass in a model, so it ends by a call, or does not begin.
        assert!(!word.lie_down(None, || idle.all_asleep().is_some()));
        worker.join().unwrap();
        assert!(idle.all_asleep().is_none());
    });
}

#[test]
fn of_a_change_and_a_question_none_is_lost() {
    check(Some(3), || {
        let place = Place::new();
        let others = {
            let (asks, changes) = (place.clone(), place.clone());
            [go(move || asks.ask()), go(move || changes.change())]
        };
        place.lie_down(0);
        while place.asked() == 0 {
            // Woken by the change, perhaps twice: it ticks now, as long as somebody is up.
            place.word.tick(Duration::MAX);
        }
        for other in others {
            other.join().unwrap();
        }
    });
}
