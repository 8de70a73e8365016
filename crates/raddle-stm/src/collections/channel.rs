//! Owns: `TChannel`, each of whose receivers gets each value.
//! May use: `stop`, `tvar`, `tx`.
//! Never: keeping what all receivers have had.

use super::list::ListLink;
use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A channel by which each of its [receivers](TReceiver) gets each value that is sent after it has subscribed.
///
/// A handle, as a [`TVar`] is: a clone is another handle of the same channel. It has no bound: a value is kept until
/// the last receiver that lags behind has had it, or is dropped; without a receiver it is dropped at once. For values
/// that one of several takes, use a [`TQueue`](super::TQueue).
///
/// ```
/// use raddle::stm::{TChannel, atomically};
///
/// let news = TChannel::new();
/// let (ada, grace) = atomically(|tx| Ok((news.subscribe(tx)?, news.subscribe(tx)?)));
/// atomically(|tx| news.send(tx, "it compiles"));
/// for reader in [ada, grace] {
///     assert_eq!(atomically(|tx| reader.recv(tx)), "it compiles");
/// }
/// ```
pub struct TChannel<T>(Arc<Sending<T>>);

struct Sending<T> {
    end: TVar<ListLink<T>>,
    site: &'static Location<'static>,
}

/// A place in a [`TChannel`]: gets each value that is sent from then on.
///
/// A clone is another handle of the same place: of several clones one gets a value. Another place, from which the same
/// values can be had once more, gives [`fork`](Self::fork).
pub struct TReceiver<T> {
    next: TVar<ListLink<T>>,
}

impl<T> Clone for TChannel<T> {
    fn clone(&self) -> TChannel<T> {
        TChannel(self.0.clone())
    }
}

impl<T> Clone for TReceiver<T> {
    fn clone(&self) -> TReceiver<T> {
        TReceiver { next: self.next.clone() }
    }
}

impl<T: Clone + Send + Sync + 'static> TChannel<T> {
    /// A channel without receivers.
    #[track_caller]
    pub fn new() -> TChannel<T> {
        let site = Location::caller();
        TChannel(Arc::new(Sending { end: TVar::new_at(ListLink::empty(site), site), site }))
    }

    /// Sends `value` to all who have subscribed. Never waits.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn send(&self, tx: &mut Tx<'_>, value: T) -> Result<(), Stop> {
        let end = tx.read(&self.0.end)?;
        let end = end.fill(tx, value, self.0.site)?;
        tx.write(&self.0.end, end)
    }

    /// A receiver of what is sent from now on.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[track_caller]
    pub fn subscribe(&self, tx: &mut impl Snapshot) -> Result<TReceiver<T>, Stop> {
        let site = Location::caller();
        Ok(TReceiver { next: TVar::new_at(tx.read(&self.0.end)?, site) })
    }
}

impl<T: Clone + Send + Sync + 'static> TReceiver<T> {
    /// The next value. [Retries](Tx::retry) while there is none.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn recv(&self, tx: &mut Tx<'_>) -> Result<T, Stop> {
        match self.try_recv(tx)? {
            Some(value) => Ok(value),
            None => tx.retry(),
        }
    }

    /// The next value, if there is one.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn try_recv(&self, tx: &mut Tx<'_>) -> Result<Option<T>, Stop> {
        let next = tx.read(&self.next)?;
        let Some((value, next)) = next.look(tx)? else { return Ok(None) };
        tx.write(&self.next, next)?;
        Ok(Some(value))
    }

    /// A clone of the next value, if there is one; it stays the next.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    pub fn peek(&self, tx: &mut impl Snapshot) -> Result<Option<T>, Stop> {
        let next = tx.read(&self.next)?;
        Ok(next.look(tx)?.map(|(value, _)| value))
    }

    /// A receiver of its own, which gets what this one has not had yet.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[track_caller]
    pub fn fork(&self, tx: &mut impl Snapshot) -> Result<TReceiver<T>, Stop> {
        let site = Location::caller();
        Ok(TReceiver { next: TVar::new_at(tx.read(&self.next)?, site) })
    }
}

impl<T: Clone + Send + Sync + 'static> Default for TChannel<T> {
    #[track_caller]
    fn default() -> TChannel<T> {
        TChannel::new()
    }
}

impl<T> fmt::Debug for TChannel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TChannel").field("made_at", &format_args!("{}", self.0.site)).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TReceiver").finish_non_exhaustive()
    }
}
