//! Owns: `TSemaphore`, permits in transactions.
//! May use: `stop`, `tvar`, `tx`.
//! Never: an order among those who wait: whoever commits first has the permit.

use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};

/// A number of permits, of which a transaction takes some, or waits until there are so many.
///
/// A handle, as a [`TVar`] is. It is not fair: of those who wait whoever commits first has the permit, so that one who
/// wants many may wait for as long as others want few.
///
/// ```
/// use raddle::stm::{TSemaphore, atomically};
///
/// let (forks, seats) = (TSemaphore::new(5), TSemaphore::new(4));
/// // Two forks and a seat, or nothing yet.
/// atomically(|tx| {
///     seats.acquire(tx)?;
///     forks.acquire_many(tx, 2)
/// });
/// assert_eq!(atomically(|tx| Ok((forks.available(tx)?, seats.available(tx)?))), (3, 3));
/// atomically(|tx| {
///     forks.release_many(tx, 2)?;
///     seats.release(tx)
/// });
/// ```
#[derive(Clone, Debug)]
pub struct TSemaphore {
    permits: TVar<usize>,
}

impl TSemaphore {
    /// A semaphore with so many permits.
    #[track_caller]
    pub fn new(permits: usize) -> TSemaphore {
        TSemaphore { permits: TVar::new(permits) }
    }

    /// Takes a permit. [Retries](Tx::retry) while there is none.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn acquire(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        self.acquire_many(tx, 1)
    }

    /// Takes `count` permits, all at once. [Retries](Tx::retry) while there are fewer.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn acquire_many(&self, tx: &mut Tx<'_>, count: usize) -> Result<(), Stop> {
        let taken = self.try_acquire_many(tx, count)?;
        tx.check(taken)
    }

    /// Takes a permit, if there is one; says whether there was.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn try_acquire(&self, tx: &mut Tx<'_>) -> Result<bool, Stop> {
        self.try_acquire_many(tx, 1)
    }

    /// Takes `count` permits, if there are so many; says whether there were.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn try_acquire_many(&self, tx: &mut Tx<'_>, count: usize) -> Result<bool, Stop> {
        let Some(left) = tx.read(&self.permits)?.checked_sub(count) else { return Ok(false) };
        tx.write(&self.permits, left)?;
        Ok(true)
    }

    /// Gives a permit back, or adds one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    ///
    /// # Panics
    /// As [`release_many`](Self::release_many).
    #[track_caller]
    pub fn release(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        self.release_many(tx, 1)
    }

    /// Gives `count` permits back, or adds so many.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    ///
    /// # Panics
    /// If there are more than `usize::MAX` then.
    #[track_caller]
    pub fn release_many(&self, tx: &mut Tx<'_>, count: usize) -> Result<(), Stop> {
        let Some(permits) = tx.read(&self.permits)?.checked_add(count) else {
            panic!("a semaphore cannot have more than usize::MAX permits")
        };
        tx.write(&self.permits, permits)
    }

    /// How many permits there are to be taken.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn available(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        tx.read(&self.permits)
    }
}
