//! Owns: `Mutex`, which tasks hold over an `.await`, and its guards.
//! May use: `sync`.
//! Never: a queue; a task that stops its worker.
//!
//! A semaphore of one permit around the data. What else was considered: a future in the queue of
//! [`sync::Mutex`](crate::sync::Mutex), whose nodes belong to the holder of the lock, so that one who gives up leaves
//! its node behind: a future is dropped more often than a deadline passes. And its guard knows who holds it, a process
//! or an OS thread, and stays there; a task moves.

use crate::sync::{Permit, Semaphore};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Mutual exclusion around a `T`, for tasks, as `tokio`'s: a task that waits leaves its worker, and the guard may be
/// held over an `.await` and sent to another thread. Not poisoned. First come, first served.
///
/// Where no guard is held over an `.await`, a [`sync::Mutex`](crate::sync::Mutex) is faster, and who waits for it is a
/// process; a task uses its `try_lock`.
///
/// ```
/// use raddle::task::{self, Mutex};
/// use std::sync::Arc;
///
/// let count = Arc::new(Mutex::new(0));
/// task::block_on(async {
///     let tasks: Vec<_> = (0..10)
///         .map(|_| {
///             let count = count.clone();
///             task::spawn(async move {
///                 let mut count = count.lock().await;
///                 let before = *count;
///                 task::yield_now().await;
///                 *count = before + 1;
///             })
///         })
///         .collect();
///     for task in tasks {
///         task.await.unwrap();
///     }
/// });
/// assert_eq!(*count.blocking_lock(), 10);
/// ```
pub struct Mutex<T: ?Sized> {
    turn: Semaphore,
    data: UnsafeCell<T>,
}

// SAFETY: the one permit gives access to one at a time.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

/// The right to the data of a [`Mutex`] until it is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Goes back when this is dropped.
    _turn: Permit<'a>,
}

// SAFETY: a shared guard gives shared access to the data only; where it is dropped does not matter.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: it gives access to the data as `&mut T` does.
unsafe impl<T: ?Sized + Send> Send for MutexGuard<'_, T> {}

/// As [`MutexGuard`], with the mutex; from [`Mutex::lock_owned`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
}

// SAFETY: as for the other guard.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}
// SAFETY: as for the other guard.
unsafe impl<T: ?Sized + Send> Send for OwnedMutexGuard<T> {}

/// The mutex is held, or somebody waits for it; from [`Mutex::try_lock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryLockError(());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mutex is held, or somebody waits for it")
    }
}

impl std::error::Error for TryLockError {}

impl<T> Mutex<T> {
    /// A free one around `t`.
    pub const fn new(t: T) -> Mutex<T> {
        Mutex { turn: Semaphore::new(1), data: UnsafeCell::new(t) }
    }

    /// Gives the data out and ends the lock.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    fn guard<'a>(&'a self, turn: Permit<'a>) -> MutexGuard<'a, T> {
        MutexGuard { mutex: self, _turn: turn }
    }

    /// Waits until the lock is free and takes it. To drop the future loses its place in the queue, and nothing else.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let turn = self.turn.acquire_async();
        async move { self.guard(turn.await.expect("it is never closed")) }
    }

    /// As [`lock`](Self::lock), with a guard that has the mutex.
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.turn.acquire_async().await.expect("it is never closed").forget();
        OwnedMutexGuard { mutex: self }
    }

    /// As [`lock`](Self::lock), for a process, a thread, or an OS thread.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        self.guard(self.turn.acquire().expect("it is never closed"))
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If somebody has it, or waits for it.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.turn.try_acquire().map(|turn| self.guard(turn)).map_err(|_| TryLockError(()))
    }

    /// The data, without locking: the caller has the mutex alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.turn.give_back(1);
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
            Err(TryLockError(())) => out.field("data", &"<locked>"),
        };
        out.finish()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
