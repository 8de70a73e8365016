//! Owns: `Semaphore` with the names of `tokio`, around the one that there is.
//! May use: `sync`.
//! Never: a queue.

use crate::sync::{self, AcquireError, AcquireFuture, Permit, TryAcquireError};
use std::sync::Arc;

/// A counter of permits for tasks. `acquire` is awaited, as `tokio`'s; [`sync::Semaphore`] is the same, with the names
/// the other way round.
///
/// First come, first served, whatever the number of permits, and whether a task waits or a process.
///
/// ```
/// use raddle::task::{self, Semaphore};
/// use std::sync::Arc;
///
/// let two = Arc::new(Semaphore::new(2));
/// task::block_on(async {
///     let tasks: Vec<_> = (0..8)
///         .map(|n| {
///             let two = two.clone();
///             task::spawn(async move {
///                 let _one_of_two = two.acquire().await?;
///                 task::yield_now().await;
///                 Ok::<_, raddle::sync::AcquireError>(n)
///             })
///         })
///         .collect();
///     for (n, task) in tasks.into_iter().enumerate() {
///         assert_eq!(task.await.unwrap(), Ok(n));
///     }
/// });
/// assert_eq!(two.available_permits(), 2);
/// ```
#[derive(Debug)]
pub struct Semaphore(sync::Semaphore);

/// Permits that have their semaphore, and go back to it when this is dropped; from [`Semaphore::acquire_owned`].
#[derive(Debug)]
#[must_use = "if unused the permits go back at once"]
pub struct OwnedPermit {
    semaphore: Arc<Semaphore>,
    count: usize,
}

impl Semaphore {
    /// At most so many permits.
    pub const MAX_PERMITS: usize = sync::Semaphore::MAX_PERMITS;

    /// One with so many permits.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use]
    pub const fn new(permits: usize) -> Semaphore {
        Semaphore(sync::Semaphore::new(permits))
    }

    /// Waits for one permit. To drop the future loses its place in the queue, and nothing else.
    ///
    /// # Errors
    /// The future's: if the semaphore is closed, or is while it waits.
    #[track_caller]
    pub fn acquire(&self) -> AcquireFuture<'_> {
        self.0.acquire_async()
    }

    /// Waits for `count` permits at once.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many(&self, count: usize) -> AcquireFuture<'_> {
        self.0.acquire_many_async(count)
    }

    /// As [`acquire`](Self::acquire), with a permit that has its semaphore.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedPermit, AcquireError> {
        self.acquire_many_owned(1).await
    }

    /// As [`acquire_owned`](Self::acquire_owned), for `count` permits at once.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_many_owned(self: Arc<Self>, count: usize) -> Result<OwnedPermit, AcquireError> {
        self.acquire_many(count).await?.forget();
        Ok(OwnedPermit { semaphore: self, count })
    }

    /// As [`acquire`](Self::acquire), for a process, a thread, or an OS thread.
    ///
    /// # Errors
    /// If the semaphore is closed, or is while it waits.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<Permit<'_>, AcquireError> {
        self.0.acquire()
    }

    /// Takes one permit if that needs no wait.
    ///
    /// # Errors
    /// If there is none, somebody waits for some, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<Permit<'_>, TryAcquireError> {
        self.0.try_acquire()
    }

    /// Takes `count` permits if that needs no wait.
    ///
    /// # Errors
    /// If there are too few, somebody waits for some, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_many(&self, count: usize) -> Result<Permit<'_>, TryAcquireError> {
        self.0.try_acquire_many(count)
    }

    /// Adds permits, and wakes those that wait for them.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS) then.
    pub fn add_permits(&self, count: usize) {
        self.0.add_permits(count);
    }

    /// How many permits there are now. May be out of date at once.
    pub fn available_permits(&self) -> usize {
        self.0.available_permits()
    }

    /// Refuses every request from now on, those that wait included. Permits in use may still be given back.
    pub fn close(&self) {
        self.0.close();
    }

    /// Whether it has been closed.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl OwnedPermit {
    /// Drops this without giving the permits back.
    pub fn forget(mut self) {
        self.count = 0;
    }

    /// How many permits these are.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        if self.count > 0 {
            self.semaphore.0.give_back(self.count);
        }
    }
}
