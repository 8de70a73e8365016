//! Owns: the doors to the words of the locks, with a sleeper that loom can search.
//! May use: the protocols of the locks, `loom`.
//! Never: a decision.
//!
//! A sleeper of a model is a place under a lock of loom's: open, expired, or an outcome. To select publishes and to
//! wake up sees it, as the `Selection` of a real one does (`tests/loom/selection.rs`). It blocks and does not yield: of
//! several threads that yield, loom runs the first for ever. A deadline passes at once: whoever waits with one races
//! against those who select it.

use crate::protocol::clh::{ClhNode, ClhQueue};
use crate::protocol::condvar::CondWord;
use crate::protocol::mcs::{McsNode, McsQueue};
use crate::protocol::mutex::MutexWord;
use crate::protocol::once::{Begun, OnceWord};
use crate::protocol::rwlock::RwWord;
use crate::protocol::semaphore::{Refused, SemaphoreWord};
use crate::protocol::sleeper::{Sleeper, TimedSleeper};
use crate::protocol::waitlist::{Place, WaitList};
use loom::sync::Condvar;
use std::ptr::NonNull;
use std::sync::Arc;

const OPEN: u32 = 0;
const EXPIRED: u32 = u32::MAX;

/// One wait.
pub(super) struct Flag {
    ended: Arc<(loom::sync::Mutex<u32>, Condvar)>,
    expires: bool,
}

impl Flag {
    fn with_deadline() -> Flag {
        Flag { expires: true, ..Flag::new("model") }
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

impl Sleeper for Flag {
    type Right = ();

    fn new(_what: &'static str) -> Self {
        Flag { ended: Arc::new((loom::sync::Mutex::new(OPEN), Condvar::new())), expires: false }
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
        self.end(outcome + 1).then_some(())
    }
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
        self.0.try_lock().unwrap_or_else(|| self.0.lock_slow("model", || false))
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
        let place = Place::new(Flag::new("model"), number);
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
        self.0.read();
    }

    /// See the protocol.
    pub fn write(&self) {
        self.0.write();
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
        let sleeper = if expires { Flag::with_deadline() } else { Flag::new("model") };
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
                let sleeper = if expires { Flag::with_deadline() } else { Flag::new("model") };
                self.0.take_slow(count, sleeper).is_ok()
            }
            taken => taken.is_ok(),
        }
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
        (self.0.begin("model", true) != Begun::Complete).then_some(())
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
        self.0.wait("model", true);
    }
}

/// The lock of Mellor-Crummey and Scott.
pub struct Mcs(McsQueue);

impl Default for Mcs {
    fn default() -> Self {
        Mcs(McsQueue::new())
    }
}

impl Mcs {
    /// Runs `f` locked.
    pub fn with(&self, f: impl FnOnce()) {
        let node = McsNode::new();
        self.0.acquire(&node, |_| loom::thread::yield_now());
        f();
        self.0.release(&node);
    }

    /// Runs `f` locked if nobody has it.
    pub fn try_with(&self, f: impl FnOnce()) {
        let node = McsNode::new();
        if self.0.try_acquire(&node) {
            f();
            self.0.release(&node);
        }
    }
}

/// The lock of Craig, Landin and Hagersten.
pub struct Clh(ClhQueue);

impl Default for Clh {
    fn default() -> Self {
        Clh(ClhQueue::new())
    }
}

impl Clh {
    /// Runs each locked, one after the other, with whatever node is the thread's then.
    pub fn with_each(&self, times: usize, mut f: impl FnMut()) {
        let mut mine = ClhNode::boxed();
        for _ in 0..times {
            // SAFETY: it is ours.
            let before = unsafe { self.0.acquire(mine, |_| loom::thread::yield_now()) };
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
        self.0.take_last().into_iter().for_each(|node: NonNull<ClhNode>| unsafe { ClhNode::free(node) });
    }
}
