//! Owns: `RwLock` and its guards.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: waiting itself; the word does.

use super::mutex::result;
use super::sleepers::{Looks, in_task, refuse_to_wait_in_task};
use super::{LockResult, TryLockError, TryLockResult};
use crate::host::choice::{self, counted_point, counted_point_at, is_on, is_used_up, point};
use crate::host::region;
use crate::host::{CallOn, Subject, Wait, WaitReason, Waiter};
use crate::host::{Held, Holder};
use raddle_protocol::protocol::rwlock::RwWord;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::thread;
use std::time::Instant;

const READ: CallOn<RawRwLock> = CallOn::new("RwLock::read", WaitReason::Lock);
const WRITE: CallOn<RawRwLock> = CallOn::new("RwLock::write", WaitReason::Lock);

/// The lock without its data.
pub(super) struct RawRwLock {
    pub(super) word: RwWord<Waiter>,
    /// The writer, or who entered last of those who read.
    pub(super) holder: Holder,
}

impl RawRwLock {
    /// Enters as a reader if that needs no wait, it is not poisoned, and nobody wants to know of it: the common way.
    ///
    /// PERF: the word's own instruction waits for every store before it, so that it comes first; whether somebody
    /// follows a seed, and whether the slice may be over, is found out inside. Bench `rwlock`, Intel, of Go, with that
    /// and the one test of `RwWord::end_read` (the count alone gains nothing): one worker, one process 1.09 -> 0.97, 64
    /// processes 1.15 -> 0.98; two workers 0.89 -> 0.86.
    #[inline(always)]
    fn read_plainly(&self, site: &'static Location<'static>) -> bool {
        let Some(poisoned) = self.word.read_or_step_back() else { return false };
        if poisoned || is_on() || is_used_up() {
            self.word.end_read();
            return false;
        }
        self.holder.note(site);
        true
    }

    /// As [`read_plainly`](Self::read_plainly), for a writer.
    #[inline(always)]
    fn write_plainly(&self, site: &'static Location<'static>) -> bool {
        let Some(poisoned) = self.word.try_write() else { return false };
        if poisoned || is_on() || is_used_up() {
            self.word.end_write(false);
            return false;
        }
        self.holder.note(site);
        true
    }

    /// Slow path of `read`; says whether it is poisoned.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn read(&self, site: &'static Location<'static>) -> bool {
        counted_point_at("RwLock::read", site);
        if self.word.try_read().is_none() {
            self.read_slow(None, site);
        }
        self.holder.note(site);
        self.word.is_poisoned()
    }

    /// Slow path of `write`; says whether it is poisoned.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn write(&self, site: &'static Location<'static>) -> bool {
        counted_point_at("RwLock::write", site);
        if self.word.try_write().is_none() {
            self.write_slow(None, site);
        }
        self.holder.note(site);
        self.word.is_poisoned()
    }

    /// Enters as a reader; false if `deadline` passed first.
    #[cold]
    #[track_caller]
    pub(super) fn read_slow(&self, deadline: Option<Instant>, site: &'static Location<'static>) -> bool {
        if in_task() {
            let mut looks = Looks::default();
            while looks.again(&self.holder, false) {
                if self.word.try_read().is_some() {
                    return true;
                }
            }
            refuse_to_wait_in_task(READ.name());
        }
        let wait = Wait::on(const { &READ }, self, site);
        let _shown = wait.show();
        until_entered(deadline, || {
            let mut looks = Looks::default();
            self.word.read_slow(READ.call(), deadline, |only| looks.again(&self.holder, only))
        })
    }

    /// Enters as the writer; false if `deadline` passed first.
    #[cold]
    #[track_caller]
    pub(super) fn write_slow(&self, deadline: Option<Instant>, site: &'static Location<'static>) -> bool {
        if in_task() {
            let mut looks = Looks::default();
            while looks.again(&self.holder, false) {
                if self.word.try_write().is_some() {
                    return true;
                }
            }
            refuse_to_wait_in_task(WRITE.name());
        }
        let wait = Wait::on(const { &WRITE }, self, site);
        let _shown = wait.show();
        until_entered(deadline, || {
            let mut looks = Looks::default();
            self.word.write_slow(WRITE.call(), deadline, |only| looks.again(&self.holder, only))
        })
    }
}

