//! Owns: `Queues`: the tasks of a team that can run, one queue for each member, and one for those with priorities.
//! May use: nothing.
//! Never: a wait while a queue is locked.
//!
//! A queue is short and its lock is held for nanoseconds. The owner takes the youngest, others the oldest.

use crate::engine::task::Task;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// So many wait in one queue: then who makes a task runs it at once.
pub(crate) const FULL: usize = 256;

#[repr(align(64))]
struct Queue {
    tasks: Mutex<VecDeque<ReadyTask>>,
}

/// A task that nobody else has.
pub(crate) struct ReadyTask(pub(crate) *const Task);

/// All of a team.
pub(crate) struct Queues {
    each: Vec<Queue>,
    urgent: Queue,
    waiting: AtomicU32,
    /// Counts what was put in: who found nothing looks again.
    pushes: AtomicU32,
    urgents: AtomicU32,
}

fn locked(queue: &Queue) -> MutexGuard<'_, VecDeque<ReadyTask>> {
    loop {
        match queue.tasks.try_lock() {
            Ok(tasks) => return tasks,
            Err(TryLockError::Poisoned(poisoned)) => return PoisonError::into_inner(poisoned),
            // Whoever has it gives it back without leaving its worker.
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}

impl Queues {
    pub(crate) fn new(count: usize) -> Queues {
        let queue = || Queue { tasks: Mutex::new(VecDeque::new()) };
        Queues {
            each: (0..count).map(|_| queue()).collect(),
            urgent: queue(),
            waiting: AtomicU32::new(0),
            pushes: AtomicU32::new(0),
            urgents: AtomicU32::new(0),
        }
    }

    pub(crate) fn has_some(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Changes whenever a task comes.
    pub(crate) fn pushes(&self) -> u32 {
        self.pushes.load(Ordering::Relaxed)
    }

    /// Whether there is so much to do that one more is not worth a queue.
    pub(crate) fn is_full(&self, tid: u32) -> bool {
        self.waiting.load(Ordering::Relaxed) as usize >= FULL
            && locked(&self.each[tid as usize]).len() >= FULL
    }

    pub(crate) fn push(&self, tid: u32, task: ReadyTask, priority: i32) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if priority <= 0 {
            locked(&self.each[tid as usize]).push_back(task);
            self.pushes.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut tasks = locked(&self.urgent);
        // The most urgent stand first, equal ones in the order of their coming.
        let at =
            tasks.iter().position(|other| task_of(other).priority.get() < priority).unwrap_or(tasks.len());
        tasks.insert(at, task);
        self.pushes.fetch_add(1, Ordering::Relaxed);
        self.urgents.fetch_add(1, Ordering::Relaxed);
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
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            let at = tasks.len() - 1 - back;
            return tasks.remove(at);
        }
        drop(tasks);
        let count = self.each.len();
        (1..count).find_map(|step| self.first_of(&self.each[(tid as usize + step) % count], reach, &fits))
    }

    /// Takes some of another's, the oldest, and has the others in one's own queue.
    pub(crate) fn take_some(&self, tid: u32, is_mine: impl Fn() -> bool) -> Option<ReadyTask> {
        const MOST: usize = 16;
        let first = self.take(tid, 1, |_| is_mine())?;
        let count = self.each.len();
        let own = tid as usize;
        if locked(&self.each[own]).is_empty()
            && let Some(other) = (1..count).map(|step| (own + step) % count).find(|at| self.is_long(*at))
        {
            let mut tasks = locked(&self.each[other]);
            // The region is still this one, since the first is not over.
            let some: Vec<ReadyTask> = {
                let half = MOST.min(tasks.len() / 2);
                tasks.drain(..half).collect()
            };
            drop(tasks);
            locked(&self.each[own]).extend(some);
        }
        Some(first)
    }

    /// Whether there is enough to share.
    fn is_long(&self, at: usize) -> bool {
        self.waiting.load(Ordering::Relaxed) > 8 && locked(&self.each[at]).len() > 8
    }

    fn first_of(&self, queue: &Queue, reach: usize, fits: &impl Fn(&Task) -> bool) -> Option<ReadyTask> {
        let mut tasks = locked(queue);
        let at = tasks.iter().take(reach).position(|task| fits(task_of(task)))?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        tasks.remove(at)
    }
}

fn task_of(ready: &ReadyTask) -> &Task {
    // SAFETY: a task that waits in a queue is alive.
    unsafe { &*ready.0 }
}
