//! Owns: `Snapshot`, what every transaction can do: read.
//! May use: `stop`, `tvar`.
//! Never: a write.

use super::{ReadTx, Tx};
use crate::stop::Stop;
use crate::tvar::TVar;
use std::ops::ControlFlow;

/// A transaction, of whichever kind: a [`Tx`], or a [`ReadTx`], which only reads. For functions that serve both:
///
/// ```
/// use raddle::stm::{Snapshot, Stop, TVar, atomically, read_only};
///
/// fn sum(tx: &mut impl Snapshot, numbers: &[TVar<u32>]) -> Result<u32, Stop> {
///     numbers.iter().try_fold(0, |sum, number| Ok(sum + tx.read(number)?))
/// }
///
/// let numbers: Vec<_> = (1..=4).map(TVar::new).collect();
/// assert_eq!(read_only(|tx| sum(tx, &numbers)), 10);
/// atomically(|tx| {
///     let sum = sum(tx, &numbers)?;
///     tx.write(&numbers[0], sum)
/// });
/// assert_eq!(numbers[0].load(), 10);
/// ```
pub trait Snapshot: sealed::Walks {
    /// As [`Tx::read`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    fn read<T>(&mut self, variable: &TVar<T>) -> Result<T, Stop>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.with(variable, T::clone)
    }

    /// As [`Tx::with`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    fn with<T, R>(&mut self, variable: &TVar<T>, f: impl FnOnce(&T) -> R) -> Result<R, Stop>
    where
        T: Send + Sync + 'static;

    /// As [`Tx::retry`].
    ///
    /// # Errors
    /// Always.
    fn retry<R>(&mut self) -> Result<R, Stop>;

    /// As [`Tx::check`].
    ///
    /// # Errors
    /// If `condition` does not hold.
    #[inline]
    fn check(&mut self, condition: bool) -> Result<(), Stop> {
        if condition { Ok(()) } else { self.retry() }
    }
}

/// What a walk has found: where it goes on, or what it was for.
pub(crate) type WalkStep<'a, T, R> = ControlFlow<R, &'a TVar<T>>;

pub(crate) mod sealed {
    use super::*;

    /// Nobody else's trait.
    pub trait Walks {
        /// Goes from variable to variable, each of which lies in the value of the one before, and takes no handle of
        /// any.
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "nobody else calls it")]
        fn walk<T, R>(
            &mut self,
            from: &TVar<T>,
            step: impl for<'a> FnMut(&'a TVar<T>, &'a T) -> WalkStep<'a, T, R>,
        ) -> Result<R, Stop>
        where
            T: Send + Sync + 'static;
    }
}

impl sealed::Walks for Tx<'_> {
    #[allow(private_interfaces, reason = "as the trait's")]
    #[inline]
    fn walk<T, R>(
        &mut self,
        from: &TVar<T>,
        step: impl for<'a> FnMut(&'a TVar<T>, &'a T) -> WalkStep<'a, T, R>,
    ) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        Tx::walk(self, from, step)
    }
}

impl sealed::Walks for ReadTx<'_, '_> {
    #[allow(private_interfaces, reason = "as the trait's")]
    #[inline]
    fn walk<T, R>(
        &mut self,
        from: &TVar<T>,
        step: impl for<'a> FnMut(&'a TVar<T>, &'a T) -> WalkStep<'a, T, R>,
    ) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        self.0.walk(from, step)
    }
}

impl Snapshot for Tx<'_> {
    #[inline]
    fn with<T, R>(&mut self, variable: &TVar<T>, f: impl FnOnce(&T) -> R) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        Tx::with(self, variable, f)
    }

    fn retry<R>(&mut self) -> Result<R, Stop> {
        Tx::retry(self)
    }
}

impl Snapshot for ReadTx<'_, '_> {
    #[inline]
    fn with<T, R>(&mut self, variable: &TVar<T>, f: impl FnOnce(&T) -> R) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        self.0.with(variable, f)
    }

    fn retry<R>(&mut self) -> Result<R, Stop> {
        self.0.retry()
    }
}
