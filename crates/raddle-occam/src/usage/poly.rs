//! Owns: sums of symbols with whole-number factors, and facts about them.
//! May use: nothing.
//! Never: overflows; an operation that would returns `None`, and its caller forgets the value.
//!
//! A symbol stands for a value that is the same wherever the symbol occurs: a parameter, the number of a loop's
//! round, what an input brought. A product of symbols is a symbol of its own (`table` knows its factors), so
//! everything that the solver sees is linear.

use super::terms::Terms;

/// A value that is not known, but the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Sym(pub(crate) u32);

/// A constant plus symbols with factors; sorted by symbol, no factor is 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Poly {
    pub(crate) constant: i64,
    pub(crate) terms: Terms,
}

/// What is known to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    /// The value is 0 or more.
    NotNegative(Poly),
    /// The value is 0.
    Zero(Poly),
    /// The value is not 0.
    NotZero(Poly),
    /// In at least one of these lists every fact holds; no list at all means that the place is never reached.
    OneOf(Vec<Vec<Fact>>),
}

impl Poly {
    pub(crate) fn constant(constant: i64) -> Self {
        Self { constant, terms: Terms::default() }
    }

    pub(crate) fn symbol(symbol: Sym) -> Self {
        Self { constant: 0, terms: Terms::from_iter([(symbol, 1)]) }
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `self + other * factor`.
    pub(crate) fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        if other.terms.is_empty() || factor == 0 {
            return Some(Self { constant, terms: self.terms.clone() });
        }
        let mut terms = Terms::default();
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (symbol, sum) = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(&&(one, count)), Some(&&(two, times))) if one == two => {
                    left.next();
                    right.next();
                    (one, count.checked_add(times.checked_mul(factor)?)?)
                }
                (Some(&&(one, count)), other) if other.is_none_or(|other| one < other.0) => {
                    left.next();
                    (one, count)
                }
                (_, Some(&&(two, times))) => {
                    right.next();
                    (two, times.checked_mul(factor)?)
                }
                (Some(_), None) => break,
            };
            if sum != 0 {
                terms.push((symbol, sum));
            }
        }
        Some(Self { constant, terms })
    }

    pub(crate) fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(other, -1)
    }

    pub(crate) fn scale(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }

    pub(crate) fn add(&self, constant: i64) -> Option<Self> {
        Some(Self { constant: self.constant.checked_add(constant)?, terms: self.terms.clone() })
    }

    pub(crate) fn factor(&self, symbol: Sym) -> i64 {
        self.terms.binary_search_by_key(&symbol, |term| term.0).map_or(0, |at| self.terms[at].1)
    }

    /// The value under an assignment of the symbols.
    pub(crate) fn value(&self, of: impl Fn(Sym) -> Option<i64>) -> Option<i64> {
        self.terms.iter().try_fold(self.constant, |sum, &(symbol, factor)| {
            sum.checked_add(of(symbol)?.checked_mul(factor)?)
        })
    }
}

impl Fact {
    /// `left <= right`.
    pub(crate) fn at_most(left: &Poly, right: &Poly) -> Option<Self> {
        Some(Self::NotNegative(right.minus(left)?))
    }

    /// `left < right`.
    pub(crate) fn less(left: &Poly, right: &Poly) -> Option<Self> {
        Some(Self::NotNegative(right.minus(left)?.add(-1)?))
    }

    /// Every polynomial of the fact.
    pub(crate) fn polys(&self, each: &mut impl FnMut(&Poly)) {
        match self {
            Self::NotNegative(poly) | Self::Zero(poly) | Self::NotZero(poly) => each(poly),
            Self::OneOf(lists) => lists.iter().flatten().for_each(|fact| fact.polys(each)),
        }
    }

    /// The fact with every polynomial replaced; `None` if one cannot be.
    pub(crate) fn map(&self, with: &mut impl FnMut(&Poly) -> Option<Poly>) -> Option<Self> {
        Some(match self {
            Self::NotNegative(poly) => Self::NotNegative(with(poly)?),
            Self::Zero(poly) => Self::Zero(with(poly)?),
            Self::NotZero(poly) => Self::NotZero(with(poly)?),
            Self::OneOf(lists) => {
                let mut mapped = Vec::with_capacity(lists.len());
                for list in lists {
                    mapped.push(list.iter().map(|fact| fact.map(with)).collect::<Option<Vec<_>>>()?);
                }
                Self::OneOf(mapped)
            }
        })
    }

    /// Whether the fact holds under an assignment.
    pub(crate) fn holds(&self, of: &impl Fn(Sym) -> Option<i64>) -> Option<bool> {
        Some(match self {
            Self::NotNegative(poly) => poly.value(of)? >= 0,
            Self::Zero(poly) => poly.value(of)? == 0,
            Self::NotZero(poly) => poly.value(of)? != 0,
            Self::OneOf(lists) => {
                let mut any = false;
                for list in lists {
                    let mut all = true;
                    for fact in list {
                        all &= fact.holds(of)?;
                    }
                    any |= all;
                }
                any
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_sorted_and_drop_zeros() {
        let (a, b) = (Poly::symbol(Sym(1)), Poly::symbol(Sym(2)));
        let sum = b.plus(&a, 3).and_then(|sum| sum.add(7));
        assert_eq!(sum, Some(Poly { constant: 7, terms: Terms::from_iter([(Sym(1), 3), (Sym(2), 1)]) }));
        let back = sum.and_then(|sum| sum.minus(&b));
        assert_eq!(back, Some(Poly { constant: 7, terms: Terms::from_iter([(Sym(1), 3)]) }));
        assert_eq!(Poly::constant(i64::MAX).add(1), None);
        assert_eq!(a.minus(&a), Some(Poly::default()));
    }
}
