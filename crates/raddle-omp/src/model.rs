//! Owns: loom's models: no poke is lost, who sleeps for tasks is told, families add up, one ends a round after all.
//! May use: `loom`.
//! Never: the scheduler: a sleep is a condition variable here.
//!
//! They are the steps of `wait`, of `engine::team` and of `engine::queue`, with their orderings, written again: the
//! engine itself stands on the scheduler, which is not compiled for loom.

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

#[path = "engine/share/dealt.rs"]
mod dealt;

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

/// How many sleep << 16 | how many queues are filled.
#[derive(Default)]
struct Sleepers(AtomicU32);

const SLEEPER: u32 = 1 << 16;

impl Sleepers {
    fn fill(&self) {
        self.0.fetch_add(1, Ordering::AcqRel); // pairs with the addition in `wait_so`
    }

    fn drain(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn has_tasks(&self) -> bool {
        self.0.load(Ordering::Acquire) % SLEEPER > 0 // pairs with the release in `fill`
    }

    fn has_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= SLEEPER
    }
}

/// A queue of tasks, which are numbers.
#[derive(Default)]
struct Queue(Mutex<Vec<u32>>);

impl Queue {
    /// True if anybody sleeps.
    fn push(&self, sleepers: &Sleepers, task: u32) -> bool {
        let mut tasks = self.0.lock().unwrap();
        tasks.push(task);
        if tasks.len() == 1 {
            sleepers.fill();
        }
        drop(tasks);
        sleepers.has_any()
    }

    fn take(&self, sleepers: &Sleepers, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let mut tasks = self.0.lock().unwrap();
        let at = tasks.iter().position(|task| fits(*task))?;
        let task = tasks.remove(at);
        if tasks.is_empty() {
            sleepers.drain();
        }
        Some(task)
    }

    fn has_one(&self, fits: impl Fn(u32) -> bool) -> bool {
        self.0.lock().unwrap().iter().any(|task| fits(*task))
    }
}

impl WakeWord {
    fn wait(&self, sleepers: &Sleepers, done: impl Fn() -> bool) {
        self.wait_so(sleepers, done, false);
    }

    /// The same; with a mistake, it is counted when others can claim it.
    fn wait_so(&self, sleepers: &Sleepers, done: impl Fn() -> bool, counts_last: bool) {
        let seen = self.number.load(Ordering::Acquire); // pairs with the release in `poke`
        if done() {
            return;
        }
        if !counts_last {
            sleepers.0.fetch_add(SLEEPER, Ordering::Relaxed);
        }
        self.asleep.store(true, Ordering::Release); // pairs with the acquire in `claim`
        let late = if counts_last { SLEEPER } else { 0 };
        sleepers.0.fetch_add(late, Ordering::AcqRel); // pairs with the addition in `fill`
        fence(Ordering::SeqCst); // pairs with the fence in `poke`
        if !done() {
            self.futex.sleep(&self.number, seen);
        }
        if self.asleep.swap(false, Ordering::Relaxed) {
            sleepers.0.fetch_sub(SLEEPER, Ordering::Relaxed);
        }
    }

    fn claim(&self, sleepers: &Sleepers) -> bool {
        // Acquire pairs with the release in `wait`.
        let claimed = self.asleep.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).is_ok();
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
        queue: Queue,
        is_over: AtomicBool,
    }
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::default());
        let (one, two) = (shared.clone(), shared.clone());
        let brings = thread::spawn(move || {
            if one.queue.push(&one.sleepers, 1) {
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
            if !has_task && shared.queue.take(&shared.sleepers, |_| true).is_some() {
                has_task = true;
            } else {
                let news = || if has_task { is_over() } else { shared.sleepers.has_tasks() };
                shared.word.wait(&shared.sleepers, news);
            }
        }
        brings.join().unwrap();
        ends.join().unwrap();
        assert_eq!(shared.sleepers.0.load(Ordering::Relaxed), 0);
    });
}

/// What somebody sleeps for, and a queue with a task.
#[derive(Default)]
struct Sleeping {
    word: WakeWord,
    sleepers: Sleepers,
    queue: Queue,
    /// Which task it sleeps for, and one; 0 for any.
    waits_in: AtomicU32,
}

/// The mistake that a model is to notice.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    None,
    /// Who brings a task looks for sleepers before it has the lock.
    LooksEarly,
    /// Who sleeps for its descendants looks for them before it is counted.
    CountsLate,
    /// Who sleeps for its descendants says what it waits in after it has looked for them.
    NamesLate,
    /// Who sleeps is counted when others can claim it already, and take back what is not there.
    CountsLast,
    /// What is counted ahead stays so while its task waits for its children.
    ForgetsOwn,
    /// What has ended is not settled by who has nothing to run.
    NeverSettles,
}

