//! Owns: the doors to the words of the locks, with a sleeper that loom can search.
//! May use: `call`, `protocol`, `loom`.
//! Never: a decision.
//!
//! A sleeper of a model is a place under a lock of loom's: open, expired, or an outcome. To select publishes and to
//! wake up sees it, as the `Selection` of a real one does (`tests/loom/selection.rs`). It blocks and does not yield: of
//! several threads that yield, loom runs the first for ever. A deadline passes at once: whoever waits with one races
//! against those who select it.

use super::Saved;
use crate::call::{WaitCall, WaitReason};
use crate::protocol::clh::{ClhNode, ClhQueue};
use crate::protocol::condvar::CondWord;
use crate::protocol::mcs::{McsNode, McsQueue};
use crate::protocol::mutex::MutexWord;
use crate::protocol::once::{BeginOutcome, OnceWord};
use crate::protocol::rwlock::RwWord;
use crate::protocol::semaphore::{Refused, SemaphoreWord};
use crate::protocol::sleeper::{RowSleeper, Sleeper, TimedSleeper};
use crate::protocol::turn::Turn;
use crate::protocol::waitlist::{WaitEntry, WaitList};
use loom::sync::Condvar;
use loom::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

const OPEN: u32 = 0;
const EXPIRED: u32 = u32::MAX;
/// The call of one who has no deadline.
pub(super) static MODEL: WaitCall = WaitCall::new("model", WaitReason::Lock);
/// The call of one who has.
static HURRIED: WaitCall = WaitCall::new("model, with a deadline", WaitReason::Lock);

/// One wait.
pub(super) struct Flag {
    ended: Arc<(loom::sync::Mutex<u32>, Condvar)>,
    expires: bool,
    /// Seen without any order, as who selects a waiter that has given up sees it.
    gave_up: AtomicBool,
}

impl Flag {
    pub(super) fn with_deadline() -> Flag {
        Flag::new(&HURRIED)
    }

    fn end(&self, with: u32) -> bool {
        let ended = self.ended.clone();
        let mut now = ended.0.lock().expect("nobody panics");
        let first = *now == OPEN;
        if first {
            *now = with;
            ended.1.notify_one();
        }
        first
    }
}

// SAFETY: its words are atomics.
unsafe impl Sleeper for Flag {
    type Right = ();

    fn new(call: &'static WaitCall) -> Self {
        let expires = std::ptr::eq(call, &HURRIED);
        Flag {
            ended: Arc::new((loom::sync::Mutex::new(OPEN), Condvar::new())),
            expires,
            gave_up: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        let outcome = self.wait_timed();
        assert!(outcome.is_some(), "a wait without a deadline has expired");
    }

    fn select(&self) {
        assert!(self.end(1), "woken twice");
    }

    fn wake((): ()) {}
}

impl TimedSleeper for Flag {
    fn wait_timed(&self) -> Option<u32> {
        if self.expires && self.end(EXPIRED) {
            return None;
        }
        let mut now = self.ended.0.lock().expect("nobody panics");
        while *now == OPEN {
            now = self.ended.1.wait(now).expect("nobody panics");
        }
        Some(*now - 1)
    }

    fn try_select(&self, outcome: u32) -> Option<()> {
        if self.gave_up.load(Ordering::Relaxed) {
            return None;
        }
        self.end(outcome + 1).then_some(())
    }

    fn give_up(&self) {
        self.gave_up.store(true, Ordering::Relaxed);
    }

    fn discard(self) {}
}

/// To select publishes, so that there is nothing left to do.
impl RowSleeper for Flag {
    type Row = ();

    fn line_up((): &mut (), (): ()) {}

    fn wake_row((): ()) {}
}

/// The mutex.
pub struct Mutex(MutexWord<Flag>);

// SAFETY: loom checks the accesses.
unsafe impl Sync for Mutex {}
// SAFETY: as above.
unsafe impl Send for Mutex {}

impl Default for Mutex {
    fn default() -> Self {
        Mutex(MutexWord::new())
    }
}

impl Mutex {
    /// Locks; true if poisoned.
    pub fn lock(&self) -> bool {
        self.0.try_lock().unwrap_or_else(|| self.0.lock_slow(&MODEL, |_| false))
    }

    /// Locks, or gives up; true if it has locked.
    pub fn lock_or_give_up(&self) -> bool {
        self.0.try_lock().or_else(|| self.0.lock_or_give_up(&HURRIED, None, |_| false)).is_some()
    }

