//! Owns: occam's operators: what each is written as, takes, gives, folds to and becomes in bytecode.
//! May use: `lex::token`, `raddle-bytecode`.
//! Never: a fact about an operator that stands anywhere else too.
//!
//! The facts stand in one table, a row for each operator. The scanner's continuation of lines, the parser, the
//! checker, the folding of constants, the search for races, the lowering and the messages derive from the row: they
//! match on its columns, not on operators.

mod basic;
mod fold;
mod table;

pub use fold::{in_range, literal, range, widen, wrap};
pub use table::{Dyadic, Monadic};

use crate::lex::TokenKind;
pub use basic::Basic;
use raddle_bytecode::Op;

/// What an operator takes. Two operands are of the same type, except for a shift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operands {
    /// Values of any predefined type.
    Values,
    /// Whole or real numbers.
    Numbers,
    /// Whole numbers.
    Integers,
    /// A whole number, and an INT that says how far.
    Shift,
    /// BOOL.
    Truths,
    /// An array.
    Array,
}

/// What the type of the result is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// That of the (left) operand.
    Same,
    /// BOOL.
    Truth,
}

/// How a value of a type narrower than a slot stays in its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Narrow {
    /// It cannot leave it.
    Keep,
    /// The program stops.
    Check,
    /// It wraps.
    Wrap,
    /// It wraps, and the distance is at most the type's bits.
    ShiftLeft,
    /// The same; no bits come from beyond the type.
    ShiftRight,
    /// By the sign of the wrapped difference.
    After,
}

/// An instruction that has one operand as a constant.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct Immediate {
    pub op: Op,
    /// The constant is the right operand, negated; else it may be either operand.
    pub negated: bool,
}

/// How a comparison orders its operands, once they are swapped if the row says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum RelationKind {
    Equal,
    NotEqual,
    Less,
    AtMost,
}

/// A comparison as a condition.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct Relation {
    pub order: RelationKind,
    /// The comparison that holds where this one does not.
    pub negation: Dyadic,
    /// Jumps if it holds.
    pub jump: Op,
    /// Jumps if it holds; the right operand is a constant, of which `constant_plus` is added.
    pub jump_constant: Op,
    pub constant_plus: i32,
    /// Jumps if it holds for a right operand of 0.
    pub jump_zero: Option<Op>,
}

/// What the search for races makes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum Algebra {
    Sum,
    Difference,
    Product,
    Quotient,
    Remainder,
    /// A value of which it knows only that equal operands give equal ones.
    Opaque,
    /// No number.
    None,
}

/// The bytecode of an operator: `to := left operator right`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub struct Lowering {
    pub word: Op,
    pub long: Op,
    /// For REAL32 and REAL64.
    pub reals: Option<(Op, Op)>,
    pub narrow: Narrow,
    /// The instruction has the right operand first.
    pub swapped: bool,
    pub immediate: Option<Immediate>,
    pub relation: Option<Relation>,
}

/// All about an operator between two operands.
#[allow(missing_docs, reason = "each is what its name says")]
pub struct DyadicRow {
    /// What it is written as; messages and definitions by the program name the first.
    pub written: &'static [TokenKind],
    /// A chain of it needs no brackets.
    pub associative: bool,
    /// The left operand that decides the result, so that the right one is not looked at.
    pub decided_by: Option<bool>,
    pub operands: Operands,
    pub gives: Gives,
    pub fold: fn(i128, i128, Basic) -> Option<i64>,
    pub lowering: Lowering,
    pub algebra: Algebra,
}

/// All about an operator before one operand.
#[allow(missing_docs, reason = "each is what its name says")]
pub struct MonadicRow {
    /// What it is written as; messages and definitions by the program name the first.
    pub written: &'static [TokenKind],
    pub operands: Operands,
    pub fold: fn(i128, Basic) -> Option<i64>,
    pub lowering: MonadicLowering,
}

