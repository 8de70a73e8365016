//! Owns: `WakeWord`, at which a member sleeps, how others wake it, how many sleep; the locks of the interface.
//! May use: `raddle-core`.
//! Never: a queue of its own.
//!
//! A member that waits looks at *conditions* of others: a round that has ended, a queue that is not empty. Whoever
//! makes one true pokes it afterwards:
//!
//! ```text
//!     wait until done()                         poke            (the caller has made done() true)
//!     seen = number
//!     done()? spin; done()?
//!     count; asleep = true
//!     fence                                     number += 1
//!     done()? else sleep while number == seen   fence
//!     asleep = false                            asleep? wake
//! ```
//!
//! One of the two sees what the other did. A poke of one who is awake is an addition and a load. Who brings something
//! that any member may do *claims* one who sleeps, so that who comes next wakes another one: a claim takes back
//! `asleep`, and a poke follows. The models in `model` are of these steps.

use raddle_core::door::futex::{self, ANY, FutexWord, WaitOptions};
use raddle_core::door::{team, thread, tick};
use std::cell::Cell;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Where one thread sleeps.
pub(crate) struct WakeWord {
    number: AtomicU32,
    /// Where it is counted, while it sleeps and nobody has claimed it; a byte further if it is picky, which is one that
    /// takes only what descends from its own task.
    asleep: AtomicPtr<Sleepers>,
}

fn sleeps_at(sleepers: &Sleepers, is_picky: bool) -> *mut Sleepers {
    from_ref(sleepers).cast_mut().wrapping_byte_add(usize::from(is_picky))
}

/// One look of so many.
const SELDOM: u32 = 8;

impl WakeWord {
    pub(crate) const fn new() -> WakeWord {
        WakeWord { number: AtomicU32::new(0), asleep: AtomicPtr::new(null_mut()) }
    }

    /// By its thread: until it was poked, or `done()`; also for no reason. `sleep` does so while the word has a value.
    pub(crate) fn wait(
        &self,
        spin: Duration,
        (sleepers, is_picky): (&'static Sleepers, bool),
        done: impl Fn() -> bool,
        sleep: impl FnOnce(&AtomicU32, u32),
    ) {
        let seen = self.number.load(Ordering::Acquire); // pairs with the release in `poke`
        let is_poked = || self.number.load(Ordering::Acquire) != seen; // pairs with the same
        // PERF: what others write again and again, such as a queue, is looked at more seldom than what is one's own:
        // one who looks all the time takes one task at a time, for which both wait (`lab openmp`, task).
        let looks = Cell::new(0u32);
        let over = || is_poked() || looks.replace(looks.get() + 1).is_multiple_of(SELDOM) && done();
        if over() || team::spin_until(spin, over) {
            return;
        }
        sleepers.one_more(is_picky);
        // Behind the count: who claims it takes back one that is there. Release pairs with the acquire in `claim`.
        self.asleep.store(sleeps_at(sleepers, is_picky), Ordering::Release);
        sleepers.look_again();
        fence(Ordering::SeqCst); // pairs with the fence in `wake`
        if !done() {
            sleep(&self.number, seen);
        }
        if !self.asleep.swap(null_mut(), Ordering::Relaxed).is_null() {
            sleepers.one_less(is_picky);
        }
    }

    /// Whether it sleeps there, picky or not, and nobody has claimed it.
    #[inline]
    pub(crate) fn sleeps(&self, sleepers: &Sleepers, is_picky: bool) -> bool {
        self.asleep.load(Ordering::Relaxed) == sleeps_at(sleepers, is_picky)
    }

    /// Claims and pokes it, if it sleeps there, picky or not, and nobody else has claimed it.
    pub(crate) fn claim(&self, sleepers: &Sleepers, is_picky: bool) -> bool {
        let there = sleeps_at(sleepers, is_picky);
        let relaxed = Ordering::Relaxed;
        if self.asleep.load(relaxed) != there {
            return false;
        }
        // Acquire pairs with the release in `wait`: it has been counted.
        let claimed = self.asleep.compare_exchange(there, null_mut(), Ordering::Acquire, relaxed).is_ok();
        if claimed {
            sleepers.one_less(is_picky);
            self.note();
            futex::wake(&raw const self.number, 1, ANY);
        }
        claimed
    }

    /// Something has changed; without a wake, which is to follow.
    #[inline]
    pub(crate) fn note(&self) {
        self.number.fetch_add(1, Ordering::Release); // pairs with the acquire in `wait`
    }

    /// After `note`, or after what a condition is made of, and a fence: wakes it, if it sleeps.
    #[inline]
    pub(crate) fn wake_noted(&self) {
        if self.is_asleep() {
            futex::wake(&raw const self.number, 1, ANY);
        }
    }

    /// The same, where it is to run.
    #[inline]
    pub(crate) fn wake_noted_to(&self, to: TeamWake) {
        if !self.is_asleep() {
            return;
        }
        match to {
            TeamWake::Near => futex::wake(&raw const self.number, 1, ANY),
            TeamWake::Apart => team::wake_apart(&raw const self.number, 1, ANY),
            TeamWake::At(worker) => team::wake_at(&raw const self.number, 1, ANY, worker),
        };
    }

    /// And nobody has claimed it: who has will poke it.
    fn is_asleep(&self) -> bool {
        !self.asleep.load(Ordering::Relaxed).is_null()
    }

    /// After what a condition is made of, and a fence: pokes it, if it sleeps. One that is awake looks by itself.
    #[inline]
    pub(crate) fn poke_sleeper(&self) {
        if self.is_asleep() {
            self.poke();
        }
    }

    /// Both, with the fence between.
    #[inline]
    pub(crate) fn poke(&self) {
        self.note();
        fence(Ordering::SeqCst); // pairs with the fence in `wait`
        self.wake_noted();
    }
}

/// On which worker a member runs that is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TeamWake {
    /// Its waker's.
    Near,
    /// One that sleeps, if there is one: its waker goes on beside it.
    Apart,
    /// The one of this number.
    At(usize),
}

