//! Owns: `Queues`: the tasks of a team that can run, one queue for each member, and one for those with priorities.
//! May use: `wait`.
//! Never: a wait while a queue is locked.
//!
//! A queue is short and its lock is held for nanoseconds. The owner takes the youngest, others the oldest.

use crate::engine::task::Task;
use crate::wait::{Sleepers, breathe};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// So many wait in one queue: then who makes a task runs it at once.
pub(crate) const FULL: usize = 256;

#[repr(align(64))]
struct Queue {
    is_locked: AtomicBool,
    /// How many there were when it was locked last; for who only wants to guess.
    length: AtomicU32,
    tasks: UnsafeCell<VecDeque<ReadyTask>>,
}

/// A task that nobody else has.
pub(crate) struct ReadyTask(pub(crate) *const Task);

/// All of a team.
pub(crate) struct Queues {
    each: Vec<Queue>,
    urgent: Queue,
    pub(crate) sleepers: Sleepers,
    urgents: AtomicU32,
}

/// The right to a queue's tasks.
struct LockedQueue<'q>(&'q Queue);

impl Deref for LockedQueue<'_> {
    type Target = VecDeque<ReadyTask>;

    fn deref(&self) -> &VecDeque<ReadyTask> {
        // SAFETY: the lock is held.
        unsafe { &*self.0.tasks.get() }
    }
}

impl DerefMut for LockedQueue<'_> {
    fn deref_mut(&mut self) -> &mut VecDeque<ReadyTask> {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.tasks.get() }
    }
}

impl Drop for LockedQueue<'_> {
    fn drop(&mut self) {
        self.0.length.store(self.len() as u32, Ordering::Relaxed);
        self.0.is_locked.store(false, Ordering::Release); // pairs with the acquire in `locked`
    }
}

/// Whoever has it gives it back without leaving its worker.
fn locked(queue: &Queue) -> LockedQueue<'_> {
    let mut times = 0;
    // pairs with the release in `drop`
    while queue.is_locked.swap(true, Ordering::Acquire) {
        while queue.is_locked.load(Ordering::Relaxed) {
            breathe(&mut times);
        }
    }
    LockedQueue(queue)
}

impl Queues {
    pub(crate) fn new(count: usize) -> Queues {
        let queue = || Queue {
            is_locked: AtomicBool::new(false),
            length: AtomicU32::new(0),
            tasks: UnsafeCell::default(),
        };
        Queues {
            each: (0..count).map(|_| queue()).collect(),
            urgent: queue(),
            sleepers: Sleepers::new(),
            urgents: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.sleepers.waiting() > 0
    }

    /// Whether there is so much to do that one more is not worth a queue.
    pub(crate) fn is_full(&self, tid: u32) -> bool {
        self.each[tid as usize].length.load(Ordering::Relaxed) as usize >= FULL
    }

    /// True if anybody of the team sleeps.
    pub(crate) fn push(&self, tid: u32, task: ReadyTask, priority: i32) -> bool {
        if priority <= 0 {
            let mut tasks = locked(&self.each[tid as usize]);
            tasks.push_back(task);
            return self.sleepers.came(1);
        }
        let mut tasks = locked(&self.urgent);
        // The most urgent stand first, equal ones in the order of their coming.
        let at =
            tasks.iter().position(|other| task_of(other).priority.get() < priority).unwrap_or(tasks.len());
        tasks.insert(at, task);
        self.urgents.fetch_add(1, Ordering::Relaxed);
        self.sleepers.came(1)
    }

    /// One that `fits`: the most urgent, else the youngest of one's own, else the oldest of another's. Looks at so many
    /// in each queue.
    pub(crate) fn take(&self, tid: u32, reach: usize, fits: impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        if !self.has_some() {
            return None;
        }
        if self.urgents.load(Ordering::Relaxed) > 0
            && let Some(task) = self.first_of(&self.urgent, reach, &fits)
        {
            self.urgents.fetch_sub(1, Ordering::Relaxed);
            return Some(task);
        }
        let own = &self.each[tid as usize];
        let mut tasks = locked(own);
        if let Some(back) = tasks.iter().rev().take(reach).position(|task| fits(task_of(task))) {
            self.sleepers.went();
            let at = tasks.len() - 1 - back;
            return tasks.remove(at);
        }
        drop(tasks);
        let count = self.each.len();
        (1..count).find_map(|step| self.first_of(&self.each[(tid as usize + step) % count], reach, &fits))
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
        let first = self.take(tid, 1, |_| is_mine())?;
        let count = self.each.len();
        if self.sleepers.waiting() <= 8 {
            return Some(first);
        }
        let others = (1..count).map(|step| &self.each[(own + step) % count]);
        let some: Option<Vec<ReadyTask>> = others.into_iter().find_map(|other| {
            let mut tasks = locked(other);
            // The region is still this one, since the first is not over.
            let half = MOST.min(tasks.len() / 2);
            (tasks.len() > 8).then(|| tasks.drain(..half).collect())
        });
        let Some(some) = some else { return Some(first) };
        let mut tasks = locked(&self.each[own]);
        tasks.extend(some);
        if self.sleepers.came(0) {
            tasks.iter().for_each(|task| sleeps(task_of(task)));
        }
        Some(first)
    }

    /// The youngest of one's own, if nothing is urgent.
    #[inline]
    fn take_own(&self, own: usize, is_mine: &impl Fn() -> bool) -> Option<ReadyTask> {
        if !self.has_some() || self.urgents.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let mut tasks = locked(&self.each[own]);
        if tasks.is_empty() || !is_mine() {
            return None;
        }
        self.sleepers.went();
        tasks.pop_back()
    }

    fn first_of(&self, queue: &Queue, reach: usize, fits: &impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        let mut tasks = locked(queue);
        let at = tasks.iter().take(reach).position(|task| fits(task_of(task)))?;
        self.sleepers.went();
        tasks.remove(at)
    }
}

fn task_of(ready: &ReadyTask) -> &Task {
    // SAFETY: a task that waits in a queue is alive.
    unsafe { &*ready.0 }
}
