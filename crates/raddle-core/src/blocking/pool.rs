//! Owns: which spare OS threads are idle, how many there are, and the calls that wait for one.
//! May use: `worker`, `raddle-syscall`.
//! Never: a call made under the lock.
//!
//! One pool for the program, whatever its runtimes. The spare that became idle last is used first: it is warm, and the
//! others come to their time-out. A spare takes itself off the list when its time is over, unless it has been given a
//! job by then.
//!
//! The number that is reached without delay is limited, as tokio's is; beyond it, `growth` starts more when all stand.
//!
//! It uses a lock of the standard library, for a few instructions.

use super::growth::{self, Growth};
use super::spare::{self, BlockingCall, Mailbox, NoSpare};
use crate::worker::Shared;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many spares are started at once for who asks; as many as tokio allows.
pub(super) const SPARES_AT_ONCE: usize = 512;

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

pub(crate) struct Pool {
    idle: Vec<Arc<Mailbox>>,
    /// Not empty only while all spares that live work: each looks here before it becomes idle. While there is none,
    /// only those wait that have no worker of their own to be made on.
    pub(super) waiting: VecDeque<BlockingCall>,
    /// That have said that they live: the kernel's numbers of them.
    pub(super) living: Vec<c_int>,
    /// That the system was asked for, and that have not said so yet. Nobody may count on them.
    pub(super) starting: usize,
    /// That the system has given, less those that have left. Who has made one notes it, perhaps after that has come to
    /// life, and even left.
    made: isize,
    /// How many calls have come to their end.
    pub(super) done: u64,
    /// What has been found out of those that wait.
    pub(super) growth: Growth,
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
    pub(super) const fn new() -> Pool {
        Pool {
            idle: Vec::new(),
            waiting: VecDeque::new(),
            living: Vec::new(),
            starting: 0,
            made: 0,
            done: 0,
            growth: Growth::new(),
        }
    }

    /// Whether no spare has anything to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.len() == self.living.len() && self.waiting.is_empty() && self.starting == 0
    }

    /// In a forked child: no spare lives there, and no call waits that could be made.
    pub(crate) fn forget(&mut self) {
        self.idle.drain(..).for_each(std::mem::forget);
        self.waiting.drain(..).for_each(std::mem::forget);
        self.living.clear();
        self.starting = 0;
        self.made = 0;
        self.growth = Growth::new();
    }

    /// Whether there is any spare, which may not have said so yet.
    fn has_any(&self) -> bool {
        !self.living.is_empty() || self.made > 0
    }

    fn put(&mut self, job: BlockingCall) -> Put {
        if let Some(mailbox) = self.idle.pop() {
            return Put::Given(mailbox, job);
        }
        // Not behind those that start: all of them may be refused.
        if self.has_any() && self.living.len() + self.starting >= SPARES_AT_ONCE {
            self.waiting.push_back(job);
            return Put::Waits;
        }
        self.starting += 1;
        Put::Start(job)
    }

    /// The system has refused a spare.
    ///
    /// Who waits for its call may as well make it. Another's may be what only its caller could end.
    fn put_refused(&mut self, job: BlockingCall) -> Put {
        self.starting -= 1;
        if !self.has_any() && job.caller.is_some() {
            return Put::Start(job);
        }
        // Those that there are are at work, or have become idle meanwhile.
        match self.idle.pop() {
            Some(mailbox) => Put::Given(mailbox, job),
            None => {
                self.waiting.push_back(job);
                Put::Waits
            }
        }
    }

    /// The system has refused a spare for one that had waited before: it waits on, before the others, or is given to
    /// the spare that is returned.
    pub(super) fn put_back(&mut self, job: BlockingCall) -> Option<(Arc<Mailbox>, BlockingCall)> {
        self.starting -= 1;
        match self.idle.pop() {
            Some(mailbox) => Some((mailbox, job)),
            None => {
                self.waiting.push_front(job);
                None
            }
        }
    }
}

/// Has a spare OS thread do the job, which is of this runtime, now or when one is free.
///
/// # Errors
/// The job, if there is no spare, the system refuses one, and a process waits for it: that makes the call itself.
pub(super) fn submit(job: BlockingCall, runtime: &Shared) -> Result<(), BlockingCall> {
    match submit_to(&POOL, job, spare::start) {
        Ok(Taken::HasSpare) => Ok(()),
        Ok(Taken::Waits) => {
            growth::look_soon(runtime);
            Ok(())
        }
        Err(NoSpare { job, cause }) => {
            growth::tell_of_none(&job, &cause);
            Err(job)
        }
    }
}

