//! Owns: the storage of a polynomial's terms.
//! May use: nothing.
//! Never: sorts; `poly` does.
//!
//! PERF: up to two terms lie in the value itself. Nearly all subscripts have no more, and allocating them cost a
//! third of the time of a check.

use super::poly::Sym;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

type Term = (Sym, i64);

const FEW: usize = 2;

/// A list of terms.
#[derive(Clone)]
pub(crate) enum Terms {
    Few(u8, [Term; FEW]),
    Many(Vec<Term>),
}

impl Default for Terms {
    fn default() -> Self {
        Self::Few(0, [(Sym(0), 0); FEW])
    }
}

impl Terms {
    pub(crate) fn push(&mut self, term: Term) {
        match self {
            Self::Few(count, list) if (*count as usize) < FEW => {
                list[*count as usize] = term;
                *count += 1;
            }
            Self::Few(_, list) => {
                let mut many = Vec::with_capacity(FEW * 3);
                many.extend_from_slice(list);
                many.push(term);
                *self = Self::Many(many);
            }
            Self::Many(list) => list.push(term),
        }
    }
}

impl Deref for Terms {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        match self {
            Self::Few(count, list) => &list[..*count as usize],
            Self::Many(list) => list,
        }
    }
}

impl DerefMut for Terms {
    fn deref_mut(&mut self) -> &mut [Term] {
        match self {
            Self::Few(count, list) => &mut list[..*count as usize],
            Self::Many(list) => list,
        }
    }
}

impl FromIterator<Term> for Terms {
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Self {
        let mut list = Self::default();
        terms.into_iter().for_each(|term| list.push(term));
        list
    }
}

impl<'a> IntoIterator for &'a Terms {
    type Item = &'a Term;
    type IntoIter = std::slice::Iter<'a, Term>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Terms {}

impl PartialOrd for Terms {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Terms {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Terms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(out)
    }
}
