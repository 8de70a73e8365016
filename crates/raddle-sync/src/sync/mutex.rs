//! Owns: `Mutex` and its guard.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: waiting itself; the word does.
//!
//! | bytes of a `Mutex<()>` | what for |
//! |---|---|
//! | 8 | the word: flags, and the queue |
//! | 16 | who holds it, and on which worker |
//! | 8 | where it was taken |
//!
//! Why the queue is there and not in a table, `crates/raddle-protocol/src/protocol/mutex.rs` says.

use super::sleepers::{Looks, in_task, refuse_to_wait_in_task};
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::host::choice::{self, count, counted_point, is_on, is_used_up, now, point_at};
use crate::host::region;
use crate::host::{CallOn, Subject, Wait, WaitCall, WaitReason, Waiter};
use crate::host::{Held, Holder, Running};
use raddle_protocol::protocol::mutex::{MutexWord, left_behind};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::thread;
use std::time::{Duration, Instant};

const LOCK: CallOn<RawMutex> = CallOn::new("Mutex::lock", WaitReason::Lock);
const LOCK_UNTIL: CallOn<RawMutex> = CallOn::with_deadline("Mutex::try_lock_until", WaitReason::Lock);

/// So many who have given up may have left something in queues of locks that are still held (112 bytes each). While
/// there are as many, who has a deadline waits in no queue: it looks again and again.
const LEFT_BEHIND_MAX: usize = 1024;
/// So long it sleeps between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The lock without its data.
#[repr(C)]
pub(super) struct RawMutex {
    pub(super) word: MutexWord<Waiter>,
    pub(super) holder: Holder,
}

// SAFETY: the word is a protocol for several threads; the nodes that it names belong to threads that sleep.
unsafe impl Sync for RawMutex {}
// SAFETY: a lock that moves has no nodes.
unsafe impl Send for RawMutex {}

impl RawMutex {
    const fn new() -> RawMutex {
        RawMutex { word: MutexWord::new(), holder: Holder::nobody() }
    }

    /// Takes the lock if that is free, not poisoned, and nobody wants to know of it: the common way.
    ///
    /// PERF: the lock's own instruction waits for every load before it, so that it comes first: who runs here, whether
    /// somebody follows a seed, and whether the slice may be over, is found out while it is held. Bench `mutex`, one
    /// process.
    #[inline(always)]
    fn lock_plainly(&self, site: &'static Location<'static>) -> bool {
        if !self.word.try_lock_plainly() {
            return false;
        }
        if is_on() || is_used_up() {
            self.unlock(false);
            return false;
        }
        self.holder.note(site);
        true
    }

    /// Slow path of `lock`; returns whether it is poisoned.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn lock(&self, site: &'static Location<'static>) -> bool {
        count();
        if Running::here().has_points() { self.lock_with_points(site) } else { self.lock_slow(site) }
    }

    /// Another one may go on before, and while it is held.
    ///
    /// Not at the unlock: a second branch, and a call in the guard's drop, would cost a lock without a seed more.
    #[cold]
    #[track_caller]
    fn lock_with_points(&self, site: &'static Location<'static>) -> bool {
        point_at("Mutex::lock", site);
        let poisoned = self.lock_slow(site);
        if Running::here().is_seeded() {
            point_at("what follows Mutex::lock", site);
        }
        poisoned
    }

    /// Where the caller runs may be another worker afterwards: who holds it is found out anew.
    #[cold]
    #[track_caller]
    fn lock_slow(&self, site: &'static Location<'static>) -> bool {
        let poisoned = match self.word.try_lock() {
            Some(poisoned) => poisoned,
            None => self.wait_for_lock(None, site).expect("without a deadline it is taken"),
        };
        self.holder.note(site);
        poisoned
    }

    /// Waits for the lock and takes it; `None` if `deadline` passed first.
    #[track_caller]
    pub(super) fn wait_for_lock(
        &self,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Option<bool> {
        let call = if deadline.is_none() { const { &LOCK } } else { const { &LOCK_UNTIL } };
        let wait = Wait::on(call, self, site);
        let _shown = wait.show();
        let mut looks = Looks::default();
        if in_task() {
            while looks.again(&self.holder, false) {
                if let Some(poisoned) = self.word.try_lock() {
                    return Some(poisoned);
                }
            }
            refuse_to_wait_in_task(LOCK.name());
        }
        let spin = |only: bool| looks.again(&self.holder, only);
        if deadline.is_none() && !region::is_in_one() {
            return Some(self.word.lock_slow(call.call(), spin));
        }
        let poisoned = if left_behind() < LEFT_BEHIND_MAX {
            self.word.lock_or_give_up(call.call(), deadline, spin)
        } else {
            self.look_until(call.call(), deadline)
        };
        if poisoned.is_none() && (deadline.is_none() || region::is_cancelled_now()) {
            region::unwind();
        }
        poisoned
    }

    /// Takes the lock when a look finds it free; `None` at `deadline`, or when the caller is cancelled. Who waits so
    /// is in no queue, and leaves nothing there.
    #[cold]
    fn look_until(&self, call: &'static WaitCall, deadline: Option<Instant>) -> Option<bool> {
        loop {
            let poisoned = self.word.try_lock();
            let now = now();
            if poisoned.is_some() || deadline.is_some_and(|deadline| deadline <= now) {
                return poisoned;
            }
            let next = now + PAUSE;
            let until = deadline.map_or(next, |deadline| deadline.min(next));
            // Nobody else knows of this wait: time ends it, or a cancellation.
            let _expired = Waiter::new(call).wait(Some(until));
            if region::is_cancelled_now() {
                return None;
            }
        }
    }

    pub(super) fn unlock(&self, poison: bool) {
        self.word.unlock(poison);
    }
}