/// What has become of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    HasSpare,
    Waits,
}

fn submit_to(
    pool: &Mutex<Pool>,
    job: BlockingCall,
    start: impl FnOnce(BlockingCall) -> Result<(), NoSpare>,
) -> Result<Taken, NoSpare> {
    let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
    let put = lock().put(job);
    let (put, cause) = match put {
        Put::Start(job) => {
            let Err(NoSpare { job, cause }) = start(job) else {
                lock().made += 1;
                return Ok(Taken::HasSpare);
            };
            (lock().put_refused(job), Some(cause))
        }
        put => (put, None),
    };
    match (put, cause) {
        (Put::Given(mailbox, job), _) => mailbox.give(job),
        (Put::Start(job), Some(cause)) => return Err(NoSpare { job, cause }),
        _ => return Ok(Taken::Waits),
    }
    Ok(Taken::HasSpare)
}

/// The system has given so many spares.
pub(super) fn note_made(count: usize) {
    lock().made += count as isize;
}

/// The first thing that a spare says.
pub(super) fn arrive() {
    let mut pool = lock();
    pool.starting -= 1;
    pool.living.push(raddle_syscall::thread_number());
}

/// The next job for a spare that has done one; none if it is to wait, and then it is on the list.
pub(super) fn next_or_idle(mailbox: &Arc<Mailbox>) -> Option<BlockingCall> {
    let mut pool = lock();
    pool.done += 1;
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
    let own = raddle_syscall::thread_number();
    pool.living.retain(|number| *number != own);
    pool.made -= 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// For nobody who waits.
    fn detached(ran: &'static AtomicUsize) -> BlockingCall {
        BlockingCall::owned(std::ptr::null(), move || {
            ran.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// A process would wait for it.
    fn job(ran: &'static AtomicUsize) -> BlockingCall {
        let mut job = detached(ran);
        job.caller = Some(crate::block::pool::BlockPool::new().take());
        job
    }

    fn refuse(job: BlockingCall) -> Result<(), NoSpare> {
        Err(NoSpare { job, cause: io::ErrorKind::WouldBlock.into() })
    }

    #[test]
    fn spares_that_are_refused_while_others_start_lose_no_job() {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Mutex::new(Pool::new());
        // Each start is refused, after another one has begun and was refused: none may wait for one of the others.
        fn refuse_below(pool: &Mutex<Pool>, depth: usize, outer: BlockingCall) -> Result<(), NoSpare> {
            if depth > 0 {
                let refused = submit_to(pool, job(&RAN), |job| refuse_below(pool, depth - 1, job));
                refused.expect_err("there is no spare").job.run();
            }
            refuse(outer)
        }
        let refused = submit_to(&pool, job(&RAN), |job| refuse_below(&pool, SPARES_AT_ONCE + 10, job));
        refused.expect_err("there is no spare").job.run();
        assert_eq!(RAN.load(Ordering::Relaxed), SPARES_AT_ONCE + 11);
        let left = pool.into_inner().unwrap();
        assert!(left.waiting.is_empty() && left.starting == 0 && left.living.is_empty());
    }

    #[test]
    fn a_call_for_which_nobody_waits_is_kept_until_there_is_a_spare() {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Mutex::new(Pool::new());
        assert_eq!(submit_to(&pool, detached(&RAN), refuse).ok(), Some(Taken::Waits));
        assert_eq!(RAN.load(Ordering::Relaxed), 0, "it may be what its maker is about to end");
        let mut left = pool.into_inner().unwrap();
        assert!(!left.is_idle() && left.starting == 0);
        left.waiting.pop_front().expect("it waits").run();
        assert_eq!(RAN.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn who_is_refused_beside_a_spare_waits_for_it() {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let pool = Mutex::new(Pool::new());
        assert_eq!(submit_to(&pool, job(&RAN), |_starts| Ok(())).ok(), Some(Taken::HasSpare));
        assert_eq!(submit_to(&pool, job(&RAN), refuse).ok(), Some(Taken::Waits), "one is on its way");
        pool.lock().unwrap().waiting.pop_front().expect("it waits").run();
        // It has started, and works.
        *pool.lock().unwrap() = Pool { living: vec![1], ..Pool::new() };
        assert_eq!(submit_to(&pool, job(&RAN), refuse).ok(), Some(Taken::Waits));
        let mut left = pool.into_inner().unwrap();
        left.waiting.pop_front().expect("it waits").run();
        assert!(left.waiting.is_empty() && left.starting == 0);
    }
}
