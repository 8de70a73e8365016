//! Owns: values that come from others, but not as sums.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: known to the solver, which is linear; `witness` and `tried` compute them.

use super::poly::Poly;
use crate::ast::{Basic, Dyadic};
use crate::program::NameId;

/// How a value comes from others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Computed {
    /// By an operator on values of a type.
    Operator(Dyadic, Poly, Poly, Basic),
    /// As an element of a constant table, chosen by these subscripts.
    Element(NameId, Vec<Poly>),
}

/// A table that is known as the program is compiled.
#[derive(Debug)]
pub(crate) struct Constants {
    /// Elements of each dimension.
    pub(crate) sizes: Vec<usize>,
    pub(crate) values: Vec<i64>,
}

impl Computed {
    pub(crate) fn polys(&self, each: &mut impl FnMut(&Poly)) {
        match self {
            Self::Operator(_, left, right, _) => [left, right].into_iter().for_each(each),
            Self::Element(_, subscripts) => subscripts.iter().for_each(each),
        }
    }

    pub(crate) fn map(&self, with: &mut impl FnMut(&Poly) -> Poly) -> Self {
        match self {
            Self::Operator(operator, left, right, basic) => {
                Self::Operator(*operator, with(left), with(right), *basic)
            }
            Self::Element(name, subscripts) => Self::Element(*name, subscripts.iter().map(with).collect()),
        }
    }
}