    /// See the protocol.
    pub fn try_lock(&self) -> bool {
        self.0.try_lock().is_some()
    }

    /// See the protocol.
    pub fn unlock(&self, poison: bool) {
        self.0.unlock(poison);
    }

    /// See the protocol.
    pub fn clear_poison(&self) {
        self.0.clear_poison();
    }
}

/// The list.
pub struct List(WaitList<Flag>);

impl Default for List {
    fn default() -> Self {
        List(WaitList::new())
    }
}

impl List {
    /// Enters, looks who is first, and leaves: true if it was still in.
    pub fn visit(&self, number: usize) -> bool {
        let place = WaitEntry::new(Flag::new(&MODEL), number);
        self.0.lock().push(&place);
        let first = self.0.lock().first().map(|first| first.need);
        let was_in = self.0.lock().remove(&place);
        was_in && first.is_some()
    }

    /// Takes the first out.
    pub fn remove_first(&self) {
        self.0.lock().remove_first();
    }

    /// See the protocol.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The reader-writer lock.
pub struct Rw(RwWord<Flag>);

impl Default for Rw {
    fn default() -> Self {
        Rw(RwWord::new())
    }
}

impl Rw {
    /// See the protocol.
    pub fn read(&self) {
        if self.0.read_or_step_back().is_none() {
            assert!(self.0.read_slow(&MODEL, None, |_| false), "without a deadline");
        }
    }

    /// See the protocol.
    pub fn write(&self) {
        if self.0.try_write().is_none() {
            assert!(self.0.write_slow(&MODEL, None, |_| false), "without a deadline");
        }
    }

    /// See the protocol.
    pub fn try_read(&self) -> bool {
        self.0.try_read().is_some()
    }

    /// Counts itself in, and steps back if it is refused, for good: as a task, which must not wait.
    pub fn read_or_step_back(&self) -> bool {
        self.0.read_or_step_back().is_some()
    }

    /// Enters as the writer, or gives up; true if it has entered.
    pub fn write_or_give_up(&self) -> bool {
        self.0.try_write().is_some() || self.0.write_slow(&HURRIED, None, |_| false)
    }

    /// See the protocol.
    pub fn end_read(&self) {
        self.0.end_read();
    }

    /// See the protocol.
    pub fn end_write(&self) {
        self.0.end_write(false);
    }

    /// See the protocol.
    pub fn downgrade(&self) {
        self.0.downgrade();
    }
}

/// The condition variable.
pub struct Cond(CondWord<Flag>);

impl Default for Cond {
    fn default() -> Self {
        Cond(CondWord::new())
    }
}

impl Cond {
    /// Waits, with a deadline that passes at once if `expires`. False if it has expired.
    pub fn wait(&self, mutex: &Mutex, expires: bool) -> bool {
        let sleeper = if expires { Flag::with_deadline() } else { Flag::new(&MODEL) };
        let notified = self.0.wait(sleeper, || mutex.unlock(false));
        mutex.lock();
        notified
    }

    /// See the protocol.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// See the protocol.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// The semaphore.
pub struct Semaphore(SemaphoreWord<Flag>);

impl Semaphore {
    /// With so many permits.
    pub fn new(permits: usize) -> Self {
        Semaphore(SemaphoreWord::new(permits))
    }

    /// Takes; false if the deadline, which passes at once if `expires`, has passed, or it is closed.
    pub fn take(&self, count: usize, expires: bool) -> bool {
        match self.0.try_take(count) {
            Err(Refused::TooFew) => {
                let sleeper = if expires { Flag::with_deadline() } else { Flag::new(&MODEL) };
                self.0.take_slow(count, sleeper).is_ok()
            }
            taken => taken.is_ok(),
        }
    }

    /// As a future takes: enters the list, and is dropped before it is told. Whether it was given what it gives back.
    pub fn take_and_drop(&self, count: usize) -> bool {
        let place = WaitEntry::new(Flag::new(&MODEL), count);
        let given = match self.0.take_or_enter(&place) {
            Some(taken) => taken.is_ok(),
            None if self.0.withdraw(&place) => false,
            // Its wait has ended: this does not wait.
            None => {
                place.sleeper.wait_timed().is_some_and(|with| SemaphoreWord::<Flag>::outcome(with).is_ok())
            }
        };
        if given {
            self.0.give(count);
        }
        given
    }

    /// See the protocol.
    pub fn give(&self, count: usize) {
        self.0.give(count);
    }