fn push_and_tell(shared: &Sleeping, task: u32, mistake: Mistake) {
    let early = shared.sleepers.has_any();
    let late = shared.queue.push(&shared.sleepers, task);
    if if mistake == Mistake::LooksEarly { early } else { late } {
        let waits_in = shared.waits_in.load(Ordering::Relaxed);
        if waits_in == 0 || waits_in == task + 1 {
            shared.word.claim(&shared.sleepers);
        }
    }
}

/// A queue is filled, becomes empty and filled again, or stays filled: who would take any task sleeps only without one.
fn any_task(mistake: Mistake) {
    let shared = Arc::new(Sleeping::default());
    shared.queue.push(&shared.sleepers, 0);
    let (one, two) = (shared.clone(), shared.clone());
    let takes = thread::spawn(move || {
        while one.queue.take(&one.sleepers, |_| true).is_none() {
            one.word.wait(&Sleepers::default(), || one.sleepers.has_tasks());
        }
    });
    let brings = thread::spawn(move || push_and_tell(&two, 1, mistake));
    // The taker is awake until it has one, of two: so the other one is for the sleeper.
    takes.join().unwrap();
    while shared.queue.take(&shared.sleepers, |_| true).is_none() {
        shared.word.wait(&shared.sleepers, || shared.sleepers.has_tasks());
    }
    brings.join().unwrap();
    assert_eq!(shared.sleepers.0.load(Ordering::Relaxed), 0);
}

/// The queue is never empty, of a task that does not fit: who would take the other one alone learns of it.
fn descendant(mistake: Mistake) {
    let shared = Arc::new(Sleeping::default());
    shared.queue.push(&shared.sleepers, 0);
    // Of a sleep before.
    shared.waits_in.store(9, Ordering::Relaxed);
    let other = shared.clone();
    let brings = thread::spawn(move || push_and_tell(&other, 1, mistake));
    let fits = |task| task == 1;
    let names = || shared.waits_in.store(2, Ordering::Relaxed);
    while shared.queue.take(&shared.sleepers, fits).is_none() {
        if mistake == Mistake::NamesLate {
            // The first look is before it is counted.
            let looks = std::cell::Cell::new(0);
            shared.word.wait(&shared.sleepers, || {
                let has_one = shared.queue.has_one(fits);
                if looks.replace(looks.get() + 1) > 0 {
                    names();
                }
                has_one
            });
            continue;
        }
        names();
        if mistake == Mistake::CountsLate {
            let has_one = shared.queue.has_one(fits);
            shared.word.wait(&shared.sleepers, || has_one);
        } else {
            shared.word.wait(&shared.sleepers, || shared.queue.has_one(fits));
        }
    }
    brings.join().unwrap();
    assert_eq!(shared.sleepers.0.load(Ordering::Relaxed), 1);
}

/// Two sleep for different tasks, one of them all the time: what claims the other one does not hide it.
fn two_sleepers(mistake: Mistake) {
    let shared = Arc::new(Sleeping::default());
    shared.sleepers.0.store(SLEEPER, Ordering::Relaxed);
    let other = shared.clone();
    let brings = thread::spawn(move || {
        push_and_tell(&other, 0, Mistake::None);
        // As whoever brings something to the one that sleeps all the time.
        assert!(other.sleepers.has_any());
    });
    while shared.queue.take(&shared.sleepers, |_| true).is_none() {
        let news = || shared.queue.has_one(|_| true);
        shared.word.wait_so(&shared.sleepers, news, mistake == Mistake::CountsLast);
    }
    brings.join().unwrap();
    assert_eq!(shared.sleepers.0.load(Ordering::Relaxed), SLEEPER);
}

/// A task makes two children, counted ahead, and waits for them; another member ends some of them, and counts late.
fn family(mistake: Mistake) {
    const REFERENCE: u32 = 1 << 16;
    const WHOLE: u32 = REFERENCE + 1;
    const AHEAD: u32 = 3;
    #[derive(Default)]
    struct Parent {
        family: AtomicU32,
        sleeping: Sleeping,
        done: AtomicUsize,
    }
    let parent = Arc::new(Parent::default());
    parent.family.store(REFERENCE, Ordering::Relaxed);
    let other = parent.clone();
    let helper = thread::spawn(move || {
        let mut kin = 0;
        for _ in 0..2 {
            if other.sleeping.queue.take(&other.sleeping.sleepers, |_| true).is_some() {
                other.done.fetch_add(1, Ordering::Relaxed);
                kin += 1;
            }
        }
        if kin > 0 && mistake != Mistake::NeverSettles {
            // pairs with the acquire of who waits
            let before = other.family.fetch_sub(kin * WHOLE, Ordering::AcqRel);
            if before % REFERENCE == kin {
                fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
                other.sleeping.word.poke_sleeper();
            }
        }
    });
    parent.family.fetch_add(WHOLE * AHEAD, Ordering::Relaxed);
    let mut kin = AHEAD;
    for task in 0..2 {
        kin -= 1;
        push_and_tell(&parent.sleeping, task, Mistake::None);
    }
    let children = || parent.family.load(Ordering::Acquire) % REFERENCE; // pairs with the release above
    loop {
        if mistake != Mistake::ForgetsOwn {
            let less = std::mem::take(&mut kin) * WHOLE;
            // pairs with the release above
            if parent.family.load(Ordering::Acquire) == REFERENCE + less {
                parent.family.store(REFERENCE, Ordering::Relaxed);
            } else if less > 0 {
                parent.family.fetch_sub(less, Ordering::AcqRel); // pairs with the same
            }
        }
        if children() == 0 {
            break;
        }
        if parent.sleeping.queue.take(&parent.sleeping.sleepers, |_| true).is_some() {
            parent.done.fetch_add(1, Ordering::Relaxed);
            kin += 1;
        } else {
            let news = || children() == 0 || parent.sleeping.queue.has_one(|_| true);
            parent.sleeping.word.wait(&parent.sleeping.sleepers, news);
        }
    }
    assert_eq!(parent.done.load(Ordering::Relaxed), 2);
    helper.join().unwrap();
    assert_eq!(parent.family.load(Ordering::Relaxed), REFERENCE);
}