/// How many sleep of a team, and how many of its queues hold a task, in one word. Who fills an empty queue sees by one
/// addition whether anybody has to be woken, and who is about to sleep whether there is a task; who brings a task to
/// others looks, since that addition was before. `engine::queue` has the argument.
///
/// ```text
/// asleep and not claimed << 32 | queues with tasks
/// ```
///
/// Who is picky is counted once more, so that whoever brings a task need not look for them where there are none.
#[repr(align(64))]
pub(crate) struct Sleepers {
    all: AtomicU64,
    picky: AtomicU32,
}

const SLEEPER: u64 = 1 << 32;

impl Sleepers {
    pub(crate) const fn new() -> Sleepers {
        Sleepers { all: AtomicU64::new(0), picky: AtomicU32::new(0) }
    }

    fn one_more(&self, is_picky: bool) {
        if is_picky {
            self.picky.fetch_add(1, Ordering::Relaxed);
        }
        self.all.fetch_add(SLEEPER, Ordering::Relaxed);
    }

    /// By one who sleeps, and says so where others claim it.
    fn look_again(&self) {
        // pairs with the addition in `fill`: who fills a queue after this sees who sleeps, and who filled it before is
        // seen here
        self.all.fetch_add(0, Ordering::AcqRel);
    }

    fn one_less(&self, is_picky: bool) {
        if is_picky {
            self.picky.fetch_sub(1, Ordering::Relaxed);
        }
        self.all.fetch_sub(SLEEPER, Ordering::Relaxed);
    }

    /// Whether any of them is picky: by who has brought a task, behind the queue's lock.
    #[inline]
    pub(crate) fn has_picky(&self) -> bool {
        self.picky.load(Ordering::Relaxed) > 0
    }

    /// An empty queue has a task now.
    #[inline]
    pub(crate) fn fill(&self) {
        self.all.fetch_add(1, Ordering::AcqRel); // pairs with the addition in `look_again`
    }

    /// A queue has none any more.
    #[inline]
    pub(crate) fn drain(&self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there is a queue with tasks.
    #[inline]
    pub(crate) fn has_tasks(&self) -> bool {
        !self.all.load(Ordering::Acquire).is_multiple_of(SLEEPER) // pairs with the release in `fill`
    }

    /// Whether anybody sleeps: by who has brought a task, behind the queue's lock.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.all.load(Ordering::Relaxed) >= SLEEPER
    }
}

fn sleep<W: FutexWord>(word: &W, seen: W::Value) {
    // For no reason, too: all callers look again.
    let _ = futex::wait_or_cancelled(word, seen, &WaitOptions::default());
}

/// A short wait for one who is in the middle of something.
pub(crate) fn breathe(times: &mut u32) {
    *times += 1;
    if *times < 100 {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

/// Sleeps while the word has this value.
pub(crate) fn sleep_at<W: FutexWord>(word: &W, seen: W::Value) {
    sleep(word, seen);
}

/// Wakes all who sleep at the word.
pub(crate) fn wake_all<W: FutexWord>(word: &W) {
    futex::wake(from_ref(word), u32::MAX, ANY);
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WANTED: u32 = 2;

/// Takes a lock of four bytes: 0 free, 1 taken, 2 taken and perhaps somebody waits. `sleep` does so while the word has
/// a value.
#[inline]
pub(crate) fn lock(word: &AtomicU32, sleep: impl Fn(&AtomicU32, u32)) {
    // pairs with the release in `unlock`
    if word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        lock_slowly(word, sleep);
    }
}

#[cold]
fn lock_slowly(word: &AtomicU32, sleep: impl Fn(&AtomicU32, u32)) {
    let free = || word.load(Ordering::Relaxed) == FREE;
    // pairs with the release in `unlock`
    let take = || word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    for _ in 0..50 {
        if free() && take() {
            return;
        }
        std::hint::spin_loop();
    }
    // pairs with the release in `unlock`
    while word.swap(WANTED, Ordering::Acquire) != FREE {
        sleep(word, WANTED);
    }
}

/// Takes it, if it is free. One who asks again and again lets others run.
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    // pairs with the release in `unlock`
    let taken = word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if !taken {
        tick::yield_if_due();
    }
    taken
}

#[inline]
pub(crate) fn unlock(word: &AtomicU32) {
    // pairs with the acquire in `lock`
    if word.swap(FREE, Ordering::Release) == WANTED {
        futex::wake(from_ref(word), 1, ANY);
    }
}