/// The bytecode of an operator before one operand.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum MonadicLowering {
    /// `to := operator value`.
    Direct { word: Op, long: Option<Op>, reals: Option<(Op, Op)>, narrow: Narrow },
    /// `to := 0 operator value`.
    FromZero(Dyadic),
    /// It is no computation on a value.
    Elsewhere,
}

const KINDS: usize = 256;

impl Dyadic {
    /// The result for two INTs; none if the program would stop.
    pub fn of_ints(self, left: i64, right: i64) -> Option<i64> {
        (self.row().fold)(left.into(), right.into(), Basic::Int)
    }

    /// The operator that a token between two operands is.
    pub fn of(kind: TokenKind) -> Option<Dyadic> {
        const OF: [Option<Dyadic>; KINDS] = {
            let (mut of, mut at) = ([None; KINDS], 0);
            while at < Dyadic::ALL.len() {
                let written = Dyadic::ALL[at].row().written;
                let mut way = 0;
                while way < written.len() {
                    of[written[way] as usize] = Some(Dyadic::ALL[at]);
                    way += 1;
                }
                at += 1;
            }
            of
        };
        OF[kind as usize]
    }

    /// How it is written.
    pub fn spelling(self) -> &'static str {
        self.row().written[0].spelling()
    }

    /// What it makes of two values of a type; `None` where it would stop the program.
    pub fn fold(self, left: i64, right: i64, basic: Basic) -> Option<i64> {
        (self.row().fold)(widen(left, basic), widen(right, basic), basic)
    }

    /// Whether it compares, so that its result is no value of its operands' type.
    pub fn compares(self) -> bool {
        self.row().gives == Gives::Truth
    }
}

impl Monadic {
    /// The result for an INT; none if the program would stop.
    pub fn of_int(self, value: i64) -> Option<i64> {
        (self.row().fold)(value.into(), Basic::Int)
    }

    /// The operator that a token before an operand is.
    pub fn of(kind: TokenKind) -> Option<Monadic> {
        Monadic::ALL.iter().copied().find(|operator| operator.row().written.contains(&kind))
    }

    /// How it is written.
    pub fn spelling(self) -> &'static str {
        self.row().written[0].spelling()
    }

    /// What it makes of a value of a type; `None` where it would stop the program, or is no computation.
    pub fn fold(self, value: i128, basic: Basic) -> Option<i64> {
        (self.row().fold)(value, basic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_one_operator_between_and_one_before() {
        for &operator in Dyadic::ALL {
            for &kind in operator.row().written {
                assert_eq!(Dyadic::of(kind), Some(operator), "{}", kind.text());
            }
        }
        for &operator in Monadic::ALL {
            for &kind in operator.row().written {
                assert_eq!(Monadic::of(kind), Some(operator), "{}", kind.text());
            }
        }
        assert_eq!((Dyadic::of(TokenKind::Comma), Monadic::of(TokenKind::Star)), (None, None));
    }

    #[test]
    fn a_negation_holds_where_its_comparison_does_not() {
        for &operator in Dyadic::ALL {
            let Some(relation) = operator.row().lowering.relation else { continue };
            for (left, right) in [(1, 2), (2, 1), (1, 1)] {
                let holds = |operator: Dyadic| operator.fold(left, right, Basic::Int);
                assert_ne!(
                    holds(operator),
                    holds(relation.negation),
                    "{} {left} {right}",
                    operator.spelling()
                );
            }
        }
    }

    #[test]
    fn the_explanation_of_chains_names_the_associative_operators() {
        let entry = crate::diag::CODES.iter().find(|entry| entry.code == crate::diag::Code::NeedsBrackets);
        let text = entry.expect("it is explained").explanation;
        let list = text.split("same one of ").nth(1).expect("it lists them");
        let mut listed: Vec<&str> = list.split(' ').take_while(|word| *word != "may").collect();
        let associative = Dyadic::ALL.iter().filter(|operator| operator.row().associative);
        let mut wanted: Vec<&str> = associative.map(|operator| operator.spelling()).collect();
        listed.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(listed, wanted);
    }
}
