//! Models of the mutex, the condition variable, the barrier and the readers-writer lock, searched by loom, and the test
//! that plants one fault after the other.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p raddle-pthread --release --test loom`
//!
//! A sleep at a word is a condition variable here. They are the steps of `mutex`, `cond`, `barrier` and `rwlock`, with
//! their orderings, written again: those stand on the scheduler, which is not compiled for loom. Steps that must not be
//! otherwise have a [`Planted`], and a test plants one after the other: each is noticed by a model. That who sees the
//! mark of a sleeper sees it counted is in none: it takes two sleepers and two that lock, too many to be searched.

#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::process::Command;

/// What is otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    None,
    /// The mutex's: who takes it does not see what was done under it.
    TakeSeesNothing,
    ReleaseShowsNothing,
    /// Who was woken and sleeps again does not say that nobody is awake.
    StaysAwake,
    /// The condition variable's: a waiter does not say that it waits.
    WaitsUnsaid,
    /// A broadcast says that nobody waits when it has changed the number.
    ClearsLate,
    /// A waiter reads the number when it has given the mutex up.
    ReadsLate,
    /// A destroyer does not wait for those who leave.
    DestroysEarly,
    LeavesUnseen,
    /// The barrier's.
    ComesUnseen,
    LastUnseen,
    /// The readers-writer lock's: who enters does not see what was done inside, ...
    EnterSeesNothing,
    LeaveShowsNothing,
    /// ... who gives it back wakes those that sleep, but changes no number that one would see who sleeps just then, ...
    NumberStays,
    /// ... or does not look whether a writer waits.
    WriterStays,
}

impl Planted {
    fn unless(self, fault: Planted, ordering: Ordering) -> Ordering {
        if self == fault { Ordering::Relaxed } else { ordering }
    }
}

/// What a futex does: who sleeps has seen the word unchanged under the lock, and is woken once.
#[derive(Default)]
struct Futex {
    /// How many sleep, and how many have been woken and do not know it yet.
    state: Mutex<(u32, u32)>,
    woken: Condvar,
}

impl Futex {
    fn sleep(&self, word: &AtomicU32, seen: u32) {
        let mut state = self.state.lock().unwrap();
        if word.load(Ordering::Relaxed) != seen {
            return;
        }
        state.0 += 1;
        while state.1 == 0 {
            state = self.woken.wait(state).unwrap();
        }
        state.1 -= 1;
    }

    fn wake(&self, count: u32) {
        let mut state = self.state.lock().unwrap();
        let woken = count.min(state.0);
        state.0 -= woken;
        state.1 += woken;
        if woken > 0 {
            self.woken.notify_all();
        }
    }
}

/// What a lock guards: loom checks that two are never inside together, and that each sees what those before it did.
#[derive(Default)]
struct CheckedCell(UnsafeCell<u32>);

// SAFETY: loom checks the accesses.
unsafe impl Sync for CheckedCell {}
// SAFETY: as above.
unsafe impl Send for CheckedCell {}

