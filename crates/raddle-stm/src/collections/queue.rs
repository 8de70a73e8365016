//! Owns: `TQueue`, a queue in transactions.
//! May use: `stop`, `tvar`, `tx`.
//! Never: a variable that both ends write.

use super::list::ListLink;
use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A first-in, first-out queue of any number of ends, unbounded or bounded.
///
/// A handle, as a [`TVar`] is: a clone is another handle of the same queue. Each operation takes constant time. Who
/// pushes and who pops write different variables: their transactions conflict only if the queue is empty or, bounded,
/// seems full.
///
/// A value is `Clone`, since another transaction may still see it in its place; put what is dear to clone in an
/// [`Arc`].
///
/// ```
/// use raddle::stm::{TQueue, atomically};
///
/// let (urgent, other) = (TQueue::new(), TQueue::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| atomically(|tx| other.push(tx, "sweep the floor")));
///     // Whichever has something; the urgent ones first.
///     let next = atomically(|tx| tx.or_else(|tx| urgent.pop(tx), |tx| other.pop(tx)));
///     assert_eq!(next, "sweep the floor");
/// });
/// # atomically(|tx| urgent.push(tx, ""));
/// ```
pub struct TQueue<T>(Arc<QueueEnds<T>>);

struct QueueEnds<T> {
    front: TVar<Front<T>>,
    back: TVar<Back<T>>,
    /// What it holds at most.
    bound: Option<usize>,
    site: &'static Location<'static>,
}

struct Front<T> {
    next: ListLink<T>,
    /// So many were taken.
    popped: u64,
}

struct Back<T> {
    end: ListLink<T>,
    /// So many were put in.
    pushed: u64,
    /// So many were taken when somebody who pushes last looked. He looks only when it seems full.
    popped_seen: u64,
}

// Not derived: it would ask for `T: Clone`.
impl<T> Clone for Front<T> {
    fn clone(&self) -> Front<T> {
        Front { next: self.next.clone(), popped: self.popped }
    }
}

impl<T> Clone for Back<T> {
    fn clone(&self) -> Back<T> {
        Back { end: self.end.clone(), pushed: self.pushed, popped_seen: self.popped_seen }
    }
}

impl<T> Clone for TQueue<T> {
    fn clone(&self) -> TQueue<T> {
        TQueue(self.0.clone())
    }
}

impl<T: Clone + Send + Sync + 'static> TQueue<T> {
    /// An empty queue without a bound.
    #[track_caller]
    pub fn new() -> TQueue<T> {
        TQueue::with_bound(None, Location::caller())
    }

    /// An empty queue that holds `bound` values at most: with that many in it a [`push`](Self::push) waits.
    ///
    /// # Panics
    /// If `bound` is 0: nothing could ever go through.
    #[track_caller]
    pub fn bounded(bound: usize) -> TQueue<T> {
        assert!(bound > 0, "a queue with a bound of 0 could hold nothing; the bound must be at least 1");
        TQueue::with_bound(Some(bound), Location::caller())
    }

    fn with_bound(bound: Option<usize>, site: &'static Location<'static>) -> TQueue<T> {
        let end = ListLink::empty(site);
        let front = TVar::new_at(Front { next: end.clone(), popped: 0 }, site);
        let back = TVar::new_at(Back { end, pushed: 0, popped_seen: 0 }, site);
        TQueue(Arc::new(QueueEnds { front, back, bound, site }))
    }

    /// What it holds at most, if it is bounded.
    pub fn bound(&self) -> Option<usize> {
        self.0.bound
    }

    /// Puts `value` at the back. [Retries](Tx::retry) while a bounded queue is full.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn push(&self, tx: &mut Tx<'_>, value: T) -> Result<(), Stop> {
        match self.try_push(tx, value)? {
            Ok(()) => Ok(()),
            Err(_full) => tx.retry(),
        }
    }

    /// Puts `value` at the back, or gives it back if the queue is full.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn try_push(&self, tx: &mut Tx<'_>, value: T) -> Result<Result<(), T>, Stop> {
        let mut back = tx.read(&self.0.back)?;
        if let Some(bound) = self.0.bound
            && back.pushed - back.popped_seen >= bound as u64
        {
            back.popped_seen = tx.with(&self.0.front, |front| front.popped)?;
            if back.pushed - back.popped_seen >= bound as u64 {
                return Ok(Err(value));
            }
        }
        back.end = back.end.fill(tx, value, self.0.site)?;
        back.pushed += 1;
        tx.write(&self.0.back, back)?;
        Ok(Ok(()))
    }

    /// Takes the value at the front. [Retries](Tx::retry) while the queue is empty.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn pop(&self, tx: &mut Tx<'_>) -> Result<T, Stop> {
        match self.try_pop(tx)? {
            Some(value) => Ok(value),
            None => tx.retry(),
        }
    }

    /// Takes the value at the front, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn try_pop(&self, tx: &mut Tx<'_>) -> Result<Option<T>, Stop> {
        let front = tx.read(&self.0.front)?;
        let Some((value, next)) = front.next.look(tx)? else { return Ok(None) };
        tx.write(&self.0.front, Front { next, popped: front.popped + 1 })?;
        Ok(Some(value))
    }

    /// Takes all values, the oldest first. Takes time in proportion to their number.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn pop_all(&self, tx: &mut Tx<'_>) -> Result<Vec<T>, Stop> {
        let Front { mut next, mut popped } = tx.read(&self.0.front)?;
        let mut all = Vec::new();
        while let Some((value, after)) = next.look(tx)? {
            all.push(value);
            next = after;
        }
        if !all.is_empty() {
            popped += all.len() as u64;
            tx.write(&self.0.front, Front { next, popped })?;
        }
        Ok(all)
    }

    /// A clone of the value at the front, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn peek(&self, tx: &mut impl Snapshot) -> Result<Option<T>, Stop> {
        let next = tx.with(&self.0.front, |front| front.next.clone())?;
        Ok(next.look(tx)?.map(|(value, _)| value))
    }

    /// How many values are in it. Who asks conflicts with all who push or pop.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn len(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        let popped = tx.with(&self.0.front, |front| front.popped)?;
        let pushed = tx.with(&self.0.back, |back| back.pushed)?;
        Ok(usize::try_from(pushed - popped).expect("they are in memory"))
    }

    /// Whether nothing is in it. Who asks conflicts with all who pop.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn is_empty(&self, tx: &mut impl Snapshot) -> Result<bool, Stop> {
        Ok(self.peek(tx)?.is_none())
    }
}

impl<T: Clone + Send + Sync + 'static> Default for TQueue<T> {
    #[track_caller]
    fn default() -> TQueue<T> {
        TQueue::new()
    }
}

impl<T> fmt::Debug for TQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made_at = format_args!("{}", self.0.site);
        f.debug_struct("TQueue")
            .field("made_at", &made_at)
            .field("bound", &self.0.bound)
            .finish_non_exhaustive()
    }
}
