//! Owns: the forms of [`Mutex`] and [`RwLock`] with a deadline, under the names that `parking_lot` gave them.
//! May use: `host::choice`, `raddle-core`.
//! Never: a way to wait that the forms without a deadline have not.

use super::sleepers::deadline;
use super::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult};
use crate::host::choice::counted_point;
use std::panic::Location;
use std::time::{Duration, Instant};

impl<T: ?Sized> Mutex<T> {
    /// As [`lock`](Self::lock), waiting at most until `deadline`.
    ///
    /// # Errors
    /// `WouldBlock` if it is not the caller's by then; `Poisoned`, which holds the guard, if a former holder panicked.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    ///
    /// ```
    /// use raddle::sync::Mutex;
    /// use std::time::Duration;
    /// let lock = Mutex::new(7);
    /// let held = lock.lock().unwrap();
    /// assert!(lock.try_lock_for(Duration::from_millis(1)).is_err());
    /// drop(held);
    /// assert_eq!(*lock.try_lock_for(Duration::from_millis(1)).unwrap(), 7);
    /// ```
    #[track_caller]
    pub fn try_lock_until(&self, deadline: Instant) -> TryLockResult<MutexGuard<'_, T>> {
        self.lock_by(Some(deadline))
    }

    /// As [`try_lock_until`](Self::try_lock_until), `timeout` from now.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> TryLockResult<MutexGuard<'_, T>> {
        self.lock_by(deadline(timeout))
    }

    #[track_caller]
    fn lock_by(&self, deadline: Option<Instant>) -> TryLockResult<MutexGuard<'_, T>> {
        counted_point("Mutex::try_lock_until");
        let site = Location::caller();
        let poisoned = match self.raw.word.try_lock() {
            Some(poisoned) => poisoned,
            None => self.raw.wait_for_lock(deadline, site).ok_or(TryLockError::WouldBlock)?,
        };
        self.raw.holder.note(site);
        // SAFETY: the lock has just been taken.
        Ok(unsafe { MutexGuard::new(self, poisoned) }?)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As [`read`](Self::read), waiting at most until `deadline`.
    ///
    /// # Errors
    /// `WouldBlock` if it could not enter by then; `Poisoned`, which holds the guard, if a writer panicked.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    ///
    /// ```
    /// use raddle::sync::RwLock;
    /// use std::time::Duration;
    /// let lock = RwLock::new(7);
    /// let reads = lock.read().unwrap();
    /// assert!(lock.try_read_for(Duration::from_millis(1)).is_ok());
    /// assert!(lock.try_write_for(Duration::from_millis(1)).is_err());
    /// # drop(reads);
    /// ```
    #[track_caller]
    pub fn try_read_until(&self, deadline: Instant) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.read_by(Some(deadline))
    }

    /// As [`try_read_until`](Self::try_read_until), `timeout` from now.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn try_read_for(&self, timeout: Duration) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.read_by(deadline(timeout))
    }

    #[track_caller]
    fn read_by(&self, deadline: Option<Instant>) -> TryLockResult<RwLockReadGuard<'_, T>> {
        counted_point("RwLock::try_read_until");
        let site = Location::caller();
        if self.raw.word.try_read().is_none() && !self.raw.read_slow(deadline, site) {
            return Err(TryLockError::WouldBlock);
        }
        self.raw.holder.note(site);
        Ok(self.reader(self.is_poisoned())?)
    }

    /// As [`write`](Self::write), waiting at most until `deadline`.
    ///
    /// # Errors
    /// As [`try_read_until`](Self::try_read_until).
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn try_write_until(&self, deadline: Instant) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.write_by(Some(deadline))
    }

    /// As [`try_write_until`](Self::try_write_until), `timeout` from now.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn try_write_for(&self, timeout: Duration) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.write_by(deadline(timeout))
    }

    #[track_caller]
    fn write_by(&self, deadline: Option<Instant>) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        counted_point("RwLock::try_write_until");
        let site = Location::caller();
        if self.raw.word.try_write().is_none() && !self.raw.write_slow(deadline, site) {
            return Err(TryLockError::WouldBlock);
        }
        self.raw.holder.note(site);
        Ok(self.writer(self.is_poisoned())?)
    }
}