impl CheckedCell {
    fn add_one(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.0.with_mut(|place| unsafe { *place += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|place| unsafe { *place })
    }
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;
const AWAKE: u32 = 4;

struct ModelMutex {
    lock: AtomicU32,
    sleepers: AtomicU32,
    futex: Futex,
    guarded: CheckedCell,
    fault: Planted,
}

impl ModelMutex {
    fn new(fault: Planted) -> Arc<ModelMutex> {
        let (lock, sleepers) = (AtomicU32::new(FREE), AtomicU32::new(0));
        Arc::new(ModelMutex {
            lock,
            sleepers,
            futex: Futex::default(),
            guarded: CheckedCell::default(),
            fault,
        })
    }

    fn exchange(&self, from: u32, to: u32, success: Ordering) -> bool {
        self.lock.compare_exchange(from, to, success, Ordering::Relaxed).is_ok()
    }

    fn take(&self) -> bool {
        let acquire = self.fault.unless(Planted::TakeSeesNothing, Ordering::Acquire);
        // pairs with the release in `release`
        let Err(word) = self.lock.compare_exchange(FREE, TAKEN, acquire, Ordering::Relaxed) else {
            return true;
        };
        // pairs with the same
        word & (TAKEN | AWAKE) == AWAKE && self.exchange(word, word | TAKEN, acquire)
    }

    fn take_among(&self, sleeps: bool, woken: bool) -> bool {
        // pairs with the release in `take_slowly`
        let word = self.lock.load(Ordering::Acquire);
        if word & TAKEN != 0 {
            return false;
        }
        let others = self.sleepers.load(Ordering::Relaxed) > u32::from(sleeps);
        let still_awake = if woken { 0 } else { word & AWAKE };
        let new = if others { TAKEN | WANTED | still_awake } else { TAKEN };
        // pairs with the release in `release`
        self.exchange(word, new, self.fault.unless(Planted::TakeSeesNothing, Ordering::Acquire))
    }

    fn take_slowly(&self) {
        let (mut sleeps, mut woken) = (false, false);
        while !self.take_among(sleeps, woken) {
            if !sleeps {
                self.sleepers.fetch_add(1, Ordering::Relaxed);
                sleeps = true;
            }
            let word = self.lock.load(Ordering::Relaxed);
            let stays = if self.fault == Planted::StaysAwake { AWAKE } else { 0 };
            let marked = (word | WANTED) & !(AWAKE & !stays);
            // pairs with the acquire in `take_among`
            let release = Ordering::Release;
            if word & TAKEN == 0 || !self.exchange(word, marked, release) {
                thread::yield_now();
                continue;
            }
            self.futex.sleep(&self.lock, marked);
            woken = true;
        }
        if sleeps {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn release(&self) {
        // pairs with the acquire in `take` and `take_among`
        let release = self.fault.unless(Planted::ReleaseShowsNothing, Ordering::Release);
        let word = self.lock.load(Ordering::Relaxed);
        if word & (WANTED | AWAKE) != WANTED && self.exchange(word, word & !TAKEN, release) {
            return;
        }
        let wakes = |word: u32| word & (WANTED | AWAKE) == WANTED;
        let without = |word: u32| Some(word & !TAKEN | if wakes(word) { AWAKE } else { 0 });
        if self.lock.fetch_update(release, Ordering::Relaxed, without).is_ok_and(wakes) {
            self.futex.wake(1);
        }
    }

    fn section(&self) {
        if !self.take() {
            self.take_slowly();
        }
        self.guarded.add_one();
        self.release();
    }
}

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 4000;
    model.check(run);
}

fn mutex_excludes_and_loses_no_wake(fault: Planted) {
    model(2, move || {
        let mutex = ModelMutex::new(fault);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let mutex = mutex.clone();
                thread::spawn(move || mutex.section())
            })
            .collect();
        mutex.section();
        others.into_iter().for_each(|other| other.join().unwrap());
        mutex.section();
        assert_eq!(mutex.guarded.get(), 4);
    });
}

/// Its mutex is loom's own: that of ours has a model of its own.
struct ModelCond {
    number: AtomicU32,
    waits: AtomicU32,
    inside: AtomicU32,
    futex: Futex,
    mutex: Mutex<[bool; 2]>,
    /// The memory, which is another's when it has been destroyed.
    memory: CheckedCell,
    fault: Planted,
}

impl ModelCond {
    fn new(fault: Planted) -> Arc<ModelCond> {
        Arc::new(ModelCond {
            number: AtomicU32::new(0),
            waits: AtomicU32::new(0),
            inside: AtomicU32::new(0),
            futex: Futex::default(),
            mutex: Mutex::new([false; 2]),
            memory: CheckedCell::default(),
            fault,
        })
    }

