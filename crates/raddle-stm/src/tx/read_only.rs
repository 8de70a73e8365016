//! Owns: `ReadTx`, a transaction that writes nothing.
//! May use: `stop`, `tvar`.
//! Never: a log, in the first attempt.

use super::Tx;
use crate::stop::Stop;
use crate::tvar::TVar;
use std::ops::ControlFlow;

/// A transaction that only reads: [`read_only`](crate::read_only).
#[derive(Debug)]
pub struct ReadTx<'a, 't>(pub(crate) &'a mut Tx<'t>);

impl ReadTx<'_, '_> {
    /// As [`Tx::read`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn read<T>(&mut self, variable: &TVar<T>) -> Result<T, Stop>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.0.read(variable)
    }

    /// As [`Tx::with`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn with<T, R>(&mut self, variable: &TVar<T>, f: impl FnOnce(&T) -> R) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        self.0.with(variable, f)
    }

    /// As [`Tx::walk`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn walk<T, R>(
        &mut self,
        from: &TVar<T>,
        step: impl for<'a> FnMut(&'a TVar<T>, &'a T) -> ControlFlow<R, &'a TVar<T>>,
    ) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        self.0.walk(from, step)
    }

    /// As [`Tx::retry`].
    ///
    /// # Errors
    /// Always.
    pub fn retry<R>(&mut self) -> Result<R, Stop> {
        self.0.retry()
    }

    /// As [`Tx::check`].
    ///
    /// # Errors
    /// If `condition` does not hold.
    #[inline]
    pub fn check(&mut self, condition: bool) -> Result<(), Stop> {
        self.0.check(condition)
    }
}
