//! Owns: which spare OS threads are idle, how many there are, and the calls that wait for one.
//! May use: a lock of the standard library, for a few instructions.
//! Never: a call made under the lock.
//!
//! One pool for the program, whatever its runtimes. The spare that became idle last is used first: it is warm, and the
//! others come to their time-out. A spare takes itself off the list when its time is over, unless it has been given a
//! job by then.

use super::spare::{self, Bed, Job};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many calls may block at once; as many as tokio allows.
const SPARES_MAX: usize = 512;

static POOL: Mutex<Pool> = Mutex::new(Pool { idle: Vec::new(), waiting: VecDeque::new(), spares: 0 });

pub(crate) struct Pool {
    idle: Vec<Arc<Bed>>,
    /// Not empty only while all spares work.
    waiting: VecDeque<Job>,
    /// That live.
    spares: usize,
}

/// Holds the pool.
pub(crate) type PoolGuard = MutexGuard<'static, Pool>;

/// Locks the pool.
pub(crate) fn lock() -> PoolGuard {
    // A panic while it was held would have been an allocation failure, which aborts: never poisoned.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// In a forked child: no spare lives there, and no call waits that could be made.
    pub(crate) fn forget(&mut self) {
        self.idle.drain(..).for_each(std::mem::forget);
        self.waiting.drain(..).for_each(std::mem::forget);
        self.spares = 0;
    }
}

/// Has a spare OS thread do the job, now or when one is free.
///
/// # Errors
/// The job, if there is no spare and the system refuses one.
pub(super) fn submit(job: Job) -> Result<(), Job> {
    let mut pool = lock();
    if let Some(bed) = pool.idle.pop() {
        drop(pool);
        bed.give(job);
        return Ok(());
    }
    if pool.spares >= SPARES_MAX {
        pool.waiting.push_back(job);
        return Ok(());
    }
    pool.spares += 1;
    drop(pool);
    let Err(job) = spare::start(job) else { return Ok(()) };
    let mut pool = lock();
    pool.spares -= 1;
    if pool.spares == 0 {
        return Err(job);
    }
    // Those that live are at work, or have become idle meanwhile.
    match pool.idle.pop() {
        Some(bed) => {
            drop(pool);
            bed.give(job);
        }
        None => pool.waiting.push_back(job),
    }
    Ok(())
}

/// The next job for a spare that has done one; none if it is to wait, and then it is on the list.
pub(super) fn next_or_idle(bed: &Arc<Bed>) -> Option<Job> {
    let mut pool = lock();
    let next = pool.waiting.pop_front();
    if next.is_none() {
        pool.idle.push(bed.clone());
    }
    next
}

/// A spare's time is over. False if it has just been given a job.
pub(super) fn leave(bed: &Arc<Bed>) -> bool {
    let mut pool = lock();
    let Some(at) = pool.idle.iter().position(|idle| Arc::ptr_eq(idle, bed)) else { return false };
    pool.idle.remove(at);
    pool.spares -= 1;
    true
}