impl Subject for RawMutex {
    const KIND: &'static str = "mutex";

    fn held(&self) -> Option<Held> {
        self.word.is_locked().then(|| self.holder.held()).flatten()
    }
}

/// Mutual exclusion around a `T`, as [`std::sync::Mutex`]: poisoned by a panic of its holder, not reentrant.
///
/// Waiting parks the process and leaves its worker to others; an OS thread sleeps. Whoever runs may take a free lock
/// before those who wait, but the one who has waited longest is passed at most 1023 times. A waiter spins only if the
/// holder took the lock on another worker: for a microsecond or two, or, while nobody else waits and its own worker has
/// nothing else to run, for about twenty.
///
/// To lock it again while holding it waits for ever: nothing else can unlock it. [`held`](Self::held) tells who holds
/// it, and where it was taken.
///
/// ```
/// use raddle::sync::{Arc, Mutex};
/// use raddle::csp;
///
/// let count = Arc::new(Mutex::new(0));
/// let workers: Vec<_> = (0..10)
///     .map(|_| {
///         let count = count.clone();
///         csp::spawn(move || *count.lock().unwrap() += 1)
///     })
///     .collect();
/// workers.into_iter().for_each(|worker| worker.join().unwrap());
/// assert_eq!(*count.lock().unwrap(), 10);
/// ```
#[repr(C)]
pub struct Mutex<T: ?Sized> {
    pub(super) raw: RawMutex,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one thread at a time.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// The right to the data of a [`Mutex`] until it is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    mutex: &'a Mutex<T>,
    /// The caller was unwinding when it took the lock: then the end of the guard tells nothing about the data.
    panicking: bool,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A free one around `t`.
    #[inline]
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { raw: RawMutex::new(), data: UnsafeCell::new(t) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the lock is free and takes it.
    ///
    /// # Errors
    /// If a former holder panicked: the error holds the guard.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let site = Location::caller();
        if self.raw.lock_plainly(site) {
            // SAFETY: the lock has just been taken.
            return Ok(unsafe { MutexGuard::of(self) });
        }
        let poisoned = self.raw.lock(site);
        // SAFETY: as above.
        unsafe { MutexGuard::new(self, poisoned) }
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// `WouldBlock` if somebody has it, or it is reserved for the one who has waited longest; `Poisoned`, which holds
    /// the guard, if a former holder panicked.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        counted_point("Mutex::try_lock");
        let poisoned = self.raw.word.try_lock().ok_or(TryLockError::WouldBlock)?;
        self.raw.holder.note(Location::caller());
        // SAFETY: the lock has just been taken.
        Ok(unsafe { MutexGuard::new(self, poisoned) }?)
    }

    /// Whether a holder has panicked. May be out of date at once.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.raw.word.is_poisoned()
    }

    /// Declares the data sound after a panic.
    #[inline]
    pub fn clear_poison(&self) {
        self.raw.word.clear_poison();
    }

    /// Who holds it, and where it was taken; `None` if it is free. Not part of `std`'s.
    ///
    /// ```
    /// let mutex = raddle::sync::Mutex::new(());
    /// assert!(mutex.held().is_none());
    /// let _guard = mutex.lock().unwrap();
    /// assert!(mutex.held().unwrap().by_caller());
    /// ```
    pub fn held(&self) -> Option<Held> {
        self.raw.held()
    }

    /// Gives the data out and ends the lock.
    ///
    /// # Errors
    /// If a former holder panicked: the error holds the data.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let poisoned = self.is_poisoned();
        result(self.data.into_inner(), poisoned)
    }

    /// The data, without locking: the caller has the mutex alone.
    ///
    /// # Errors
    /// If a former holder panicked: the error holds the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        result(self.data.get_mut(), poisoned)
    }
}

pub(super) fn result<T>(value: T, poisoned: bool) -> LockResult<T> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// # Safety
    /// The caller has just taken the lock.
    #[inline]
    pub(super) unsafe fn new(mutex: &'a Mutex<T>, poisoned: bool) -> LockResult<Self> {
        // SAFETY: passed on to the caller.
        result(unsafe { MutexGuard::of(mutex) }, poisoned)
    }

    /// # Safety
    /// As [`new`](Self::new).
    #[inline(always)]
    pub(super) unsafe fn of(mutex: &'a Mutex<T>) -> Self {
        MutexGuard { mutex, panicking: thread::panicking(), not_send: PhantomData }
    }

    /// For the condition variable: gives the lock back while `wait` runs, and takes it again.
    #[inline]
    pub(super) fn without_lock<R>(
        self,
        site: &'static Location<'static>,
        wait: impl FnOnce(&RawMutex) -> R,
    ) -> (LockResult<Self>, R) {
        let mutex = self.mutex;
        // The wait gives the lock back, or panics first; then the guard goes as any other.
        let out = wait(&mutex.raw);
        std::mem::forget(self);
        // A cancellation does not end this one: the caller may have been told something.
        let lock = || mutex.raw.lock(site);
        let poisoned = if region::is_in_one() { region::shield(lock) } else { lock() };
        // SAFETY: the lock has just been taken.
        (unsafe { MutexGuard::new(mutex, poisoned) }, out)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock(!self.panicking && thread::panicking() && choice::poisons());
    }
}

impl<T> From<T> for Mutex<T> {
    /// A free one around `t`.
    fn from(t: T) -> Self {
        Mutex::new(t)
    }
}

impl<T: Default> Default for Mutex<T> {
    /// A free one around the default value.
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => out.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => out.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => out.field("data", &"<locked>"),
        };
        out.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
