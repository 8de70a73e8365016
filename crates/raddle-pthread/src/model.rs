//! Owns: loom's models: of a mutex's word, a condition variable's, a barrier's: nobody sleeps on who is to go on.
//! May use: `loom`.
//! Never: the scheduler: a sleep is a condition variable here.
//!
//! They are the steps of `mutex`, `cond` and `barrier`, with their orderings, written again: these stand on the
//! scheduler, which is not compiled for loom. Looks and pauses before a sleep are left out.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// Those who sleep at one word, as `door::futex` has it: first come, first woken; and a wake of nobody locks nothing.
#[derive(Default)]
struct ModelFutex {
    row: Mutex<(Vec<u32>, u32)>,
    busy: AtomicU32,
    woken: Condvar,
}

impl ModelFutex {
    /// False if one whose time has passed has not been woken.
    fn sleep(&self, unchanged: impl Fn() -> bool, has_time: bool) -> bool {
        let mut row = self.row.lock().unwrap();
        self.busy.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the one in `wake`
        if !unchanged() {
            self.busy.store(u32::from(!row.0.is_empty()), Ordering::Relaxed);
            return true;
        }
        row.1 += 1;
        let own = row.1;
        row.0.push(own);
        if !has_time {
            drop(row);
            row = self.row.lock().unwrap();
            let before = row.0.len();
            row.0.retain(|&number| number != own);
            return row.0.len() == before;
        }
        while row.0.contains(&own) {
            row = self.woken.wait(row).unwrap();
        }
        true
    }