    /// Until the flag is set.
    fn wait_for(&self, flag: usize) {
        let mut flags = self.mutex.lock().unwrap();
        while !flags[flag] {
            let mut seen = self.number.load(Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `wake`
            if self.fault != Planted::WaitsUnsaid {
                self.waits.store(1, Ordering::Release); // pairs with the acquire in `wake`
            }
            self.inside.fetch_add(1, Ordering::Relaxed);
            drop(flags);
            if self.fault == Planted::ReadsLate {
                seen = self.number.load(Ordering::Relaxed);
            }
            self.futex.sleep(&self.number, seen);
            self.memory.get();
            // pairs with the acquire in `destroy`
            self.inside.fetch_sub(1, self.fault.unless(Planted::LeavesUnseen, Ordering::Release));
            flags = self.mutex.lock().unwrap();
        }
    }

    fn set(&self, flag: usize) {
        self.mutex.lock().unwrap()[flag] = true;
    }

    fn wake(&self, all: bool) {
        fence(Ordering::SeqCst); // pairs with the one in `wait_for`
        // pairs with the release in `wait_for`
        if self.waits.load(Ordering::Acquire) == 0 {
            return;
        }
        let is_late = self.fault == Planted::ClearsLate;
        if all && !is_late {
            self.waits.store(0, Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `wait_for`
        }
        self.number.fetch_add(1, Ordering::Relaxed);
        if all && is_late {
            self.waits.store(0, Ordering::Relaxed);
        }
        self.futex.wake(if all { u32::MAX } else { 1 });
    }

    fn destroy(&self) {
        // pairs with the release in `wait_for`
        while self.fault != Planted::DestroysEarly && self.inside.load(Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        self.memory.add_one();
    }
}

/// One waits for one thing, one for another, which two others bring, one by a broadcast.
fn cond_loses_no_wake(fault: Planted) {
    model(2, move || {
        let cond = ModelCond::new(fault);
        let (one, two) = (cond.clone(), cond.clone());
        let broadcasts = thread::spawn(move || {
            one.set(0);
            one.wake(true);
        });
        let signals = thread::spawn(move || {
            two.set(1);
            two.wake(false);
        });
        cond.wait_for(0);
        cond.wait_for(1);
        broadcasts.join().unwrap();
        signals.join().unwrap();
    });
}

/// Who has woken all destroys it.
fn cond_may_be_destroyed_when_all_are_woken(fault: Planted) {
    model(3, move || {
        let cond = ModelCond::new(fault);
        let other = cond.clone();
        let waits = thread::spawn(move || other.wait_for(0));
        cond.set(0);
        cond.wake(true);
        cond.destroy();
        waits.join().unwrap();
    });
}

const ONE_CAME: u64 = 1 << 32;
const MEMBERS: u64 = 2;

struct ModelBarrier {
    state: AtomicU64,
    inside: AtomicU32,
    futex: Mutex<u32>,
    woken: Condvar,
    done: [CheckedCell; 2],
    memory: CheckedCell,
    fault: Planted,
}

impl ModelBarrier {
    fn come(&self) -> (u32, bool) {
        // pairs with itself, and with the acquire in `wait`
        let ordering = self.fault.unless(Planted::ComesUnseen, Ordering::AcqRel);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let is_last = state / ONE_CAME == MEMBERS - 1;
            let next = if is_last { u64::from((state as u32).wrapping_add(1)) } else { state + ONE_CAME };
            if is_last {
                self.inside.fetch_add(MEMBERS as u32, Ordering::Relaxed);
            }
            match self.state.compare_exchange(state, next, ordering, Ordering::Relaxed) {
                Ok(_) => return (state as u32, is_last),
                Err(other) => state = other,
            }
            if is_last {
                self.inside.fetch_sub(MEMBERS as u32, Ordering::Relaxed);
            }
        }
    }

    fn wait(&self) {
        let (round, is_last) = self.come();
        if is_last {
            *self.futex.lock().unwrap() += 1;
            self.woken.notify_all();
        } else {
            // pairs with the release in `come`
            let acquire = self.fault.unless(Planted::LastUnseen, Ordering::Acquire);
            while self.state.load(acquire) as u32 == round {
                let mut wakes = self.futex.lock().unwrap();
                let before = *wakes;
                while self.state.load(Ordering::Relaxed) as u32 == round && *wakes == before {
                    wakes = self.woken.wait(wakes).unwrap();
                }
                // A futex's lock is not seen by who does not sleep.
                if self.fault == Planted::LastUnseen {
                    break;
                }
            }
        }
        self.memory.get();
        // pairs with the acquire in `destroy`
        self.inside.fetch_sub(1, self.fault.unless(Planted::LeavesUnseen, Ordering::Release));
    }

    fn destroy(&self) {
        // pairs with the release in `wait`
        while self.fault != Planted::DestroysEarly && self.inside.load(Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        self.memory.add_one();
    }
}

fn barrier(fault: Planted) -> Arc<ModelBarrier> {
    Arc::new(ModelBarrier {
        state: AtomicU64::new(0),
        inside: AtomicU32::new(0),
        futex: Mutex::new(0),
        woken: Condvar::new(),
        done: Default::default(),
        memory: CheckedCell::default(),
        fault,
    })
}

/// All of a round is seen by all in the next one, and the barrier may go when one has left it.
fn barrier_parts_rounds(fault: Planted) {
    model(2, move || {
        let shared = barrier(fault);
        let other = shared.clone();
        let round = |barrier: &ModelBarrier, me: usize| {
            barrier.done[me].add_one();
            barrier.wait();
            assert_eq!(barrier.done[1 - me].get(), 1);
            barrier.wait();
        };
        let second = thread::spawn(move || round(&other, 1));
        round(&shared, 0);
        shared.destroy();
        second.join().unwrap();
    });
}

/// What the short lock guards: how many read, whether one writes, how many wait to read and to write.
#[derive(Default)]
struct Inside(UnsafeCell<[u32; 4]>);

const READERS: usize = 0;
const WRITES: usize = 1;
const READERS_WAIT: usize = 2;
const WRITERS_WAIT: usize = 3;

// SAFETY: loom checks the accesses.
unsafe impl Sync for Inside {}
// SAFETY: as above.
unsafe impl Send for Inside {}

impl Inside {
    fn get(&self, what: usize) -> u32 {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.0.with(|place| unsafe { (*place)[what] })
    }

    fn add(&self, what: usize, by: u32) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { (*place)[what] = (*place)[what].wrapping_add(by) });
    }
}

struct ModelRwLock {
    short: AtomicU32,
    entry: Futex,
    inside: Inside,
    /// Of readers, and of writers.
    numbers: [AtomicU32; 2],
    sleepers: [Futex; 2],
    guarded: CheckedCell,
    fault: Planted,
}

impl ModelRwLock {
    fn new(fault: Planted) -> Arc<ModelRwLock> {
        Arc::new(ModelRwLock {
            short: AtomicU32::new(0),
            entry: Futex::default(),
            inside: Inside::default(),
            numbers: [AtomicU32::new(0), AtomicU32::new(0)],
            sleepers: Default::default(),
            guarded: CheckedCell::default(),
            fault,
        })
    }

