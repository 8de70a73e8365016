//! Owns: `raddle_mutex_t`, locks of five kinds behind one face.
//! May use: `fault`, `handle`, `time`, `raddle`, `raddle-core`.
//! Never: a lock destroyed while somebody has it.
//!
//! By its owner a lock that its holder takes again, and one that another unlocks, are told. The parking mutex notes it
//! by itself, and who gives it back takes the note away before. The other kinds have an owner beside them, and keep
//! their guard here, in a place that only the holder touches.

use crate::fault::{CResult, Fault, OK, entry};
use crate::handle::{Handle, Object, end, get, make};
use crate::time::{deadline, span};
use raddle::sync::{
    ClhGuard, ClhLock, LockResult, McsGuard, McsLock, Mutex, MutexGuard, PoisonError, SpinGuard, SpinLock,
    TicketGuard, TicketLock, Took, TryLockError, TryLockResult,
};
use raddle_core::door::futex::Owner;
use raddle_core::door::inlined;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{MaybeUninit, offset_of};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A lock that the program is told to hold without a guard.
///
/// `raddle.h` has compilers take and give back a free one of kind `RADDLE_MUTEX` by themselves. They know it by its
/// tag, which says what lies where: **with any change here, in the words of `door::inlined` or in those of a mutex the
/// tag changes**, and programs that were compiled for another one call the functions. A lock of another kind looks to
/// them like one that somebody else has.
#[repr(C)]
pub(crate) struct Lock {
    parking: Parking,
    /// From the thread pointer to who runs.
    here: usize,
    /// Whether the functions must be called.
    switch: &'static AtomicBool,
    kind: LockKind,
}