/// The environment variable that has a model make a mistake.
const VARIABLE: &str = "RADDLE_OMP_MISTAKE";

fn check(what: fn(Mistake)) {
    let set = std::env::var(VARIABLE).unwrap_or_default();
    let mistake = MISTAKES.iter().find(|(mistake, _)| format!("{mistake:?}") == set);
    let mistake = mistake.map_or(Mistake::None, |(mistake, _)| *mistake);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || what(mistake));
}

#[test]
fn who_would_take_any_task_is_told() {
    check(any_task);
}

#[test]
fn who_would_take_a_descendant_is_told() {
    check(descendant);
}

#[test]
fn who_sleeps_all_the_time_stays_counted() {
    check(two_sleepers);
}

#[test]
fn children_are_counted_ahead_and_late_and_waited_for() {
    check(family);
}

/// Each with the model that notices it.
const MISTAKES: &[(Mistake, &str)] = &[
    (Mistake::LooksEarly, "who_would_take_a_descendant_is_told"),
    (Mistake::CountsLate, "who_would_take_a_descendant_is_told"),
    (Mistake::NamesLate, "who_would_take_a_descendant_is_told"),
    (Mistake::CountsLast, "who_sleeps_all_the_time_stays_counted"),
    (Mistake::ForgetsOwn, "children_are_counted_ahead_and_late_and_waited_for"),
    (Mistake::NeverSettles, "children_are_counted_ahead_and_late_and_waited_for"),
];

/// In processes of their own: loom does not survive some.
#[test]
fn every_mistake_is_noticed() {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    for (mistake, model) in MISTAKES {
        let mut program =
            std::process::Command::new(std::env::current_exe().expect("a test program has a path"));
        program.args(["--exact", &format!("model::{model}")]).env("RUST_BACKTRACE", "0");
        let ran = program.env(VARIABLE, format!("{mistake:?}")).output().expect("this program runs");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(text.contains("running 1 test"), "{model} was not run: {text}");
        assert!(!ran.status.success(), "{model} does not notice {mistake:?}");
    }
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

/// Two members with shares take from each other; one has the last chunk, which was dealt to nobody.
#[test]
fn each_iteration_of_a_loop_that_is_dealt_is_one_members() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        const TRIP: u64 = 4;
        let shares = [dealt::DealtShare::new(), dealt::DealtShare::new()];
        shares.iter().zip(0..).for_each(|(share, at)| share.deal(TRIP - 1, 1, (at, 2)));
        let shared = Arc::new((shares, AtomicU32::new(0)));
        let work = |(shares, last): &([dealt::DealtShare; 2], AtomicU32), at: usize| {
            let own = &shares[at];
            let mut done = [0; TRIP as usize];
            loop {
                let chunk = own.next(1).or_else(|| {
                    if own.is_over(TRIP) {
                        return None;
                    }
                    shares[1 - at].half(own, 1).or_else(|| {
                        let is_there = last.swap(1, Ordering::Relaxed) == 0;
                        is_there.then(|| {
                            own.end(TRIP);
                            (TRIP - 1, TRIP)
                        })
                    })
                });
                let Some((from, to)) = chunk else { return done };
                assert_eq!(to, from + 1);
                assert_eq!(done[TRIP as usize - 1], 0, "something comes behind the last chunk");
                done[from as usize] += 1;
            }
        };
        let other = shared.clone();
        let other = thread::spawn(move || work(&other, 1));
        let (own, other) = (work(&shared, 0), other.join().unwrap());
        own.iter().zip(other).for_each(|(own, other)| assert_eq!(own + other, 1));
    });
}
