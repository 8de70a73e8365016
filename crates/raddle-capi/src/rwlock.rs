//! Owns: `raddle_rwlock_t`.
//! May use: `fault`, `handle`, `lock`, `time`, `raddle`, `raddle-core`.
//! Never: a record of each reader: an unlock by one who does not read is told only if nobody reads.

use crate::fault::{CResult, Fault, entry};
use crate::handle::{Handle, Object, end, get, make};
use crate::lock::{unless_late, unpoisoned};
use crate::time::deadline;
use raddle::sync::RwLock;
use raddle_core::door::futex::Owner;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

struct RwLockObject {
    lock: RwLock<()>,
    writer: Owner,
    readers: AtomicUsize,
}

impl Object for RwLockObject {
    const TAG: u64 = u64::from_le_bytes(*b"raddlrwl");
}

impl RwLockObject {
    fn reads<G>(&self, guard: G) {
        std::mem::forget(guard);
        // Relaxed: the count only has to be right for who has entered by itself.
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    fn writes<G>(&self, guard: G) {
        std::mem::forget(guard);
        self.writer.set();
    }

    fn ask(&self) -> CResult {
        if self.writer.is_caller() { Err(Fault::Deadlock) } else { Ok(()) }
    }

    fn unlock(&self) -> CResult {
        if self.writer.is_caller() {
            self.writer.clear();
            // SAFETY: the caller writes, and forgot its guard.
            drop(unsafe { self.lock.make_write_guard_unchecked() });
            return Ok(());
        }
        // Relaxed: as above.
        let less = |readers: usize| readers.checked_sub(1);
        let left = self.readers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        left.map_err(|_| Fault::Permission)?;
        // SAFETY: somebody reads, whose guard was forgotten; which reader's it is makes no difference to the lock.
        drop(unsafe { self.lock.make_read_guard_unchecked() });
        Ok(())
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_create(out: *mut *mut Handle<RwLockObject>) -> c_int {
    entry(|| {
        let lock = RwLock::new(());
        make(out, RwLockObject { lock, writer: Owner::nobody(), readers: AtomicUsize::new(0) })
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_destroy(lock: *mut Handle<RwLockObject>) -> c_int {
    entry(|| {
        if get(lock)?.lock.try_write().is_err() {
            return Err(Fault::Busy);
        }
        end(lock).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_read(lock: *const Handle<RwLockObject>) -> c_int {
    entry(|| {
        let lock = get(lock)?;
        lock.ask()?;
        lock.reads(unpoisoned(lock.lock.read()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_write(lock: *const Handle<RwLockObject>) -> c_int {
    entry(|| {
        let lock = get(lock)?;
        lock.ask()?;
        lock.writes(unpoisoned(lock.lock.write()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_read_for(lock: *const Handle<RwLockObject>, timeout_ns: i64) -> c_int {
    entry(|| {
        let lock = get(lock)?;
        if timeout_ns == 0 {
            lock.reads(unless_late(lock.lock.try_read())?);
            return Ok(());
        }
        lock.ask()?;
        match deadline(timeout_ns) {
            Some(deadline) => lock.reads(unless_late(lock.lock.try_read_until(deadline))?),
            None => lock.reads(unpoisoned(lock.lock.read())),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_write_for(lock: *const Handle<RwLockObject>, timeout_ns: i64) -> c_int {
    entry(|| {
        let lock = get(lock)?;
        if timeout_ns == 0 {
            lock.writes(unless_late(lock.lock.try_write())?);
            return Ok(());
        }
        lock.ask()?;
        match deadline(timeout_ns) {
            Some(deadline) => lock.writes(unless_late(lock.lock.try_write_until(deadline))?),
            None => lock.writes(unpoisoned(lock.lock.write())),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_rwlock_unlock(lock: *const Handle<RwLockObject>) -> c_int {
    entry(|| get(lock)?.unlock())
}
