//! Owns: a list of variables that grows at its end: each link is empty until the next value comes.
//! May use: `stop`, `tvar`, `tx`.
//! Never: knowing who reads it, or how many do.
//!
//! Who appends and who takes touch different links unless the list is empty. From Haskell's `TChan` (Harris, Marlow,
//! Peyton Jones, Herlihy: Composable Memory Transactions, 2005, section 4.2).

use crate::stop::Stop;
use crate::tvar::TVar;
use crate::tx::{Snapshot, Tx};
use std::panic::Location;

/// A place in the list: nothing is there yet, or a value and the next place.
pub(super) struct ListLink<T>(TVar<Option<Filled<T>>>);

struct Filled<T> {
    value: T,
    next: ListLink<T>,
}

impl<T> Clone for ListLink<T> {
    fn clone(&self) -> ListLink<T> {
        ListLink(self.0.clone())
    }
}

impl<T: Clone + Send + Sync + 'static> ListLink<T> {
    /// A place where nothing is yet. Reports of hangs say that it was made at `site`.
    pub(super) fn empty(site: &'static Location<'static>) -> ListLink<T> {
        ListLink(TVar::new_at(None, site))
    }

    /// Puts `value` here, where nothing is yet, and returns the place after it.
    pub(super) fn fill(
        &self,
        tx: &mut Tx<'_>,
        value: T,
        site: &'static Location<'static>,
    ) -> Result<ListLink<T>, Stop> {
        let next = ListLink::empty(site);
        tx.write(&self.0, Some(Filled { value, next: next.clone() }))?;
        Ok(next)
    }

    /// What is here, and the place after it.
    pub(super) fn look(&self, tx: &mut impl Snapshot) -> Result<Option<(T, ListLink<T>)>, Stop> {
        tx.with(&self.0, |here| here.as_ref().map(|filled| (filled.value.clone(), filled.next.clone())))
    }
}