    fn wake(&self, count: usize) -> usize {
        fence(Ordering::SeqCst); // pairs with the one in `sleep`
        if self.busy.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut row = self.row.lock().unwrap();
        let count = count.min(row.0.len());
        row.0.drain(..count);
        self.woken.notify_all();
        count
    }
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;
const AWAKE: u32 = 4;

#[derive(Default)]
struct ModelMutex {
    lock: AtomicU32,
    sleepers: AtomicU32,
    row: ModelFutex,
    guarded: UnsafeCell<()>,
    sections: AtomicU32,
}

impl ModelMutex {
    fn take(&self) -> bool {
        // pairs with the release in `release`
        self.lock.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn take_among(&self, sleeps: bool, woken: bool) -> bool {
        let word = self.lock.load(Ordering::Acquire); // pairs with the release in `take_slowly`
        if word & TAKEN != 0 {
            return false;
        }
        let others = self.sleepers.load(Ordering::Relaxed) > u32::from(sleeps);
        let still_awake = if woken { 0 } else { word & AWAKE };
        let new = if others { TAKEN | WANTED | still_awake } else { TAKEN };
        // pairs with the release in `release`
        self.lock.compare_exchange(word, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn take_slowly(&self, has_time: bool) -> bool {
        let (mut sleeps, mut woken) = (false, false);
        let in_time = loop {
            if self.take_among(sleeps, woken) {
                break true;
            }
            if !sleeps {
                self.sleepers.fetch_add(1, Ordering::Relaxed);
                sleeps = true;
            }
            let word = self.lock.load(Ordering::Relaxed);
            let marked = (word | WANTED) & !AWAKE;
            // pairs with the acquire in `take_among`
            let set =
                || self.lock.compare_exchange(word, marked, Ordering::Release, Ordering::Relaxed).is_ok();
            if word & TAKEN == 0 || !set() {
                thread::yield_now();
                continue;
            }
            if !self.row.sleep(|| self.lock.load(Ordering::Relaxed) == marked, has_time) {
                break false;
            }
            woken = true;
        };
        if sleeps {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
        in_time
    }

    fn release(&self) {
        // pairs with the acquire in `take`
        if self.lock.compare_exchange(TAKEN, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            let wakes = |word: u32| word & (WANTED | AWAKE) == WANTED;
            let without = |word: u32| Some(word & !TAKEN | if wakes(word) { AWAKE } else { 0 });
            // pairs with the acquire in `take_among`
            let before = self.lock.fetch_update(Ordering::Release, Ordering::Relaxed, without);
            if before.is_ok_and(wakes) {
                self.row.wake(1);
            }
        }
    }

    /// A section, if it is taken in time.
    fn section(&self, has_time: bool) -> bool {
        let taken = self.take() || self.take_slowly(has_time);
        if taken {
            // Loom knows whether others are here, or were and it is not known.
            self.guarded.with_mut(|_| ());
            self.sections.store(self.sections.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.release();
        }
        taken
    }
}

/// Each of these takes a mutex once, those without time only if they need not sleep, or are woken first.
fn sections(times: &'static [bool], preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let mutex = Arc::new(ModelMutex::default());
        let others: Vec<_> = times[1..]
            .iter()
            .map(|&has_time| {
                let mutex = mutex.clone();
                thread::spawn(move || mutex.section(has_time))
            })
            .collect();
        let mut taken = u32::from(mutex.section(times[0]));
        taken += others.into_iter().map(|other| u32::from(other.join().unwrap())).sum::<u32>();
        assert!(mutex.section(true));
        assert_eq!(mutex.sections.load(Ordering::Relaxed), taken + 1);
        assert_eq!(mutex.sleepers.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_mutex_excludes_and_nobody_sleeps_for_ever() {
    sections(&[true, true, true], 3);
}

#[test]
fn who_gives_up_waiting_for_a_mutex_takes_nobodys_wake() {
    sections(&[true, true, false], 3);
}

#[test]
fn four_take_a_mutex() {
    sections(&[true, true, true, false], 2);
}

/// A variable, a mutex, and how many of those who wait may go on.
#[derive(Default)]
struct ModelCond {
    number: AtomicU32,
    waits: AtomicU32,
    inside: AtomicU32,
    row: ModelFutex,
    /// Read with each look at the number by one who waits; written by who destroys.
    memory: UnsafeCell<()>,
    mutex: Mutex<u32>,
}

/// Of one who waits: whether it is to be cancelled, whether it says that it sleeps.
#[derive(Default)]
struct Victim {
    wanted: AtomicBool,
    waits: AtomicBool,
}

impl ModelCond {
    fn is_still(&self, seen: u32) -> bool {
        self.memory.with(|_| ());
        self.number.load(Ordering::Relaxed) == seen
    }

    /// Until one may go on; false if it was cancelled.
    fn wait(&self, victim: &Victim) -> bool {
        let mut may = self.mutex.lock().unwrap();
        while *may == 0 {
            let seen = self.number.load(Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `wake`
            self.waits.store(1, Ordering::Release); // pairs with the acquire in `wake`
            self.inside.fetch_add(1, Ordering::Relaxed);
            drop(may);
            victim.waits.store(true, Ordering::SeqCst); // pairs with the load in `cancel`
            // pairs with the store in `cancel`
            if !victim.wanted.load(Ordering::SeqCst) && self.is_still(seen) {
                self.row.sleep(|| self.is_still(seen), true);
            }
            victim.waits.store(false, Ordering::SeqCst); // pairs with the load in `cancel`
            let is_cancelled = victim.wanted.load(Ordering::SeqCst); // pairs with the store in `cancel`
            self.inside.fetch_sub(1, Ordering::Release); // pairs with the acquire in `destroy`
            if is_cancelled {
                self.row.wake(1);
                return false;
            }
            may = self.mutex.lock().unwrap();
        }
        *may -= 1;
        true
    }

    fn wake(&self, all: bool) {
        fence(Ordering::SeqCst); // pairs with the one in `wait`
        // pairs with the release in `wait`
        if self.waits.load(Ordering::Acquire) == 0 {
            return;
        }
        if all {
            self.waits.store(0, Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `wait`
        }
        self.number.fetch_add(1, Ordering::Relaxed);
        self.row.wake(if all { usize::MAX } else { 1 });
    }

    fn cancel(&self, victim: &Victim) {
        victim.wanted.store(true, Ordering::SeqCst); // pairs with the loads in `wait`
        // pairs with the stores in `wait`
        while victim.waits.load(Ordering::SeqCst) && self.row.wake(usize::MAX) == 0 {
            thread::yield_now();
        }
    }

    fn destroy(&self) {
        // pairs with the release in `wait`
        while self.inside.load(Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        self.memory.with_mut(|_| ());
    }
}

fn conds(preemptions: usize, run: fn(&Arc<ModelCond>)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || run(&Arc::new(ModelCond::default())));
}

fn waits(cond: &Arc<ModelCond>) -> thread::JoinHandle<()> {
    let cond = cond.clone();
    thread::spawn(move || assert!(cond.wait(&Victim::default())))
}

#[test]
fn no_signal_is_lost() {
    conds(3, |cond| {
        let waiters = [waits(cond), waits(cond)];
        for _ in 0..2 {
            *cond.mutex.lock().unwrap() += 1;
            cond.wake(false);
        }
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

#[test]
fn no_broadcast_hides_who_begins_to_wait() {
    conds(3, |cond| {
        let waiter = waits(cond);
        let other = cond.clone();
        let other = thread::spawn(move || other.wake(true));
        *cond.mutex.lock().unwrap() += 1;
        cond.wake(true);
        waiter.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_variable_is_destroyed_when_its_waiters_are_woken() {
    conds(3, |cond| {
        let waiter = waits(cond);
        let mut may = cond.mutex.lock().unwrap();
        *may += 1;
        cond.wake(true);
        cond.destroy();
        drop(may);
        waiter.join().unwrap();
    });
}

#[test]
fn a_cancelled_waiter_passes_its_signal_on() {
    conds(2, |cond| {
        let victim = Arc::new(Victim::default());
        let (one, two) = ((cond.clone(), victim.clone()), (cond.clone(), victim));
        let cancelled = thread::spawn(move || one.0.wait(&one.1));
        let cancels = thread::spawn(move || two.0.cancel(&two.1));
        let waiter = waits(cond);
        *cond.mutex.lock().unwrap() += 1;
        cond.wake(false);
        cancels.join().unwrap();
        if cancelled.join().unwrap() {
            *cond.mutex.lock().unwrap() += 1;
            cond.wake(false);
        }
        waiter.join().unwrap();
    });
}

const COUNT: u64 = 2;
const ONE_CAME: u64 = 1 << 32;

#[derive(Default)]
struct ModelBarrier {
    state: AtomicU64,
    row: ModelFutex,
}

impl ModelBarrier {
    fn wait(&self) -> bool {
        let is_last = |state: u64| state / ONE_CAME == COUNT - 1;
        let next = |state: u64| {
            Some(if is_last(state) { u64::from((state as u32).wrapping_add(1)) } else { state + ONE_CAME })
        };
        // pairs with itself, and with the acquire below
        let (Ok(before) | Err(before)) = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next);
        let is_still = |order| self.state.load(order) as u32 == before as u32;
        if is_last(before) {
            self.row.wake(usize::MAX);
        } else {
            // pairs with the release above
            while is_still(Ordering::Acquire) {
                self.row.sleep(|| is_still(Ordering::Relaxed), true);
            }
        }
        is_last(before)
    }
}

#[test]
fn four_use_a_barrier_for_two() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let barrier = Arc::new(ModelBarrier::default());
        let comes = |_| {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait())
        };
        let others = [(); 3].map(comes);
        let ends = usize::from(barrier.wait());
        let ended = others.map(|other| usize::from(other.join().unwrap()));
        assert_eq!(ends + ended.iter().sum::<usize>(), 2);
    });
}
