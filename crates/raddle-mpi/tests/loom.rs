//! Who asks for a mode while `auto` decides for an earlier ask: all interleavings, searched by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p raddle-mpi --release --test loom`
//!
//! It is the file itself, with loom's primitives: the engine around it, which stands on the scheduler, is not compiled.

#![cfg(loom)]

mod prim {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("nobody panics")
    }
}

#[path = "../src/choice.rs"]
#[allow(dead_code, reason = "a model takes what it needs")]
mod choice;

use choice::Choices;
use loom::sync::{Arc, Mutex};
use prim::lock;

/// What acts, and the ask by which it does.
type Acting = Mutex<(&'static str, u32)>;

struct ModelScene {
    choices: Choices<&'static str>,
    acting: Acting,
    /// Whether the question of the last row is left out.
    is_careless: bool,
}

impl ModelScene {
    fn take_effect(&self, what: &'static str, number: u32) {
        if self.is_careless {
            *lock(&self.acting) = (what, number);
        } else {
            let _refused = self.choices.act(&self.acting, number, |acting| *acting = (what, number));
        }
    }

    fn ask(&self, what: &'static str, decider: Option<&'static str>) {
        let number = self.choices.ask(decider);
        self.take_effect(what, number);
    }

    fn pace(&self) {
        if let Some((what, number)) = self.choices.decide(|decider| Some(*decider)) {
            self.take_effect(what, number);
        }
    }
}

/// `auto` is asked for; then it decides while another thread asks for something else.
fn a_decision_beside_an_ask(is_careless: bool) {
    loom::model(move || {
        let scene = ModelScene { choices: Choices::new(), acting: Mutex::new(("", 0)), is_careless };
        let scene = Arc::new(scene);
        scene.ask("first trial", Some("decided"));
        let other = {
            let scene = scene.clone();
            loom::thread::spawn(move || scene.pace())
        };
        scene.ask("asked for last", None);
        other.join().expect("no panic");
        assert_eq!(lock(&scene.acting).0, "asked for last");
        assert!(scene.choices.ask_it(|decider| *decider).is_none(), "the decider is gone");
    });
}

#[test]
fn what_is_asked_for_outlives_every_decision() {
    a_decision_beside_an_ask(false);
}

#[test]
#[should_panic(expected = "asked for last")]
fn the_model_notices_who_does_not_ask_for_the_number() {
    a_decision_beside_an_ask(true);
}

/// Two ask at a time, one of them for `auto`, and that decides once: the last ask acts, or a decision of its decider.
#[test]
fn of_two_asks_the_last_one_acts() {
    loom::model(|| {
        let scene = ModelScene { choices: Choices::new(), acting: Mutex::new(("", 0)), is_careless: false };
        let scene = Arc::new(scene);
        let other = {
            let scene = scene.clone();
            loom::thread::spawn(move || {
                scene.ask("auto", Some("decided"));
                scene.pace();
            })
        };
        scene.ask("fixed", None);
        other.join().expect("no panic");
        let (what, number) = *lock(&scene.acting);
        assert_eq!(number, 2, "the last ask, not {what}");
        assert_eq!(what == "decided", scene.choices.ask_it(|decider| *decider).is_some());
    });
}
