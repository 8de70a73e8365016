//! Who pauses before it looks for what other ranks say, while others say, hear and owe: all interleavings, by loom.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p raddle-host --release --test loom`
//!
//! It is the file itself, with loom's primitives: the host around it, which stands on the scheduler, is not compiled.

#![cfg(loom)]

mod prim {
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering, fence};
}

#[path = "../src/many/ranks/pauses.rs"]
#[allow(dead_code, reason = "a model takes what it needs")]
mod pauses;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use pauses::{LISTENER, Pauses, WORKER};

/// A planted mistake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Who pauses does not ask whether it may.
    PausesAtOnce,
    /// The count is read after the look.
    CountsLate,
    /// What is left to be found is left after the stir.
    LeavesLate,
}

struct Scene {
    pauses: Pauses,
    /// What was left to be found.
    left: AtomicU32,
    mistake: Mistake,
}

impl Scene {
    fn new(mistake: Mistake) -> Arc<Scene> {
        Arc::new(Scene { pauses: Pauses::default(), left: AtomicU32::new(0), mistake })
    }

    /// Looks so often, and pauses in between, as if the pause were over at once. Whether it pauses at the end.
    fn watches(&self, who: u32, times: u32) -> bool {
        let mut pauses = false;
        for _ in 0..times {
            let before = self.pauses.count();
            self.left.swap(0, Ordering::Relaxed);
            let count = if self.mistake == Mistake::CountsLate { self.pauses.count() } else { before };
            pauses = self.mistake == Mistake::PausesAtOnce || self.pauses.may_pause(who, count);
        }
        pauses
    }

    /// Leaves something, and goes on to a long call; whom it wakes before.
    fn leaves(&self) -> u32 {
        let leaves_late = self.mistake == Mistake::LeavesLate;
        if !leaves_late {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
        let woken = self.pauses.stir();
        if leaves_late {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
        woken
    }
}

/// So many leave something while one looks, and pauses. A wake is kept, so whoever was woken at any time looks again.
fn one_pauses(mistake: Mistake, leavers: usize, times: u32) {
    let mut builder = loom::model::Builder::new();
    // Of three threads all interleavings take minutes.
    builder.preemption_bound = (leavers > 1).then_some(3);
    builder.check(move || {
        let scene = Scene::new(mistake);
        let others = (0..leavers).map(|_| {
            let scene = scene.clone();
            thread::spawn(move || scene.leaves())
        });
        let others: Vec<_> = others.collect();
        let pauses = scene.watches(LISTENER, times);
        let woken = others.into_iter().fold(0, |all, other| all | other.join().expect("no panic"));
        let is_found = scene.left.load(Ordering::Relaxed) == 0;
        assert!(is_found || !pauses || woken & LISTENER != 0, "nobody finds it");
    });
}

#[test]
fn what_is_left_is_found_by_who_pauses() {
    one_pauses(Mistake::None, 1, 1);
    one_pauses(Mistake::None, 1, 2);
    one_pauses(Mistake::None, 2, 1);
    one_pauses(Mistake::None, 2, 2);
}

#[test]
#[should_panic(expected = "nobody finds it")]
fn the_model_notices_who_pauses_at_once() {
    one_pauses(Mistake::PausesAtOnce, 1, 1);
}

#[test]
#[should_panic(expected = "nobody finds it")]
fn the_model_notices_who_counts_after_the_look() {
    one_pauses(Mistake::CountsLate, 1, 1);
}

#[test]
#[should_panic(expected = "nobody finds it")]
fn the_model_notices_what_is_left_after_the_stir() {
    one_pauses(Mistake::LeavesLate, 1, 1);
}

/// A worker and the OS thread pause while a third one leaves something: either finds it, or is woken.
#[test]
fn of_two_who_pause_none_is_forgotten() {
    loom::model(|| {
        let scene = Scene::new(Mistake::None);
        let (worker, leaver) = (scene.clone(), scene.clone());
        let worker = thread::spawn(move || worker.watches(WORKER, 1));
        let leaver = thread::spawn(move || leaver.leaves());
        let pauses = scene.watches(LISTENER, 1);
        let paused = (u32::from(pauses) * LISTENER) | (u32::from(worker.join().expect("no panic")) * WORKER);
        let woken = leaver.join().expect("no panic");
        let is_found = scene.left.load(Ordering::Relaxed) == 0;
        assert!(is_found || woken & paused != 0 || paused != WORKER | LISTENER, "nobody finds it");
    });
}