    fn enter(&self) {
        // pairs with the release in `leave`
        let acquire = self.fault.unless(Planted::EnterSeesNothing, Ordering::Acquire);
        if self.short.compare_exchange(0, 1, acquire, Ordering::Relaxed).is_err() {
            while self.short.swap(2, acquire) != 0 {
                self.entry.sleep(&self.short, 2);
            }
        }
    }

    fn leave(&self) {
        // pairs with the acquires in `enter`
        let release = self.fault.unless(Planted::LeaveShowsNothing, Ordering::Release);
        if self.short.swap(0, release) == 2 {
            self.entry.wake(1);
        }
    }

    fn is_free(&self, writes: bool) -> bool {
        self.inside.get(WRITES) == 0 && !(writes && self.inside.get(READERS) > 0)
    }

    fn take(&self, writes: bool) {
        self.enter();
        let (side, waits) = if writes { (1, WRITERS_WAIT) } else { (0, READERS_WAIT) };
        if !self.is_free(writes) {
            self.inside.add(waits, 1);
            while !self.is_free(writes) {
                let seen = self.numbers[side].load(Ordering::Relaxed);
                self.leave();
                self.sleepers[side].sleep(&self.numbers[side], seen);
                self.enter();
            }
            self.inside.add(waits, u32::MAX);
        }
        self.inside.add(if writes { WRITES } else { READERS }, 1);
        self.leave();
    }

    fn wake_inside(&self) {
        let step = u32::from(self.fault != Planted::NumberStays);
        if self.inside.get(READERS_WAIT) > 0 && self.is_free(false) {
            self.numbers[0].fetch_add(step, Ordering::Relaxed);
            self.sleepers[0].wake(u32::MAX);
        }
        if self.fault != Planted::WriterStays && self.inside.get(WRITERS_WAIT) > 0 && self.is_free(true) {
            self.numbers[1].fetch_add(step, Ordering::Relaxed);
            self.sleepers[1].wake(1);
        }
    }