    /// See the protocol.
    pub fn close(&self) {
        self.0.close();
    }

    /// See the protocol.
    pub fn permits(&self) -> usize {
        self.0.permits()
    }
}

/// The once.
pub struct Once(OnceWord<Flag>);

impl Default for Once {
    fn default() -> Self {
        Once(OnceWord::new())
    }
}

impl Once {
    /// Whether it is the caller's to do; `None` if it is done.
    pub fn begin(&self) -> Option<()> {
        (self.0.begin(&MODEL, true) != BeginOutcome::Complete).then_some(())
    }

    /// See the protocol.
    pub fn finish(&self, poisoned: bool) {
        self.0.finish(poisoned);
    }

    /// See the protocol.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// See the protocol.
    pub fn wait(&self) {
        self.0.wait(&MODEL, true);
    }
}

/// Where one sleeps until its turn is near.
pub(super) struct Parked {
    context: Saved,
    /// Orders a waker before the one it queues, and only these two.
    queued: loom::sync::Mutex<bool>,
    bell: Condvar,
}

/// A turn that is near when so many are before it.
struct NearAt(u32);

impl Turn for NearAt {
    type Who = Parked;

    fn is_near(&self, before: u32) -> bool {
        before <= self.0
    }

    fn should_sleep(&self, before: u32) -> bool {
        !self.is_near(before)
    }

    fn look_again(&mut self, _before: u32) {
        loom::thread::yield_now();
    }

    fn sleep(&mut self, enter: impl FnOnce(*mut Parked) -> bool) {
        let (queued, bell) = (loom::sync::Mutex::new(false), Condvar::new());
        // Leaked, as frames of a model live to its end.
        let parked: &'static Parked = Box::leak(Box::new(Parked { context: Saved::default(), queued, bell }));
        parked.context.save();
        if !enter(std::ptr::from_ref(parked).cast_mut()) {
            return parked.context.resume();
        }
        let mut queued = parked.queued.lock().expect("nobody panics");
        while !*queued {
            queued = parked.bell.wait(queued).expect("nobody panics");
        }
    }

    unsafe fn wake(who: *mut Parked) {
        // SAFETY: what is parked in a model lives to its end.
        let parked = unsafe { &*who };
        parked.context.resume();
        *parked.queued.lock().expect("nobody panics") = true;
        parked.bell.notify_one();
    }
}

/// The lock of Mellor-Crummey and Scott; those sleep before whom there are more than so many.
pub struct Mcs(McsQueue<Parked>, u32);

impl Mcs {
    /// A free one.
    pub fn new(near: u32) -> Mcs {
        Mcs(McsQueue::new(), near)
    }

    /// Runs `f` locked.
    pub fn with(&self, f: impl FnOnce()) {
        let node = McsNode::new();
        if let Some(behind) = self.0.enter(&node) {
            self.0.wait(behind, &node, &mut NearAt(self.1));
        }
        f();
        self.0.release::<NearAt>(&node);
    }

    /// Runs `f` locked if nobody has it.
    pub fn try_with(&self, f: impl FnOnce()) {
        let node = McsNode::new();
        if self.0.try_acquire(&node) {
            f();
            self.0.release::<NearAt>(&node);
        }
    }
}

/// The lock of Craig, Landin and Hagersten; those may sleep before whom there are more than so many.
pub struct Clh(ClhQueue<Parked>, u32);

impl Clh {
    /// A free one.
    pub fn new(near: u32) -> Clh {
        Clh(ClhQueue::new(), near)
    }

    /// Runs each locked, one after the other, with whatever node is the thread's then.
    pub fn with_each(&self, times: usize, mut f: impl FnMut()) {
        let mut mine = ClhNode::boxed();
        for _ in 0..times {
            // SAFETY: it is ours.
            let (before, behind) = unsafe { self.0.enter(mine) };
            if let Some(behind) = behind {
                // SAFETY: as above.
                self.0.wait(behind, unsafe { mine.as_ref() }, NearAt(self.1));
            }
            f();
            // SAFETY: it was acquired with it.
            unsafe { ClhQueue::release(mine) };
            mine = before.unwrap_or_else(ClhNode::boxed);
        }
        // SAFETY: it is ours.
        unsafe { ClhNode::free(mine) };
    }
}

impl Drop for Clh {
    fn drop(&mut self) {
        // SAFETY: nobody uses the lock any more.
        self.0.take_last().into_iter().for_each(|node| unsafe { ClhNode::free(node) });
    }
}
