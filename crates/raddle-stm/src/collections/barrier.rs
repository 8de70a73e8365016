//! Owns: `TBarrier`, where a number of flows meet.
//! May use: `atomically`, `stop`, `tvar`, `tx`.
//! Never: a wait in the transaction that arrives: nobody would see that it has come.

use crate::atomically::atomically;
use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};

/// A barrier: as many as it has members come to it, and go on when all have come; again and again.
///
/// A handle, as a [`TVar`] is. [`wait`](Self::wait) does it all, as that of [`std::sync::Barrier`] does. To come in the
/// same transaction in which something else is done, or to wait for one of several things, use
/// [`arrive`](Self::arrive) and [`Arrival::has_ended`] in two transactions: others see that somebody has come when the
/// first commits, so that it cannot be one.
///
/// ```
/// use raddle::stm::{TBarrier, TVar, atomically};
///
/// let (done, barrier) = (TVar::new(0), TBarrier::new(3));
/// std::thread::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| {
///             let arrival = atomically(|tx| {
///                 tx.modify(&done, |n| n + 1)?;
///                 barrier.arrive(tx)
///             });
///             atomically(|tx| {
///                 let all_have_come = arrival.has_ended(tx)?;
///                 tx.check(all_have_come)
///             });
///             assert_eq!(done.load(), 3);
///         });
///     }
/// });
/// ```
#[derive(Clone, Debug)]
pub struct TBarrier {
    members: u64,
    /// The round, and how many have come in it.
    round: TVar<(u64, u64)>,
}

/// That somebody has come to a [`TBarrier`].
#[derive(Clone, Debug)]
#[must_use = "who does not wait for the others has only come"]
pub struct Arrival {
    round: TVar<(u64, u64)>,
    number: u64,
    is_last: bool,
}

impl TBarrier {
    /// A barrier of so many; 0 is as 1, as the standard library has it.
    #[track_caller]
    pub fn new(members: usize) -> TBarrier {
        TBarrier { members: (members as u64).max(1), round: TVar::new((0, 0)) }
    }

    /// Comes, and waits for the others. True for one of them, the last.
    ///
    /// # Panics
    /// In a task, which must not wait. It is not a part of a transaction: inside of one's body it comes each time that
    /// the body runs.
    #[track_caller]
    pub fn wait(&self) -> bool {
        let arrival = atomically(|tx| self.arrive(tx));
        atomically(|tx| {
            let has_ended = arrival.has_ended(tx)?;
            tx.check(has_ended)
        });
        arrival.is_last
    }

    /// Comes: with the commit of this transaction. The last who does lets the others go.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn arrive(&self, tx: &mut Tx<'_>) -> Result<Arrival, Stop> {
        let (number, before) = tx.read(&self.round)?;
        let is_last = before + 1 == self.members;
        tx.write(&self.round, if is_last { (number + 1, 0) } else { (number, before + 1) })?;
        Ok(Arrival { round: self.round.clone(), number, is_last })
    }

    /// How many have come in this round.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn arrived(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        let (_, arrived) = tx.read(&self.round)?;
        Ok(usize::try_from(arrived).expect("fewer than the members"))
    }
}

impl Arrival {
    /// Whether all have come. Pass it to [`Tx::check`] to wait for that.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn has_ended(&self, tx: &mut impl Snapshot) -> Result<bool, Stop> {
        let (number, _) = tx.read(&self.round)?;
        Ok(number != self.number)
    }

    /// Whether this was the last to come.
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}