    fn give_back(&self) {
        self.enter();
        self.inside.add(if self.inside.get(WRITES) == 1 { WRITES } else { READERS }, u32::MAX);
        self.wake_inside();
        self.leave();
    }

    fn section(&self, writes: bool) {
        self.take(writes);
        if writes {
            self.guarded.add_one();
        } else {
            self.guarded.get();
        }
        self.give_back();
    }
}

/// One writes, one reads, and one does this.
fn rwlock_excludes_and_loses_no_wake(fault: Planted, writes: bool) {
    model(2, move || {
        let lock = ModelRwLock::new(fault);
        let (one, two) = (lock.clone(), lock.clone());
        let writer = thread::spawn(move || one.section(true));
        let reader = thread::spawn(move || two.section(false));
        lock.section(writes);
        writer.join().unwrap();
        reader.join().unwrap();
    });
}

fn two_write_and_one_reads(fault: Planted) {
    rwlock_excludes_and_loses_no_wake(fault, true);
}

fn one_writes_and_two_read(fault: Planted) {
    rwlock_excludes_and_loses_no_wake(fault, false);
}

#[test]
fn a_readers_writer_lock_excludes_and_loses_no_wake() {
    two_write_and_one_reads(Planted::None);
    one_writes_and_two_read(Planted::None);
}

#[test]
fn a_mutex_excludes_and_loses_no_wake() {
    mutex_excludes_and_loses_no_wake(Planted::None);
}

#[test]
fn a_condition_variable_loses_no_wake() {
    cond_loses_no_wake(Planted::None);
}

#[test]
fn a_condition_variable_may_be_destroyed_when_all_are_woken() {
    cond_may_be_destroyed_when_all_are_woken(Planted::None);
}

#[test]
fn a_barrier_parts_rounds_and_may_go() {
    barrier_parts_rounds(Planted::None);
}

type Model = fn(Planted);

const FAULTS: [(Planted, Model); 16] = [
    (Planted::TakeSeesNothing, mutex_excludes_and_loses_no_wake),
    (Planted::ReleaseShowsNothing, mutex_excludes_and_loses_no_wake),
    (Planted::StaysAwake, mutex_excludes_and_loses_no_wake),
    (Planted::WaitsUnsaid, cond_loses_no_wake),
    (Planted::ClearsLate, cond_loses_no_wake),
    (Planted::ReadsLate, cond_loses_no_wake),
    (Planted::DestroysEarly, cond_may_be_destroyed_when_all_are_woken),
    (Planted::LeavesUnseen, cond_may_be_destroyed_when_all_are_woken),
    (Planted::ComesUnseen, barrier_parts_rounds),
    (Planted::LastUnseen, barrier_parts_rounds),
    (Planted::DestroysEarly, barrier_parts_rounds),
    (Planted::LeavesUnseen, barrier_parts_rounds),
    (Planted::EnterSeesNothing, two_write_and_one_reads),
    (Planted::LeaveShowsNothing, two_write_and_one_reads),
    (Planted::NumberStays, two_write_and_one_reads),
    (Planted::WriterStays, two_write_and_one_reads),
];

/// Which of them this process is to plant.
const VARIABLE: &str = "RADDLE_PTHREAD_PLANT";

/// Fails if there is a fault to plant, which a process of its own asks for: one that fails may leave threads suspended,
/// whose clean-up the process does not survive.
#[test]
fn a_fault_fails() {
    if let Ok(number) = std::env::var(VARIABLE) {
        let (fault, model) = FAULTS[number.parse::<usize>().unwrap()];
        model(fault);
    }
}

#[test]
fn each_planted_fault_is_noticed() {
    let mut unnoticed = Vec::new();
    for (number, (fault, _)) in FAULTS.iter().enumerate() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let ran = command.args(["--exact", "a_fault_fails"]).env(VARIABLE, number.to_string()).output();
        let ran = ran.unwrap();
        assert!(String::from_utf8_lossy(&ran.stdout).contains("running 1 test"), "the model was not run");
        if ran.status.success() {
            unnoticed.push((number, fault));
        }
    }
    assert!(unnoticed.is_empty(), "no model notices {unnoticed:?}");
}
