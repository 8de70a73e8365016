//! Owns: `TSet`, a hash set in transactions.
//! May use: `stop`, `tx`.
//! Never: a variable of its own.

use super::TMap;
use crate::stop::Stop;
use crate::tx::{Snapshot, Tx};
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

/// A set whose operations are parts of transactions: a [`TMap`] without values, and all that is said there holds.
///
/// ```
/// use raddle::stm::{TSet, atomically};
///
/// let (free, taken) = (TSet::new(), TSet::new());
/// atomically(|tx| free.insert(tx, 7));
/// let got = atomically(|tx| Ok(free.remove(tx, &7)? && taken.insert(tx, 7)?));
/// assert!(got);
/// assert_eq!(atomically(|tx| Ok((free.len(tx)?, taken.len(tx)?))), (0, 1));
/// ```
pub struct TSet<T, S = RandomState>(TMap<T, (), S>);

impl<T, S> Clone for TSet<T, S> {
    fn clone(&self) -> TSet<T, S> {
        TSet(self.0.clone())
    }
}

impl<T: Eq + Hash + Clone + Send + Sync + 'static> TSet<T> {
    /// An empty set.
    #[track_caller]
    pub fn new() -> TSet<T> {
        TSet(TMap::new())
    }
}

impl<T, S> TSet<T, S>
where
    T: Eq + Hash + Clone + Send + Sync + 'static,
    S: BuildHasher,
{
    /// An empty set, whose values are hashed by `hasher`.
    #[track_caller]
    pub fn with_hasher(hasher: S) -> TSet<T, S> {
        TSet(TMap::with_hasher(hasher))
    }

    /// Whether `value` is in the set.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn contains<Q>(&self, tx: &mut impl Snapshot, value: &Q) -> Result<bool, Stop>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.contains_key(tx, value)
    }

    /// Puts `value` into the set; says whether it was not there. One that is there stays.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn insert(&self, tx: &mut Tx<'_>, value: T) -> Result<bool, Stop> {
        if self.contains(tx, &value)? {
            return Ok(false);
        }
        self.0.insert(tx, value, ())?;
        Ok(true)
    }

    /// Takes `value` out of the set; says whether it was there.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn remove<Q>(&self, tx: &mut Tx<'_>, value: &Q) -> Result<bool, Stop>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Ok(self.0.remove(tx, value)?.is_some())
    }

    /// Takes out all values.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn clear(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        self.0.clear(tx)
    }

    /// How many values there are. Who asks conflicts with all who insert or remove one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn len(&self, tx: &mut impl Snapshot) -> Result<usize, Stop> {
        self.0.len(tx)
    }

    /// Whether there is no value. Who asks conflicts with all who insert or remove one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn is_empty(&self, tx: &mut impl Snapshot) -> Result<bool, Stop> {
        self.0.is_empty(tx)
    }

    /// Calls `f` with each value, in no particular order: as [`TMap::for_each`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn for_each(&self, tx: &mut impl Snapshot, mut f: impl FnMut(&T)) -> Result<(), Stop> {
        self.0.for_each(tx, |value, ()| f(value))
    }

    /// All values, in no particular order: as [`TMap::for_each`].
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn to_vec(&self, tx: &mut impl Snapshot) -> Result<Vec<T>, Stop> {
        let mut all = Vec::new();
        self.for_each(tx, |value| all.push(value.clone()))?;
        Ok(all)
    }
}

impl<T, S> Default for TSet<T, S>
where
    T: Eq + Hash + Clone + Send + Sync + 'static,
    S: BuildHasher + Default,
{
    #[track_caller]
    fn default() -> TSet<T, S> {
        TSet(TMap::default())
    }
}

impl<T, S> fmt::Debug for TSet<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TSet").field(&self.0).finish()
    }
}
