//! Owns: which spare OS threads are idle, how many there are, and the calls that wait for one.
//! May use: nothing.
//! Never: a call made under the lock.
//!
//! One pool for the program, whatever its runtimes. The spare that became idle last is used first: it is warm, and the
//! others come to their time-out. A spare takes itself off the list when its time is over, unless it has been given a
//! job by then.
//!
//! It uses a lock of the standard library, for a few instructions.

use super::spare::{self, BlockingCall, Mailbox};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many calls may block at once; as many as tokio allows.
const SPARES_MAX: usize = 512;

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

pub(crate) struct Pool {
    idle: Vec<Arc<Mailbox>>,
    /// Not empty only while spares live, and all of them work: each looks here before it becomes idle.
    waiting: VecDeque<BlockingCall>,
    /// That have said that they live.
    living: usize,
    /// That the system was asked for, and that have not said so yet. Nobody may count on them.
    starting: usize,
}

/// Holds the pool.
pub(crate) type PoolGuard = MutexGuard<'static, Pool>;

/// Locks the pool.
pub(crate) fn lock() -> PoolGuard {
    // A panic while it was held would have been an allocation failure, which aborts: never poisoned.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be done with a job, outside of the lock.
enum Put {
    Given(Arc<Mailbox>, BlockingCall),
    Waits,
    Start(BlockingCall),
}

impl Pool {
    const fn new() -> Pool {
        Pool { idle: Vec::new(), waiting: VecDeque::new(), living: 0, starting: 0 }
    }

    /// Whether no spare has anything to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.len() == self.living && self.waiting.is_empty() && self.starting == 0
    }

    /// In a forked child: no spare lives there, and no call waits that could be made.
    pub(crate) fn forget(&mut self) {
        self.idle.drain(..).for_each(std::mem::forget);
        self.waiting.drain(..).for_each(std::mem::forget);
        (self.living, self.starting) = (0, 0);
    }

    fn put(&mut self, job: BlockingCall) -> Put {
        if let Some(mailbox) = self.idle.pop() {
            return Put::Given(mailbox, job);
        }
        // Not behind those that start: all of them may be refused.
        if self.living > 0 && self.living + self.starting >= SPARES_MAX {
            self.waiting.push_back(job);
            return Put::Waits;
        }
        self.starting += 1;
        Put::Start(job)
    }

    /// The system has refused a spare.
    fn put_refused(&mut self, job: BlockingCall) -> Put {
        self.starting -= 1;
        if self.living == 0 {
            return Put::Start(job);
        }
        // Those that live are at work, or have become idle meanwhile.
        match self.idle.pop() {
            Some(mailbox) => Put::Given(mailbox, job),
            None => {
                self.waiting.push_back(job);
                Put::Waits
            }
        }
    }
}

/// Has a spare OS thread do the job, now or when one is free.
///
/// # Errors
/// The job, if there is no spare and the system refuses one.
pub(super) fn submit(job: BlockingCall) -> Result<(), BlockingCall> {
    submit_to(&POOL, job, spare::start)
}

fn submit_to(
    pool: &Mutex<Pool>,
    job: BlockingCall,
    start: impl FnOnce(BlockingCall) -> Result<(), BlockingCall>,
) -> Result<(), BlockingCall> {
    let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
    let mut put = lock().put(job);
    if let Put::Start(job) = put {
        let Err(refused) = start(job) else { return Ok(()) };
        put = lock().put_refused(refused);
    }
    match put {
        Put::Given(mailbox, job) => mailbox.give(job),
        Put::Waits => {}
        Put::Start(job) => return Err(job),
    }
    Ok(())
}

/// The first thing that a spare says.
pub(super) fn arrive() {
    let mut pool = lock();
    pool.starting -= 1;
    pool.living += 1;
}

/// The next job for a spare that has done one; none if it is to wait, and then it is on the list.
pub(super) fn next_or_idle(mailbox: &Arc<Mailbox>) -> Option<BlockingCall> {
    let mut pool = lock();
    let next = pool.waiting.pop_front();
    if next.is_none() {
        pool.idle.push(mailbox.clone());
    }
    next
}

/// A spare's time is over. False if it has just been given a job.
pub(super) fn leave(mailbox: &Arc<Mailbox>) -> bool {
    let mut pool = lock();
    let Some(at) = pool.idle.iter().position(|idle| Arc::ptr_eq(idle, mailbox)) else { return false };
    pool.idle.remove(at);
    pool.living -= 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn job(ran: &'static AtomicUsize) -> BlockingCall {
        BlockingCall::Owned(Box::new(|| {
            ran.fetch_add(1, Ordering::Relaxed);
        }))
    }

    #[test]
    fn spares_that_are_refused_while_others_start_lose_no_job() {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Mutex::new(Pool::new());
        // Each start is refused, after another one has begun and was refused: none may wait for one of the others.
        fn refuse_below(pool: &Mutex<Pool>, depth: usize, job: BlockingCall) -> Result<(), BlockingCall> {
            if depth > 0 {
                let inner = BlockingCall::Owned(Box::new(|| {
                    RAN.fetch_add(1, Ordering::Relaxed);
                }));
                let refused = submit_to(pool, inner, |job| refuse_below(pool, depth - 1, job));
                refused.expect_err("there is no spare").run();
            }
            Err(job)
        }
        let refused = submit_to(&pool, job(&RAN), |job| refuse_below(&pool, SPARES_MAX + 10, job));
        refused.expect_err("there is no spare").run();
        assert_eq!(RAN.load(Ordering::Relaxed), SPARES_MAX + 11);
        let left = pool.into_inner().unwrap();
        assert!(left.waiting.is_empty() && left.starting == 0 && left.living == 0);
    }

    #[test]
    fn who_is_refused_beside_a_living_spare_waits_for_it() {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Mutex::new(Pool::new());
        assert!(submit_to(&pool, job(&RAN), |_starts| Ok(())).is_ok());
        // It has started, and works.
        *pool.lock().unwrap() = Pool { living: 1, ..Pool::new() };
        assert!(submit_to(&pool, job(&RAN), Err).is_ok(), "it waits");
        let mut left = pool.into_inner().unwrap();
        left.waiting.pop_front().expect("it waits").run();
        assert!(left.waiting.is_empty() && left.starting == 0);
    }
}
