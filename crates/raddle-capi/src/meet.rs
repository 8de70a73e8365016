//! Owns: condition variables, semaphores, barriers.
//! May use: `fault`, `handle`, `lock`, `time`, `raddle`.
//! Never: a condition variable's wait that returns without the lock.

use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, Users, WaitsAt, end, expect, get, make, put, put_if};
use crate::lock::{Lock, unpoisoned};
use crate::time::{deadline, span};
use raddle::cancel::shield;
use raddle::sync::{AcquireFuture, Barrier, Condvar, Semaphore, TryAcquireError};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

struct CondObject {
    condition: Condvar,
    users: Users,
}

impl Object for CondObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlcnd");
}

impl CondObject {
    fn wait(&self, lock: &Lock, timeout: Option<Duration>) -> CResult {
        let mutex = lock.parking()?;
        let guard = mutex.guard()?;
        let _using = self.users.enter();
        let waited = catch_unwind(AssertUnwindSafe(|| match timeout {
            Some(timeout) => {
                let (guard, ended) = unpoisoned(self.condition.wait_timeout(guard, timeout));
                mutex.keep(guard);
                !ended.timed_out()
            }
            None => {
                mutex.keep(unpoisoned(self.condition.wait(guard)));
                true
            }
        }));
        match waited {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::TimedOut),
            Err(payload) => {
                // A cancelled wait has given the lock back; the program unlocks it all the same.
                shield(|| mutex.lock_again());
                resume_unwind(payload)
            }
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_create(out: *mut *mut Handle<CondObject>) -> c_int {
    entry(|| make(out, CondObject { condition: Condvar::new(), users: Users::default() }))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_destroy(condition: *mut Handle<CondObject>) -> c_int {
    entry(|| {
        get(condition)?.users.none()?;
        end(condition).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_wait(condition: *const Handle<CondObject>, mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(condition)?.wait(get(mutex)?, None))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_wait_for(
    condition: *const Handle<CondObject>,
    mutex: *const Handle<Lock>,
    timeout_ns: i64,
) -> c_int {
    entry(|| get(condition)?.wait(get(mutex)?, span(timeout_ns)))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_signal(condition: *const Handle<CondObject>) -> c_int {
    entry(|| {
        let condition = get(condition)?;
        let _using = condition.users.enter();
        condition.condition.notify_one();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_cond_broadcast(condition: *const Handle<CondObject>) -> c_int {
    entry(|| {
        let condition = get(condition)?;
        let _using = condition.users.enter();
        condition.condition.notify_all();
        Ok(())
    })
}

/// `raddle_sem_t`.
pub(crate) struct SemObject {
    permits: Semaphore,
    users: Users,
}

impl Object for SemObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlsem");
}

impl SemObject {
    /// A wait for permits by a future; the object stays as long.
    pub(crate) fn acquires(&'static self, count: usize) -> CResult<WaitsAt<AcquireFuture<'static>>> {
        is_count(count)?;
        Ok(WaitsAt::new(self.permits.acquire_many_async(count), self.users.enter()))
    }
}

fn of_refusal(refused: TryAcquireError) -> Fault {
    match refused {
        TryAcquireError::Closed => Fault::Closed,
        _ => Fault::TimedOut,
    }
}

fn is_count(count: usize) -> CResult {
    if (1..=Semaphore::MAX_PERMITS).contains(&count) { Ok(()) } else { Err(Fault::Invalid) }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_create(permits: usize, out: *mut *mut Handle<SemObject>) -> c_int {
    entry(|| {
        if permits > Semaphore::MAX_PERMITS {
            return Err(Fault::Invalid);
        }
        make(out, SemObject { permits: Semaphore::new(permits), users: Users::default() })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_destroy(semaphore: *mut Handle<SemObject>) -> c_int {
    entry(|| {
        get(semaphore)?.users.none()?;
        end(semaphore).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_acquire(semaphore: *const Handle<SemObject>, count: usize) -> c_int {
    raddle_sem_acquire_for(semaphore, count, -1)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_acquire_for(
    semaphore: *const Handle<SemObject>,
    count: usize,
    timeout_ns: i64,
) -> c_int {
    entry(|| {
        let semaphore = get(semaphore)?;
        is_count(count)?;
        let _using = semaphore.users.enter();
        let permits = &semaphore.permits;
        let permit = match span(timeout_ns) {
            None => permits.acquire_many(count).map_err(|_| Fault::Closed)?,
            Some(none) if none.is_zero() => permits.try_acquire_many(count).map_err(of_refusal)?,
            Some(timeout) => permits.acquire_many_timeout(count, timeout).map_err(of_refusal)?,
        };
        permit.forget();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_release(semaphore: *const Handle<SemObject>, count: usize) -> c_int {
    entry(|| {
        let semaphore = get(semaphore)?;
        let _using = semaphore.users.enter();
        if count > Semaphore::MAX_PERMITS - semaphore.permits.available_permits() {
            return Err(Fault::Invalid);
        }
        semaphore.permits.add_permits(count);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_available(semaphore: *const Handle<SemObject>, out: *mut usize) -> c_int {
    entry(|| put(out, get(semaphore)?.permits.available_permits()))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sem_close(semaphore: *const Handle<SemObject>) -> c_int {
    entry(|| {
        let semaphore = get(semaphore)?;
        let _using = semaphore.users.enter();
        semaphore.permits.close();
        Ok(())
    })
}

struct BarrierObject {
    barrier: Barrier,
    users: Users,
}

impl Object for BarrierObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlbar");
}

#[unsafe(no_mangle)]
extern "C" fn raddle_barrier_create(count: usize, out: *mut *mut Handle<BarrierObject>) -> c_int {
    entry(|| {
        expect(out)?;
        if count == 0 {
            return Err(Fault::Invalid);
        }
        make(out, BarrierObject { barrier: Barrier::new(count), users: Users::default() })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_barrier_destroy(barrier: *mut Handle<BarrierObject>) -> c_int {
    entry(|| {
        get(barrier)?.users.none()?;
        end(barrier).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_barrier_wait(barrier: *const Handle<BarrierObject>, is_last: *mut c_int) -> c_int {
    raddle_barrier_wait_for(barrier, -1, is_last)
}

#[unsafe(no_mangle)]
extern "C" fn raddle_barrier_wait_for(
    barrier: *const Handle<BarrierObject>,
    timeout_ns: i64,
    is_last: *mut c_int,
) -> c_int {
    entry(|| {
        let meeting = get(barrier)?;
        let _using = meeting.users.enter();
        let met = match (span(timeout_ns), deadline(timeout_ns)) {
            (Some(timeout), Some(_)) => meeting.barrier.wait_timeout(timeout).ok_or(Fault::TimedOut)?,
            _ => meeting.barrier.wait(),
        };
        put_if(is_last, met.is_leader().into());
        Ok(())
    })
}
