//! Owns: transactions in a transaction: alternatives, and parts that may fail by themselves.
//! May use: `gate`, `log`, `mistake`, `panics`, `stop`.
//! Never: a slot of their own: a nested transaction is a piece of its parent's log.

use super::Tx;
use crate::gate;
use crate::log::Mark;
use crate::mistake::{Mistake, made};
use crate::panics::Panics;
use crate::stop::{Stop, StopOr, Stops, Why};

impl<'t> Tx<'t> {
    /// Does `first`; if that [retries](Self::retry), it is rolled back, and `second` done in its place. If both retry,
    /// the transaction waits for whatever either has read. One that [aborts](crate::abort) is rolled back, by itself:
    /// its error may be handled.
    ///
    /// From *Composable Memory Transactions* (Harris, Marlow, Peyton Jones, Herlihy, 2005).
    ///
    /// ```
    /// use raddle::stm::{Stop, TVar, Tx, atomically};
    ///
    /// fn take(tx: &mut Tx<'_>, from: &TVar<u32>) -> Result<(), Stop> {
    ///     match tx.read(from)? {
    ///         0 => tx.retry(),
    ///         n => tx.write(from, n - 1),
    ///     }
    /// }
    /// let (cash, savings) = (TVar::new(0), TVar::new(3));
    /// atomically(|tx| tx.or_else(|tx| take(tx, &cash), |tx| take(tx, &savings)));
    /// assert_eq!(savings.load(), 2);
    /// ```
    ///
    /// # Errors
    /// Those of `first`, or of `second` if `first` retries.
    pub fn or_else<R, S: Stops>(
        &mut self,
        first: impl FnOnce(&mut Tx<'t>) -> Result<R, S>,
        second: impl FnOnce(&mut Tx<'t>) -> Result<R, S>,
    ) -> Result<R, S> {
        // Else a retry that the body has dropped before this would be taken for one of `first`.
        if let Some(why) = self.stopped {
            return Err(Stop(why).into());
        }
        let mut nested = Nested::begin(self);
        let done = first(nested.tx);
        if nested.tx.verdict(&done) != Some(Why::Retry) {
            return nested.end(done);
        }
        // A hook, or a drop, may panic in what comes next.
        nested.tx.go_on();
        nested.roll_back();
        drop(nested);
        let nested = Nested::begin(self);
        let done = second(nested.tx);
        nested.end(done)
    }

    /// Does `part`; if that [aborts](crate::abort), it alone is rolled back, and its error returned inside.
    ///
    /// ```
    /// use raddle::stm::{TVar, abort, atomically};
    ///
    /// let (tried, balance) = (TVar::new(0), TVar::new(5));
    /// let paid = atomically(|tx| {
    ///     tx.modify(&tried, |n| n + 1)?;
    ///     tx.nested(|tx| {
    ///         tx.modify(&balance, |n| n - 7)?;
    ///         if tx.read(&balance)? < 0 { abort("too little") } else { Ok(()) }
    ///     })
    /// });
    /// assert_eq!((paid, tried.load(), balance.load()), (Err("too little"), 1, 5));
    /// ```
    ///
    /// # Errors
    /// [`Stop`], if the whole transaction must be run again.
    pub fn nested<R, E>(
        &mut self,
        part: impl FnOnce(&mut Tx<'t>) -> Result<R, StopOr<E>>,
    ) -> Result<Result<R, E>, Stop> {
        let nested = Nested::begin(self);
        let done = part(nested.tx);
        match nested.end(done) {
            Ok(done) => Ok(Ok(done)),
            Err(StopOr::Stop(stop)) => Err(stop),
            Err(StopOr::Abort(error)) => Ok(Err(error)),
        }
    }
}

/// A nested transaction, which is rolled back unless it is kept: so does a panic that the body catches.
struct Nested<'n, 't> {
    tx: &'n mut Tx<'t>,
    /// How long the log was when it began.
    begin: Mark,
    /// How many calls had been put off.
    hooks: (usize, usize),
    /// The parent's.
    outer: Mark,
    is_open: bool,
}

impl<'n, 't> Nested<'n, 't> {
    fn begin(tx: &'n mut Tx<'t>) -> Nested<'n, 't> {
        let begin = tx.log().mark();
        let hooks = tx.hooks.as_ref().map_or((0, 0), |hooks| hooks.lengths());
        let outer = std::mem::replace(&mut tx.mark, begin);
        Nested { tx, begin, hooks, outer, is_open: true }
    }

    /// Its result, as the transaction that it is a part of goes on.
    fn end<R, S: Stops>(mut self, done: Result<R, S>) -> Result<R, S> {
        match self.tx.verdict(&done) {
            None => {
                self.is_open = false;
                let garbage = self.tx.log().keep(self.begin, self.outer);
                if !garbage.is_empty() {
                    let mut panics = Panics::default();
                    gate::open_while(|| panics.catch_drops(garbage));
                    panics.go_on();
                }
            }
            Some(Why::Abort) => self.roll_back(),
            // The whole transaction is to be run again, whatever this part says.
            Some(why) => {
                self.is_open = false;
                return Err(self.tx.stop(why).into());
            }
        }
        done
    }

    fn roll_back(&mut self) {
        self.is_open = false;
        if made(Mistake::KeepsBranch) {
            return;
        }
        let garbage = self.tx.log().roll_back(self.begin);
        let hooks = self.tx.hooks.as_mut().map(|hooks| hooks.roll_back(self.hooks));
        // Code of the program's, from here on, as when the whole is rolled back.
        let mut panics = Panics::default();
        gate::open_while(|| {
            hooks.unwrap_or_default().aborted(&mut panics);
            panics.catch_drops(garbage);
        });
        panics.go_on();
    }
}

impl Drop for Nested<'_, '_> {
    fn drop(&mut self) {
        if self.is_open {
            self.roll_back();
        }
        self.tx.mark = self.outer;
    }
}
