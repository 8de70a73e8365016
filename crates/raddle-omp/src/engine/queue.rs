//! Owns: `Queues`: the tasks of a team that can run, one queue for each member, and one for those with priorities.
//! May use: `icv`, `wait`.
//! Never: a wait while a queue is locked.
//!
//! A queue is short and its lock is held for nanoseconds. The owner takes the youngest, others the oldest.
//!
//! # Whoever sleeps is told
//! `Sleepers` counts the queues that hold a task; it changes under a queue's lock, when that becomes filled or empty. A
//! task that comes to others changes nothing that its member and its team share, but for the queue itself.
//!
//! - Who would take *any* task counts itself as asleep, and sleeps if no queue is filled. Say it has seen none, and a
//!   task comes to a queue. The addition by which that queue was filled is later than the look, and so than the count;
//!   the lock orders it before the coming. So whoever brings the task reads a word that tells of the sleeper.
//! - Who would take what descends from it, alone, counts itself first, and then looks into all queues, under their
//!   locks. What comes to a queue later is brought by one who had the lock later, and so reads the count.
//!
//! Both are models in `model`.

use crate::engine::task::Task;
use crate::wait::{Sleepers, breathe};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// So many wait in one queue: then who makes a task runs it at once, unless `KMP_ENABLE_TASK_THROTTLING=0`.
pub(crate) const FULL: usize = 256;

#[repr(align(64))]
struct Queue {
    is_locked: AtomicBool,
    /// How many there were when it was locked last; for who only wants to guess.
    length: AtomicU32,
    /// Changes whenever a task comes.
    arrivals: AtomicU32,
    tasks: UnsafeCell<VecDeque<ReadyTask>>,
}

/// A task that nobody else has.
pub(crate) struct ReadyTask(pub(crate) *const Task);

/// All of a team.
pub(crate) struct Queues {
    each: Vec<Queue>,
    urgent: Queue,
    pub(crate) sleepers: Sleepers,
}

/// The right to a queue's tasks.
struct LockedQueue<'q> {
    queue: &'q Queue,
    sleepers: &'q Sleepers,
    was_filled: bool,
}

impl Deref for LockedQueue<'_> {
    type Target = VecDeque<ReadyTask>;

    fn deref(&self) -> &VecDeque<ReadyTask> {
        // SAFETY: the lock is held.
        unsafe { &*self.queue.tasks.get() }
    }
}

impl DerefMut for LockedQueue<'_> {
    fn deref_mut(&mut self) -> &mut VecDeque<ReadyTask> {
        // SAFETY: the lock is held.
        unsafe { &mut *self.queue.tasks.get() }
    }
}

impl Drop for LockedQueue<'_> {
    fn drop(&mut self) {
        let length = self.len() as u32;
        match (self.was_filled, length > 0) {
            (false, true) => self.sleepers.fill(),
            (true, false) => self.sleepers.drain(),
            _ => {}
        }
        self.queue.length.store(length, Ordering::Relaxed);
        self.queue.is_locked.store(false, Ordering::Release); // pairs with the acquire in `locked`
    }
}

