//! Owns: `TQueue`, a queue in transactions.
//! May use: `stop`, `tvar`, `tx`.
//! Never: a variable that both ends write each time.
//!
//! Values lie in chunks of some variables each. Who pushes fills the next one of the last chunk, and who pops empties
//! the next one of the first: neither looks at the other's count but for a queue that seems full. One chunk that has
//! been emptied is kept for the next that is needed, so that a queue in balance allocates nothing for plain numbers.
//!
//! PERF: a list with a variable for each value took 230 ns an operation, most of it for memory and what frees it later.

use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Values of a chunk.
const CHUNK: usize = 16;

/// A first-in, first-out queue of any number of ends, unbounded or bounded.
///
/// A handle, as a [`TVar`] is: a clone is another handle of the same queue. Each operation takes constant time. Who
/// pushes and who pops write different variables: their transactions conflict only if the queue is empty, or seems
/// full, and once in sixteen values.
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
    front: QueueEnd<T>,
    back: QueueEnd<T>,
    /// So many were taken when somebody who pushes last looked. He looks only when it seems full.
    popped_seen: TVar<u64>,
    /// A chunk that is empty.
    spare: TVar<Option<Arc<QueueChunk<T>>>>,
    /// What it holds at most.
    bound: Option<usize>,
    site: &'static Location<'static>,
}

/// One end: so many have passed it, and the next is in this chunk.
struct QueueEnd<T> {
    count: TVar<u64>,
    chunk: TVar<Arc<QueueChunk<T>>>,
}

struct QueueChunk<T> {
    slots: [TVar<Option<T>>; CHUNK],
    next: TVar<Option<Arc<QueueChunk<T>>>>,
}

impl<T: Clone + Send + Sync + 'static> QueueChunk<T> {
    fn new(site: &'static Location<'static>) -> Arc<QueueChunk<T>> {
        let slots = [(); CHUNK].map(|()| TVar::new_at(None, site));
        Arc::new(QueueChunk { slots, next: TVar::new_at(None, site) })
    }
}

impl<T: Clone + Send + Sync + 'static> QueueEnd<T> {
    fn new(chunk: &Arc<QueueChunk<T>>, site: &'static Location<'static>) -> QueueEnd<T> {
        QueueEnd { count: TVar::new_at(0, site), chunk: TVar::new_at(chunk.clone(), site) }
    }

    /// The variable that the next value goes to, or comes from.
    fn slot(&self, tx: &mut impl Snapshot, count: u64) -> Result<TVar<Option<T>>, Stop> {
        tx.with(&self.chunk, |chunk| chunk.slots[count as usize % CHUNK].clone())
    }
}

/// Whether the count has come to the end of a chunk.
fn ends_chunk(count: u64) -> bool {
    count.is_multiple_of(CHUNK as u64)
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
        let chunk = QueueChunk::new(site);
        let (front, back) = (QueueEnd::new(&chunk, site), QueueEnd::new(&chunk, site));
        let (popped_seen, spare) = (TVar::new_at(0, site), TVar::new_at(None, site));
        TQueue(Arc::new(QueueEnds { front, back, popped_seen, spare, bound, site }))
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
        let pushed = tx.read(&self.0.back.count)?;
        if self.is_full(tx, pushed)? {
            return Ok(Err(value));
        }
        let slot = self.0.back.slot(tx, pushed)?;
        tx.write(&slot, Some(value))?;
        tx.write(&self.0.back.count, pushed + 1)?;
        if ends_chunk(pushed + 1) {
            let next = match tx.replace(&self.0.spare, None)? {
                Some(spare) => spare,
                None => QueueChunk::new(self.0.site),
            };
            let link = tx.with(&self.0.back.chunk, |chunk| chunk.next.clone())?;
            tx.write(&link, Some(next.clone()))?;
            tx.write(&self.0.back.chunk, next)?;
        }
        Ok(Ok(()))
    }

    fn is_full(&self, tx: &mut Tx<'_>, pushed: u64) -> Result<bool, Stop> {
        let Some(bound) = self.0.bound else { return Ok(false) };
        if pushed - tx.read(&self.0.popped_seen)? < bound as u64 {
            return Ok(false);
        }
        let popped = tx.read(&self.0.front.count)?;
        tx.write(&self.0.popped_seen, popped)?;
        Ok(pushed - popped >= bound as u64)
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
        let popped = tx.read(&self.0.front.count)?;
        let slot = self.0.front.slot(tx, popped)?;
        let Some(value) = tx.read(&slot)? else { return Ok(None) };
        tx.write(&slot, None)?;
        tx.write(&self.0.front.count, popped + 1)?;
        if ends_chunk(popped + 1) {
            let empty = tx.read(&self.0.front.chunk)?;
            let next =
                tx.replace(&empty.next, None)?.expect("who filled the last of a chunk has linked the next");
            tx.write(&self.0.front.chunk, next)?;
            tx.write(&self.0.spare, Some(empty))?;
        }
        Ok(Some(value))
    }

    /// Takes all values, the oldest first. Takes time in proportion to their number.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn pop_all(&self, tx: &mut Tx<'_>) -> Result<Vec<T>, Stop> {
        let mut all = Vec::new();
        while let Some(value) = self.try_pop(tx)? {
            all.push(value);
        }
        Ok(all)
    }

    /// A clone of the value at the front, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn peek(&self, tx: &mut impl Snapshot) -> Result<Option<T>, Stop> {
        let popped = tx.read(&self.0.front.count)?;
        let slot = self.0.front.slot(tx, popped)?;
        tx.read(&slot)
    }

    /// How many values are in it. Who asks conflicts with all who push or pop.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn len(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        let (popped, pushed) = (tx.read(&self.0.front.count)?, tx.read(&self.0.back.count)?);
        Ok(usize::try_from(pushed - popped).expect("they are in memory"))
    }

    /// Whether nothing is in it. Who asks conflicts with all who push or pop.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn is_empty(&self, tx: &mut impl Snapshot) -> Result<bool, Stop> {
        Ok(self.len(tx)? == 0)
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