enum LockKind {
    Parking,
    Spin(KeptLock<SpinLock<()>, SpinGuard<'static, ()>>),
    Ticket(KeptLock<TicketLock<()>, TicketGuard<'static, ()>>),
    Mcs(KeptLock<McsLock<()>, McsGuard<'static, ()>>),
    Clh(KeptLock<ClhLock<()>, ClhGuard<'static, ()>>),
}

/// `struct raddle_mutex_layout` of `raddle.h`.
const _: () = {
    let lock = Handle::<Lock>::OBJECT;
    let [word, who, worker] = Mutex::LAYOUT;
    assert!(lock + word == 8 && lock + who == 16 && lock + worker == 24);
    assert!(lock + offset_of!(Lock, here) == 40 && lock + offset_of!(Lock, switch) == 48);
};

impl Object for Lock {
    #[cfg(not(raddle_twin))]
    const TAG: u64 = u64::from_le_bytes(*b"raddlmt1");
    /// Who runs is said elsewhere.
    #[cfg(raddle_twin)]
    const TAG: u64 = u64::from_le_bytes(*b"raddlmt0");
}

/// The mutex for all who may wait.
#[repr(transparent)]
pub(crate) struct Parking(Mutex<()>);

impl Parking {
    /// The caller has taken it.
    #[inline(always)]
    pub(crate) fn keep(&self, guard: MutexGuard<'_, ()>) {
        std::mem::forget(guard);
    }

    /// The guard of the caller, who is about to give the lock back.
    pub(crate) fn guard(&self) -> CResult<MutexGuard<'_, ()>> {
        self.0.guard_of_caller().ok_or(Fault::Permission)
    }

    /// Waits for it, if that is not for the caller itself.
    fn lock(&self) -> CResult {
        if self.0.is_held_by_caller() {
            return Err(Fault::Deadlock);
        }
        self.lock_again();
        Ok(())
    }

    /// Waits for it.
    pub(crate) fn lock_again(&self) {
        self.keep(unpoisoned(self.0.lock()));
    }

    fn lock_for(&self, timeout: Duration, deadline: Option<Instant>) -> CResult {
        if self.0.is_held_by_caller() {
            return Err(Fault::Deadlock);
        }
        let locked = match deadline {
            Some(deadline) => self.0.try_lock_until(deadline),
            None => self.0.try_lock_for(timeout),
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
    fn new(kind: LockKind) -> Lock {
        let lock = Lock {
            parking: Parking(Mutex::unguarded()),
            here: inlined::distance(),
            switch: inlined::switch(),
            kind,
        };
        if !matches!(lock.kind, LockKind::Parking) {
            // Nobody's for good: whoever tries to take it so comes to the functions.
            let _taken = lock.parking.0.lock_plainly_unguarded();
            lock.parking.0.nobody_holds();
        }
        lock
    }

    /// The parking mutex, for a condition variable.
    pub(crate) fn parking(&self) -> CResult<&Parking> {
        if let LockKind::Parking = self.kind { Ok(&self.parking) } else { Err(Fault::Unsupported) }
    }

    fn lock(&self) -> CResult {
        match &self.kind {
            LockKind::Parking => self.parking.lock(),
            LockKind::Spin(kept) => kept.take(|lock| Some(lock.lock())),
            LockKind::Ticket(kept) => kept.take(|lock| Some(lock.lock())),
            LockKind::Mcs(kept) => kept.take(|lock| Some(lock.lock())),
            LockKind::Clh(kept) => kept.take(|lock| Some(lock.lock())),
        }
    }

    fn try_lock(&self) -> CResult {
        match &self.kind {
            LockKind::Parking => {
                self.parking.keep(unless_late(self.parking.0.try_lock())?);
                Ok(())
            }
            // Its holder would be told of a deadlock, where it only asks.
            LockKind::Mcs(kept) if kept.owner.is_caller() => Err(Fault::TimedOut),
            LockKind::Mcs(kept) => kept.take(McsLock::try_lock),
            LockKind::Spin(_) | LockKind::Ticket(_) | LockKind::Clh(_) => Err(Fault::Unsupported),
        }
    }

    fn lock_for(&self, timeout_ns: i64) -> CResult {
        match (&self.kind, span(timeout_ns)) {
            (_, None) => self.lock(),
            (_, Some(none)) if none.is_zero() => self.try_lock(),
            (LockKind::Parking, Some(timeout)) => self.parking.lock_for(timeout, deadline(timeout_ns)),
            _ => Err(Fault::Unsupported),
        }
    }

    fn unlock(&self) -> CResult {
        match &self.kind {
            LockKind::Parking => self.parking.guard().map(drop),
            LockKind::Spin(kept) => kept.give(),
            LockKind::Ticket(kept) => kept.give(),
            LockKind::Mcs(kept) => kept.give(),
            LockKind::Clh(kept) => kept.give(),
        }
    }

    fn is_taken(&self) -> bool {
        match &self.kind {
            LockKind::Parking => matches!(self.parking.0.try_lock(), Err(TryLockError::WouldBlock)),
            LockKind::Spin(kept) => kept.is_taken(),
            LockKind::Ticket(kept) => kept.is_taken(),
            LockKind::Mcs(kept) => kept.is_taken(),
            LockKind::Clh(kept) => kept.is_taken(),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn raddle_mutex_create(kind: c_int, out: *mut *mut Handle<Lock>) -> c_int {
    entry(|| {
        let kind = match kind {
            0 => LockKind::Parking,
            1 => LockKind::Spin(KeptLock::new(SpinLock::new(()))),
            2 => LockKind::Ticket(KeptLock::new(TicketLock::new(()))),
            3 => LockKind::Mcs(KeptLock::new(McsLock::new(()))),
            4 => LockKind::Clh(KeptLock::new(ClhLock::new(()))),
            _ => return Err(Fault::Invalid),
        };
        make(out, Lock::new(kind))
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
    let Ok(lock) = get(mutex) else { return lock_late(mutex) };
    match lock.parking.0.lock_plainly_unguarded() {
        Took::Lock => OK,
        Took::Word => raddle_mutex_locked(mutex),
        Took::Nothing => lock_late(mutex),
    }
}

/// PERF: apart, as what follows: nothing of a lock that is free unwinds, or saves a register.
#[inline(never)]
extern "C" fn lock_late(mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(mutex)?.lock())
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn raddle_mutex_locked(mutex: *const Handle<Lock>) -> c_int {
    match get(mutex) {
        Ok(lock) if lock.parking.0.took_word() => OK,
        _ => lock_late(mutex),
    }
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
        Ok(lock) if lock.parking.0.unlock_plainly_unguarded() => OK,
        _ => unlock_late(mutex),
    }
}

#[inline(never)]
extern "C" fn unlock_late(mutex: *const Handle<Lock>) -> c_int {
    entry(|| get(mutex)?.unlock())
}
