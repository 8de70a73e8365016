//! Owns: `raddle_mutex_t`, locks of five kinds behind one face.
//! May use: `fault`, `handle`, `time`, `raddle`, `raddle-core`.
//! Never: a lock destroyed while somebody has it.
//!
//! Each has an owner beside it, by which a lock that its holder takes again, and one that another unlocks, are told.
//! What the parking mutex notes by itself does not do for that: who has just lost it to another stands there until that
//! one comes to note itself. The other kinds keep their guard here, in a place that only the holder touches.

use crate::fault::{CResult, Fault, OK, entry};
use crate::handle::{Handle, Object, end, get, make};
use crate::time::{deadline, span};
use raddle::sync::{
    ClhGuard, ClhLock, LockResult, McsGuard, McsLock, Mutex, MutexGuard, PoisonError, SpinGuard, SpinLock,
    TicketGuard, TicketLock, TryLockError, TryLockResult,
};
use raddle_core::door::futex::Owner;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// A lock that the program is told to hold without a guard.
pub(crate) enum Lock {
    Parking(Parking),
    Spin(KeptLock<SpinLock<()>, SpinGuard<'static, ()>>),
    Ticket(KeptLock<TicketLock<()>, TicketGuard<'static, ()>>),
    Mcs(KeptLock<McsLock<()>, McsGuard<'static, ()>>),
    Clh(KeptLock<ClhLock<()>, ClhGuard<'static, ()>>),
}

impl Object for Lock {
    const TAG: u64 = u64::from_le_bytes(*b"raddlmtx");
}

/// The mutex for all who may wait.
pub(crate) struct Parking {
    mutex: Mutex<()>,
    owner: Owner,
}

impl Parking {
    /// The caller has taken it.
    #[inline(always)]
    pub(crate) fn keep(&self, guard: MutexGuard<'_, ()>) {
        std::mem::forget(guard);
        self.owner.set();
    }

    /// The guard of the caller, who is about to give the lock back.
    #[inline(always)]
    pub(crate) fn guard(&self) -> CResult<MutexGuard<'_, ()>> {
        if !self.owner.is_caller() {
            return Err(Fault::Permission);
        }
        self.owner.clear();
        // SAFETY: the caller holds it, and its guard was forgotten; without an owner nobody makes another one.
        Ok(unsafe { self.mutex.make_guard_unchecked() })
    }

    /// Takes it if it is free and nobody wants to know of it.
    ///
    /// PERF: `speed.c`: the lock's own instruction waits for each load before it, so that who asks is found out while
    /// it is held, or when it is not free.
    #[inline(always)]
    fn lock_plainly(&self) -> bool {
        let is_taken = self.mutex.lock_without_guard();
        if is_taken {
            self.owner.set();
        }
        is_taken
    }

    /// Waits for it, if that is not for the caller itself.
    fn lock(&self) -> CResult {
        if self.owner.is_caller() {
            return Err(Fault::Deadlock);
        }
        self.lock_again();
        Ok(())
    }

    /// Gives it back.
    #[inline(always)]
    fn unlock(&self) -> CResult {
        if !self.owner.is_caller() {
            return Err(Fault::Permission);
        }
        self.owner.clear();
        // SAFETY: the caller holds it, without a guard.
        unsafe { self.mutex.unlock_without_guard() };
        Ok(())
    }

    /// Waits for it.
    #[inline(always)]
    pub(crate) fn lock_again(&self) {
        self.keep(unpoisoned(self.mutex.lock()));
    }

    fn lock_for(&self, timeout: Duration, deadline: Option<Instant>) -> CResult {
        if self.owner.is_caller() {
            return Err(Fault::Deadlock);
        }
        let locked = match deadline {
            Some(deadline) => self.mutex.try_lock_until(deadline),
            None => self.mutex.try_lock_for(timeout),
        };
        self.keep(unless_late(locked)?);
        Ok(())
    }
}

/// A lock with the guard of the one who has it.
pub(crate) struct KeptLock<L, G> {
    lock: L,
    owner: Owner,
    guard: UnsafeCell<MaybeUninit<G>>,
}

// SAFETY: the guard is written and taken by the holder alone; it goes with the flow of control, not the OS thread.
unsafe impl<L: Sync, G> Sync for KeptLock<L, G> {}
// SAFETY: as above.
unsafe impl<L: Send, G> Send for KeptLock<L, G> {}

impl<L: 'static, G> KeptLock<L, G> {
    fn new(lock: L) -> Self {
        KeptLock { lock, owner: Owner::nobody(), guard: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Takes the lock by `lock`, which is given it for as long as the program keeps it.
    #[inline(always)]
    fn take(&self, lock: impl FnOnce(&'static L) -> Option<G>) -> CResult {
        if self.owner.is_caller() {
            return Err(Fault::Deadlock);
        }
        // SAFETY: the object stays where it is until the program destroys it, which is refused while a guard is here.
        let own = unsafe { &*std::ptr::from_ref(&self.lock) };
        let guard = lock(own).ok_or(Fault::TimedOut)?;
        // SAFETY: the caller has the lock, and so the place, which is empty.
        unsafe { &mut *self.guard.get() }.write(guard);
        self.owner.set();
        Ok(())
    }

    #[inline(always)]
    fn give(&self) -> CResult {
        if !self.owner.is_caller() {
            return Err(Fault::Permission);
        }
        self.owner.clear();
        // SAFETY: the caller has the lock, and so the place, which has its guard.
        let place = unsafe { &*self.guard.get() };
        // SAFETY: as above; the next holder overwrites it.
        drop(unsafe { place.assume_init_read() });
        Ok(())
    }

    /// Whether anybody has it.
    fn is_taken(&self) -> bool {
        !self.owner.is_nobody()
    }
}

/// No panic of a holder's poisons a lock of C, which holds it through no frame of Rust.
pub(crate) fn unpoisoned<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// As [`unpoisoned`], if it is there.
pub(crate) fn unless_late<G>(locked: TryLockResult<G>) -> CResult<G> {
    match locked {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Fault::TimedOut),
    }
}

impl Lock {
    /// The parking mutex, for a condition variable.
    pub(crate) fn parking(&self) -> CResult<&Parking> {
        if let Lock::Parking(mutex) = self { Ok(mutex) } else { Err(Fault::Unsupported) }
    }

    fn lock(&self) -> CResult {
        match self {
            Lock::Parking(mutex) => mutex.lock(),
            Lock::Spin(kept) => kept.take(|lock| Some(lock.lock())),
            Lock::Ticket(kept) => kept.take(|lock| Some(lock.lock())),
            Lock::Mcs(kept) => kept.take(|lock| Some(lock.lock())),
            Lock::Clh(kept) => kept.take(|lock| Some(lock.lock())),
        }
    }

    fn try_lock(&self) -> CResult {
        match self {
            Lock::Parking(parking) => {
                parking.keep(unless_late(parking.mutex.try_lock())?);
                Ok(())
            }
            // Its holder would be told of a deadlock, where it only asks.
            Lock::Mcs(kept) if kept.owner.is_caller() => Err(Fault::TimedOut),
            Lock::Mcs(kept) => kept.take(McsLock::try_lock),
            Lock::Spin(_) | Lock::Ticket(_) | Lock::Clh(_) => Err(Fault::Unsupported),
        }
    }

    fn lock_for(&self, timeout_ns: i64) -> CResult {
        match (self, span(timeout_ns)) {
            (_, None) => self.lock(),
            (_, Some(none)) if none.is_zero() => self.try_lock(),
            (Lock::Parking(mutex), Some(timeout)) => mutex.lock_for(timeout, deadline(timeout_ns)),
            _ => Err(Fault::Unsupported),
        }
    }

    fn unlock(&self) -> CResult {
        match self {
            Lock::Parking(mutex) => mutex.unlock(),
            Lock::Spin(kept) => kept.give(),
            Lock::Ticket(kept) => kept.give(),
            Lock::Mcs(kept) => kept.give(),
            Lock::Clh(kept) => kept.give(),
        }
    }

    fn is_taken(&self) -> bool {
        match self {
            Lock::Parking(parking) => matches!(parking.mutex.try_lock(), Err(TryLockError::WouldBlock)),
            Lock::Spin(kept) => kept.is_taken(),
            Lock::Ticket(kept) => kept.is_taken(),
            Lock::Mcs(kept) => kept.is_taken(),
            Lock::Clh(kept) => kept.is_taken(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_create(kind: c_int, out: *mut *mut Handle<Lock>) -> c_int {
    entry(|| {
        let lock = match kind {
            0 => Lock::Parking(Parking { mutex: Mutex::new(()), owner: Owner::nobody() }),
            1 => Lock::Spin(KeptLock::new(SpinLock::new(()))),
            2 => Lock::Ticket(KeptLock::new(TicketLock::new(()))),
            3 => Lock::Mcs(KeptLock::new(McsLock::new(()))),
            4 => Lock::Clh(KeptLock::new(ClhLock::new(()))),
            _ => return Err(Fault::Invalid),
        };
        make(out, lock)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_destroy(mutex: *mut Handle<Lock>) -> c_int {
    entry(|| {
        if get(mutex)?.is_taken() {
            return Err(Fault::Busy);
        }
        end(mutex).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_lock(mutex: *const Handle<Lock>) -> c_int {
    match get(mutex) {
        Ok(Lock::Parking(parking)) if parking.lock_plainly() => OK,
        _ => lock_late(mutex),
    }
}

/// PERF: apart, as what follows: nothing of a lock that is free unwinds, or saves a register.
#[inline(never)]
extern "C" fn lock_late(mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(mutex)?.lock())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_trylock(mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(mutex)?.try_lock())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_lock_for(mutex: *const Handle<Lock>, timeout_ns: i64) -> c_int {
    entry(|| get(mutex)?.lock_for(timeout_ns))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_unlock(mutex: *const Handle<Lock>) -> c_int {
    match get(mutex) {
        Ok(Lock::Parking(parking)) if parking.unlock().is_ok() => OK,
        _ => unlock_late(mutex),
    }
}

#[inline(never)]
extern "C" fn unlock_late(mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(mutex)?.unlock())
}