/// Who gives up has been cancelled, or its deadline has passed.
fn until_entered(deadline: Option<Instant>, mut enter: impl FnMut() -> bool) -> bool {
    loop {
        if enter() {
            return true;
        }
        region::check();
        if deadline.is_some() {
            return false;
        }
    }
}

impl Subject for RawRwLock {
    const KIND: &'static str = "reader-writer lock";

    fn held(&self) -> Option<Held> {
        if self.word.readers() == Some(0) { None } else { self.holder.held() }
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.word.readers() {
            None => out.write_str("being written"),
            Some(readers) => write!(out, "read by {readers}, the last of them"),
        }
    }
}

/// Many readers or one writer, as [`std::sync::RwLock`]: poisoned by a panic of a writer.
///
/// Waiting parks the process and leaves its worker to others; an OS thread sleeps. Who has waited longest is called
/// when the lock becomes free, and readers that stand together are called together. Whoever runs may enter before
/// they have come round; but one who was called, and comes too late, is let in next, before all others. A thread that
/// reads, and reads again while a writer waits, may wait for itself, as with `std`'s.
///
/// ```
/// use raddle::sync::RwLock;
///
/// let lock = RwLock::new(5);
/// {
///     let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
///     assert_eq!(*first + *second, 10);
/// }
/// *lock.write().unwrap() += 1;
/// assert_eq!(lock.into_inner().unwrap(), 6);
/// ```
pub struct RwLock<T: ?Sized> {
    pub(super) raw: RawRwLock,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one writer or to several readers at a time.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// The right to read the data of a [`RwLock`] until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock> {
    raw: &'rwlock RawRwLock,
    /// Borrowed for as long as the lock, and not by way of the lock, which can change a `T`: a guard that reads may
    /// stand where one of a shorter-lived `T` is asked for, as std's. A pointer is not `Send`, as a guard must not be.
    data: NonNull<T>,
}

/// The right to read and write the data of a [`RwLock`] until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock> {
    lock: &'rwlock RwLock<T>,
    /// As in a mutex's guard.
    panicking: bool,
    not_send: PhantomData<*mut ()>,
}