impl LockedQueue<'_> {
    /// One has come; under the lock.
    fn note_arrival(&self) {
        let arrivals = &self.queue.arrivals;
        arrivals.store(arrivals.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl Queue {
    fn new() -> Queue {
        Queue {
            is_locked: AtomicBool::new(false),
            length: AtomicU32::new(0),
            arrivals: AtomicU32::new(0),
            tasks: UnsafeCell::default(),
        }
    }

    fn guess(&self) -> usize {
        self.length.load(Ordering::Relaxed) as usize
    }
}

impl Queues {
    pub(crate) fn new(count: usize) -> Queues {
        Queues {
            each: (0..count).map(|_| Queue::new()).collect(),
            urgent: Queue::new(),
            sleepers: Sleepers::new(),
        }
    }

    /// Whoever has it gives it back without leaving its worker.
    fn locked<'q>(&'q self, queue: &'q Queue) -> LockedQueue<'q> {
        let mut times = 0;
        // pairs with the release in `drop`
        while queue.is_locked.swap(true, Ordering::Acquire) {
            while queue.is_locked.load(Ordering::Relaxed) {
                breathe(&mut times);
            }
        }
        let mut locked = LockedQueue { queue, sleepers: &self.sleepers, was_filled: false };
        locked.was_filled = !locked.is_empty();
        locked
    }

    /// The same, if nobody has it.
    fn try_locked<'q>(&'q self, queue: &'q Queue) -> Option<LockedQueue<'q>> {
        // pairs with the release in `drop`
        if queue.is_locked.swap(true, Ordering::Acquire) {
            return None;
        }
        let mut locked = LockedQueue { queue, sleepers: &self.sleepers, was_filled: false };
        locked.was_filled = !locked.is_empty();
        Some(locked)
    }

    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.sleepers.has_tasks()
    }

    /// Whether there is so much to do that one more is not worth a queue.
    #[inline]
    pub(crate) fn is_full(&self, tid: u32) -> bool {
        self.each[tid as usize].guess() >= FULL && crate::icv::settings().is_throttled
    }

    /// Changes whenever a task comes; for who spins, and looks again.
    pub(crate) fn arrivals(&self) -> u32 {
        let all = self.each.iter().chain([&self.urgent]);
        all.fold(0, |sum, queue| sum.wrapping_add(queue.arrivals.load(Ordering::Relaxed)))
    }

    /// True if anybody of the team sleeps.
    pub(crate) fn push(&self, tid: u32, task: ReadyTask, priority: i32) -> bool {
        let is_urgent = priority > 0;
        let mut tasks = self.locked(if is_urgent { &self.urgent } else { &self.each[tid as usize] });
        if is_urgent {
            // The most urgent stand first, equal ones in the order of their coming.
            let at = tasks.iter().position(|other| task_of(other).priority.get() < priority);
            let at = at.unwrap_or(tasks.len());
            tasks.insert(at, task);
        } else {
            tasks.push_back(task);
        }
        tasks.note_arrival();
        drop(tasks);
        self.sleepers.has_any()
    }

    /// One that `fits`: the most urgent, else the youngest of one's own, else the oldest of another's. Looks at so many
    /// in each queue.
    pub(crate) fn take(&self, tid: u32, reach: usize, fits: impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        if !self.has_some() {
            return None;
        }
        if self.urgent.guess() > 0
            && let Some(task) = self.first_of(&self.urgent, reach, &fits)
        {
            return Some(task);
        }
        if let Some(task) = self.last_of(&self.each[tid as usize], reach, &fits) {
            return Some(task);
        }
        let count = self.each.len();
        (1..count).find_map(|step| self.first_of(&self.each[(tid as usize + step) % count], reach, &fits))
    }

    /// The youngest of one's own that `fits`, if nothing is urgent. Looks at so many, and at no other's queue.
    #[inline]
    pub(crate) fn take_near(
        &self,
        tid: u32,
        reach: usize,
        fits: impl Fn(&Task) -> bool,
    ) -> Option<ReadyTask> {
        let own = &self.each[tid as usize];
        if own.guess() == 0 || self.urgent.guess() > 0 {
            return None;
        }
        self.last_of(own, reach, &fits)
    }

    /// Whether there is one that `fits`: looks at all, under their locks.
    pub(crate) fn has_one(&self, fits: impl Fn(&Task) -> bool) -> bool {
        let mut all = self.each.iter().chain([&self.urgent]);
        all.any(|queue| self.locked(queue).iter().any(|task| fits(task_of(task))))
    }

    /// Takes some of another's, the oldest, and has the others in one's own queue. What is moved `sleeps` is told of if
    /// anybody does: who looked for it meanwhile has not found it.
    pub(crate) fn take_some(
        &self,
        tid: u32,
        is_mine: impl Fn() -> bool,
        mut sleeps: impl FnMut(&Task),
    ) -> Option<ReadyTask> {
        const MOST: usize = 16;
        let own = tid as usize;
        if let Some(task) = self.take_own(own, &is_mine) {
            return Some(task);
        }
        if self.urgent.guess() > 0 {
            return self.take(tid, 1, |_| is_mine());
        }
        let count = self.each.len();
        let others = (1..count).map(|step| &self.each[(own + step) % count]);
        // At last at one's own, to which others may bring what they let go on.
        for other in others.chain([&self.each[own]]).filter(|other| other.guess() > 0) {
            let mut tasks = self.locked(other);
            if tasks.is_empty() || !is_mine() {
                continue;
            }
            let first = tasks.pop_front();
            let half = MOST.min(tasks.len().div_ceil(2));
            // Under both locks: so there is no moment in which what is moved is in no queue, and no queue seems filled.
            // Another thief may have one's own; then nothing is moved, since each might wait for the other.
            if half > 0
                && !std::ptr::eq(other, &raw const self.each[own])
                && let Some(mut mine) = self.try_locked(&self.each[own])
            {
                // The region is still this one, since the first is not over.
                mine.extend(tasks.drain(..half));
                mine.note_arrival();
                // Who looked through the queues meanwhile may have looked here before, and there after.
                if self.sleepers.has_any() {
                    mine.iter().for_each(|task| sleeps(task_of(task)));
                }
            }
            return first;
        }
        None
    }

    /// The youngest of one's own, if nothing is urgent.
    #[inline]
    fn take_own(&self, own: usize, is_mine: &impl Fn() -> bool) -> Option<ReadyTask> {
        if self.each[own].guess() == 0 || self.urgent.guess() > 0 {
            return None;
        }
        let mut tasks = self.locked(&self.each[own]);
        if tasks.is_empty() || !is_mine() {
            return None;
        }
        tasks.pop_back()
    }

    fn last_of(&self, queue: &Queue, reach: usize, fits: &impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        let mut tasks = self.locked(queue);
        let back = tasks.iter().rev().take(reach).position(|task| fits(task_of(task)))?;
        let at = tasks.len() - 1 - back;
        tasks.remove(at)
    }

    fn first_of(&self, queue: &Queue, reach: usize, fits: &impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        let mut tasks = self.locked(queue);
        let at = tasks.iter().take(reach).position(|task| fits(task_of(task)))?;
        tasks.remove(at)
    }
}

fn task_of(ready: &ReadyTask) -> &Task {
    // SAFETY: a task that waits in a queue is alive.
    unsafe { &*ready.0 }
}
