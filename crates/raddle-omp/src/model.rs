//! Owns: loom's models: of `wait::WakeWord` (no poke is lost), and of a team's rounds (one ends it, after all).
//! May use: `loom`.
//! Never: the scheduler: a sleep is a condition variable here.
//!
//! They are the steps of `wait`, of `engine::team` and of `engine::queue`, with their orderings, written again: the
//! engine itself stands on the scheduler, which is not compiled for loom.

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// What a futex does: nobody sleeps who has not seen the word unchanged under the lock.
#[derive(Default)]
struct Condition {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Condition {
    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let mut locked = self.lock.lock().unwrap();
        while word.load(Ordering::Relaxed) == seen {
            locked = self.woken.wait(locked).unwrap();
        }
    }

    fn wake(&self) {
        drop(self.lock.lock().unwrap());
        self.woken.notify_all();
    }
}

#[derive(Default)]
struct WakeWord {
    number: AtomicU32,
    asleep: AtomicBool,
    futex: Condition,
}

/// How many sleep << 16 | how many tasks wait, below a number that no task changes back.
#[derive(Default)]
struct Sleepers(AtomicU32);

const SLEEPER: u32 = 1 << 16;

impl Sleepers {
    fn waiting(&self) -> u32 {
        self.0.load(Ordering::Acquire) % SLEEPER // pairs with the release in `came`
    }

    fn came(&self) -> bool {
        self.0.fetch_add(1, Ordering::AcqRel) >= SLEEPER // pairs with the addition in `wait`
    }
}

impl WakeWord {
    fn wait(&self, sleepers: &Sleepers, done: impl Fn() -> bool) {
        let seen = self.number.load(Ordering::Acquire); // pairs with the release in `poke`
        if done() {
            return;
        }
        self.asleep.store(true, Ordering::Relaxed);
        sleepers.0.fetch_add(SLEEPER, Ordering::AcqRel); // pairs with the addition in `came`
        fence(Ordering::SeqCst); // pairs with the fence in `poke`
        if !done() {
            self.futex.sleep(&self.number, seen);
        }
        if self.asleep.swap(false, Ordering::Relaxed) {
            sleepers.0.fetch_sub(SLEEPER, Ordering::Relaxed);
        }
    }

    fn claim(&self, sleepers: &Sleepers) -> bool {
        let relaxed = Ordering::Relaxed;
        let claimed = self.asleep.compare_exchange(true, false, relaxed, relaxed).is_ok();
        if claimed {
            sleepers.0.fetch_sub(SLEEPER, Ordering::Relaxed);
            self.number.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
            self.futex.wake();
        }
        claimed
    }

    fn poke(&self) {
        self.number.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
        fence(Ordering::SeqCst); // pairs with the fence in `wait`
        if self.asleep.load(Ordering::Relaxed) {
            self.futex.wake();
        }
    }

    /// Of something that its thread looks at by itself when it is awake.
    fn poke_sleeper(&self) {
        fence(Ordering::SeqCst); // pairs with the fence in `wait`
        if self.asleep.load(Ordering::Relaxed) {
            self.poke();
        }
    }
}

/// One sleeps until a task and an end have come, from two others: the task claims it, the end only pokes who sleeps.
#[test]
fn a_claim_hides_no_other_news() {
    #[derive(Default)]
    struct Shared {
        word: WakeWord,
        sleepers: Sleepers,
        is_over: AtomicBool,
    }
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::default());
        let (one, two) = (shared.clone(), shared.clone());
        let brings = thread::spawn(move || {
            if one.sleepers.came() {
                one.word.claim(&one.sleepers);
            }
        });
        let ends = thread::spawn(move || {
            two.is_over.store(true, Ordering::Relaxed);
            two.word.poke_sleeper();
        });
        let mut has_task = false;
        let is_over = || shared.is_over.load(Ordering::Relaxed);
        while !(has_task && is_over()) {
            if !has_task && shared.sleepers.waiting() > 0 {
                shared.sleepers.0.fetch_sub(1, Ordering::Relaxed);
                has_task = true;
            } else {
                let news = || if has_task { is_over() } else { shared.sleepers.waiting() > 0 };
                shared.word.wait(&shared.sleepers, news);
            }
        }
        brings.join().unwrap();
        ends.join().unwrap();
        assert_eq!(shared.sleepers.0.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn no_poke_is_lost() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((WakeWord::default(), AtomicUsize::new(0)));
        let pokers: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.poke();
                })
            })
            .collect();
        while shared.1.load(Ordering::Relaxed) < 2 {
            shared.0.wait(&Sleepers::default(), || shared.1.load(Ordering::Relaxed) == 2);
        }
        pokers.into_iter().for_each(|poker| poker.join().unwrap());
    });
}

/// A team of two: rounds, and what its task has done.
struct TwoMembers {
    state: AtomicU64,
    events: [WakeWord; 2],
    sleepers: Sleepers,
    done: AtomicUsize,
    queued: AtomicU32,
    ends: AtomicUsize,
}

impl TwoMembers {
    fn round(&self) -> u64 {
        self.state.load(Ordering::Acquire) >> 32 // pairs with the release in `one_less`
    }

    fn one_less(&self, me: usize) {
        // pairs with itself: the last one sees what all did
        let before = self.state.fetch_sub(1, Ordering::AcqRel);
        if before as u32 == 1 {
            self.ends.fetch_add(1, Ordering::Relaxed);
            let next = ((before >> 32) + 1) << 32 | 2;
            self.state.store(next, Ordering::Release); // pairs with the acquire in `round`
            self.events[1 - me].poke();
        }
    }

    fn run_any(&self, me: usize) -> bool {
        // pairs with the release of who has put it there
        if self.queued.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        self.one_less(me);
        true
    }

    fn barrier(&self, me: usize) {
        let round = self.round();
        self.one_less(me);
        while self.round() == round {
            if !self.run_any(me) {
                self.events[me].wait(&self.sleepers, || {
                    self.round() != round || self.queued.load(Ordering::Relaxed) > 0
                });
            }
        }
        assert_eq!(self.done.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_round_ends_once_when_all_have_arrived_and_their_tasks_are_over() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let team = Arc::new(TwoMembers {
            state: AtomicU64::new(2),
            events: Default::default(),
            sleepers: Sleepers::default(),
            done: AtomicUsize::new(0),
            queued: AtomicU32::new(0),
            ends: AtomicUsize::new(0),
        });
        let other = team.clone();
        let other = thread::spawn(move || other.barrier(1));
        // A task: counted, put where all look, and somebody poked.
        team.state.fetch_add(1, Ordering::Relaxed);
        team.queued.store(1, Ordering::Release); // pairs with the acquire in `run_any`
        fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
        if team.events[1].asleep.load(Ordering::Relaxed) {
            team.events[1].poke();
        }
        team.barrier(0);
        other.join().unwrap();
        assert_eq!(team.ends.load(Ordering::Relaxed), 1);
    });
}