impl<T: ?Sized> UnwindSafe for RwLockReadGuard<'_, T> {}
impl<T: ?Sized> RefUnwindSafe for RwLockReadGuard<'_, T> {}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// A free one around `t`.
    #[inline]
    pub const fn new(t: T) -> RwLock<T> {
        RwLock { raw: RawRwLock { word: RwWord::new(), holder: Holder::nobody() }, data: UnsafeCell::new(t) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer, and locks for reading; queues behind those that wait if there are readers
    /// already.
    ///
    /// # Errors
    /// If a writer panicked: the error holds the guard.
    ///
    /// # Panics
    /// If it has to wait inside a task, or if there are 2^61 readers.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let site = Location::caller();
        if self.raw.read_plainly(site) {
            return Ok(RwLockReadGuard::of(self));
        }
        let poisoned = self.raw.read(site);
        self.reader(poisoned)
    }

    /// Locks for reading if that needs no wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is a writer, or who waits comes first; `Poisoned`, which holds the guard, if a writer
    /// panicked.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        counted_point("RwLock::try_read");
        let poisoned = self.raw.word.try_read().ok_or(TryLockError::WouldBlock)?;
        self.raw.holder.note(Location::caller());
        Ok(self.reader(poisoned)?)
    }

    /// Waits until there is neither reader nor writer, and locks for writing.
    ///
    /// # Errors
    /// If a writer panicked: the error holds the guard.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let site = Location::caller();
        if self.raw.write_plainly(site) {
            return self.writer(false);
        }
        let poisoned = self.raw.write(site);
        self.writer(poisoned)
    }

    /// Locks for writing if that needs no wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is anybody, or who waits comes first; `Poisoned`, which holds the guard, if a writer
    /// panicked.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        counted_point("RwLock::try_write");
        let poisoned = self.raw.word.try_write().ok_or(TryLockError::WouldBlock)?;
        self.raw.holder.note(Location::caller());
        Ok(self.writer(poisoned)?)
    }

    #[inline]
    pub(super) fn reader(&self, poisoned: bool) -> LockResult<RwLockReadGuard<'_, T>> {
        result(RwLockReadGuard::of(self), poisoned)
    }

    #[inline]
    pub(super) fn writer(&self, poisoned: bool) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = RwLockWriteGuard { lock: self, panicking: thread::panicking(), not_send: PhantomData };
        result(guard, poisoned)
    }

    /// The guard of a reader whose guard was forgotten, for C, which keeps none.
    ///
    /// # Safety
    /// The caller has entered as a reader, by a guard that was forgotten, and makes one of it once.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn make_read_guard_unchecked(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard::of(self)
    }

    /// As [`make_read_guard_unchecked`](Self::make_read_guard_unchecked), of the writer.
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn make_write_guard_unchecked(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard { lock: self, panicking: thread::panicking(), not_send: PhantomData }
    }

    /// Who writes, or of those who read who came last, and where it was taken; `None` if it is free. Not part of
    /// `std`'s.
    pub fn held(&self) -> Option<Held> {
        self.raw.held()
    }

    /// Whether a writer has panicked. May be out of date at once.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.raw.word.is_poisoned()
    }

    /// Declares the data sound after a panic.
    #[inline]
    pub fn clear_poison(&self) {
        self.raw.word.clear_poison();
    }

    /// Gives the data out and ends the lock.
    ///
    /// # Errors
    /// If a writer panicked: the error holds the data.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let poisoned = self.is_poisoned();
        result(self.data.into_inner(), poisoned)
    }

    /// The data, without locking: the caller has the lock alone.
    ///
    /// # Errors
    /// If a writer panicked: the error holds the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        result(self.data.get_mut(), poisoned)
    }
}

impl<'rwlock, T: ?Sized> RwLockWriteGuard<'rwlock, T> {
    /// Turns the write lock into a read lock; no writer can come between.
    ///
    /// ```
    /// use raddle::sync::{RwLock, RwLockWriteGuard};
    /// let lock = RwLock::new(1);
    /// let reads = RwLockWriteGuard::downgrade(lock.write().unwrap());
    /// assert_eq!(*reads + *lock.read().unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'rwlock, T> {
        point("RwLock::downgrade");
        let lock = s.lock;
        std::mem::forget(s);
        lock.raw.word.downgrade();
        RwLockReadGuard::of(lock)
    }
}

impl<'rwlock, T: ?Sized> RwLockReadGuard<'rwlock, T> {
    /// Of a lock that the caller has entered as a reader.
    #[inline]
    fn of(lock: &'rwlock RwLock<T>) -> Self {
        let data = NonNull::new(lock.data.get()).expect("a reference is not null");
        RwLockReadGuard { raw: &lock.raw, data }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to read, and the lock outlives it.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.raw.word.end_read();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.raw.word.end_write(!self.panicking && thread::panicking() && choice::poisons());
    }
}

impl<T> From<T> for RwLock<T> {
    /// A free one around `t`.
    fn from(t: T) -> Self {
        RwLock::new(t)
    }
}

impl<T: Default> Default for RwLock<T> {
    /// A free one around the default value.
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => out.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => out.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => out.field("data", &format_args!("<locked>")),
        };
        out.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
