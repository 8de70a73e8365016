//! Owns: the one table of operators.
//! May use: `lex::token`, `raddle-bytecode`.
//! Never: an algorithm.
//!
//! A row between two operands is `Name [tokens] chain, operands -> result, fold, lowering, algebra;`. `chain` is
//! `CHAINED` if `a op b op c` needs no brackets, `decided_by(x)` if moreover a left operand of `x` decides, else
//! `SINGLE`. One before an operand is `Name [tokens] operands, fold, lowering;`.

use super::fold::{after, in_range, quotient, remainder, shifted_left, shifted_right, truth, wrap};
use super::{
    Algebra, DyadicRow, Gives, Immediate, Lowering, MonadicLowering, MonadicRow, Narrow, Operands, Relation,
    RelationKind,
};
use crate::lex::TokenKind;
use raddle_bytecode::Op;

macro_rules! dyadic {
    ($(
        $name:ident [$($token:ident)+] $chain:expr, $operands:ident -> $gives:ident, $fold:expr,
        $lowering:expr, $algebra:ident;
    )*) => {
        /// Operators between two operands.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "each is the operator of that name")]
        pub enum Dyadic {
            $($name,)*
        }

        impl Dyadic {
            /// Every one of them.
            pub const ALL: &'static [Dyadic] = &[$(Dyadic::$name,)*];

            /// All about it.
            pub const fn row(self) -> &'static DyadicRow {
                match self {
                    $(Dyadic::$name => {
                        const ROW: DyadicRow = DyadicRow {
                            written: &[$(TokenKind::$token,)+],
                            associative: $chain.0,
                            decided_by: $chain.1,
                            operands: Operands::$operands,
                            gives: Gives::$gives,
                            fold: $fold,
                            lowering: $lowering,
                            algebra: Algebra::$algebra,
                        };
                        &ROW
                    })*
                }
            }
        }
    };
}

dyadic! {
    Add [Plus] SINGLE, Numbers -> Same, |a, b, ty| in_range(a + b, ty),
        code(Op::Add, Op::AddL).reals(Op::AddF, Op::AddD).narrow(Narrow::Check).either(Op::AddI), Sum;
    Subtract [Minus] SINGLE, Numbers -> Same, |a, b, ty| in_range(a - b, ty),
        code(Op::Sub, Op::SubL).reals(Op::SubF, Op::SubD).narrow(Narrow::Check).negated(Op::AddI), Difference;
    Multiply [Star] SINGLE, Numbers -> Same, |a, b, ty| in_range(a.checked_mul(b)?, ty),
        code(Op::Mul, Op::MulL).reals(Op::MulF, Op::MulD).narrow(Narrow::Check).either(Op::MulI), Product;
    Divide [Slash] SINGLE, Numbers -> Same, quotient,
        code(Op::Div, Op::DivL).reals(Op::DivF, Op::DivD).narrow(Narrow::Check), Quotient;
    Remainder [Backslash Rem] SINGLE, Numbers -> Same, remainder,
        code(Op::Rem, Op::RemL).reals(Op::RemF, Op::RemD), Remainder;
    Plus [PlusWord] CHAINED, Integers -> Same, |a, b, ty| Some(wrap(a + b, ty)),
        code(Op::Plus, Op::PlusL).narrow(Narrow::Wrap).either(Op::PlusI), Opaque;
    Minus [MinusWord] SINGLE, Integers -> Same, |a, b, ty| Some(wrap(a - b, ty)),
        code(Op::Minus, Op::MinusL).narrow(Narrow::Wrap).negated(Op::PlusI), Opaque;
    Times [Times] CHAINED, Integers -> Same, |a, b, ty| Some(wrap(a.wrapping_mul(b), ty)),
        code(Op::Times, Op::TimesL).narrow(Narrow::Wrap), Opaque;
    BitAnd [BitAndSign BitAnd] CHAINED, Integers -> Same, |a, b, _| Some((a & b) as i64),
        code(Op::And, Op::AndL).either(Op::AndI), Opaque;
    BitOr [BitOrSign BitOr] CHAINED, Integers -> Same, |a, b, _| Some((a | b) as i64),
        code(Op::Or, Op::OrL), Opaque;
    BitXor [BitXor] CHAINED, Integers -> Same, |a, b, _| Some((a ^ b) as i64),
        code(Op::Xor, Op::XorL), Opaque;
    ShiftLeft [ShiftLeft] SINGLE, Shift -> Same, shifted_left,
        code(Op::Shl, Op::ShlL).narrow(Narrow::ShiftLeft), Opaque;
    ShiftRight [ShiftRight] SINGLE, Shift -> Same, shifted_right,
        code(Op::Shr, Op::ShrL).narrow(Narrow::ShiftRight), Opaque;
    And [And] decided_by(false), Truths -> Same, |a, b, _| Some((a & b) as i64),
        code(Op::And, Op::AndL), None;
    Or [Or] decided_by(true), Truths -> Same, |a, b, _| Some((a | b) as i64),
        code(Op::Or, Op::OrL), None;
    Equal [Equal] SINGLE, Values -> Truth, |a, b, _| truth(a == b),
        code(Op::Eq, Op::EqL).reals(Op::EqF, Op::EqD)
            .relation(RelationKind::Equal, Dyadic::NotEqual, Op::Jeq, (Op::JeqI, 0), Some(Op::Jz)), None;
    NotEqual [NotEqual] SINGLE, Values -> Truth, |a, b, _| truth(a != b),
        code(Op::Ne, Op::NeL).reals(Op::NeF, Op::NeD)
            .relation(RelationKind::NotEqual, Dyadic::Equal, Op::Jne, (Op::JneI, 0), Some(Op::Jnz)), None;
    Less [Less] SINGLE, Numbers -> Truth, |a, b, _| truth(a < b),
        code(Op::Lt, Op::LtL).reals(Op::LtF, Op::LtD)
            .relation(RelationKind::Less, Dyadic::GreaterEqual, Op::Jlt, (Op::JltI, 0), None), None;
    Greater [Greater] SINGLE, Numbers -> Truth, |a, b, _| truth(a > b),
        code(Op::Lt, Op::LtL).reals(Op::LtF, Op::LtD).swapped()
            .relation(RelationKind::Less, Dyadic::LessEqual, Op::Jlt, (Op::JgeI, 1), None), None;
    LessEqual [LessEqual] SINGLE, Numbers -> Truth, |a, b, _| truth(a <= b),
        code(Op::Le, Op::LeL).reals(Op::LeF, Op::LeD)
            .relation(RelationKind::AtMost, Dyadic::Greater, Op::Jle, (Op::JltI, 1), None), None;
    GreaterEqual [GreaterEqual] SINGLE, Numbers -> Truth, |a, b, _| truth(a >= b),
        code(Op::Le, Op::LeL).reals(Op::LeF, Op::LeD).swapped()
            .relation(RelationKind::AtMost, Dyadic::Less, Op::Jle, (Op::JgeI, 0), None), None;
    After [After] SINGLE, Integers -> Truth, after,
        code(Op::After, Op::AfterL).narrow(Narrow::After), None;
}

macro_rules! monadic {
    ($($name:ident [$($token:ident)+] $operands:ident, $fold:expr, $lowering:expr;)*) => {
        /// Operators with one operand.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "each is the operator of that name")]
        pub enum Monadic {
            $($name,)*
        }

        impl Monadic {
            /// Every one of them.
            pub const ALL: &'static [Monadic] = &[$(Monadic::$name,)*];

            /// All about it.
            pub const fn row(self) -> &'static MonadicRow {
                match self {
                    $(Monadic::$name => {
                        const ROW: MonadicRow = MonadicRow {
                            written: &[$(TokenKind::$token,)+],
                            operands: Operands::$operands,
                            fold: $fold,
                            lowering: $lowering,
                        };
                        &ROW
                    })*
                }
            }
        }
    };
}

monadic! {
    Minus [Minus] Numbers, |a, ty| in_range(-a, ty),
        direct(Op::Neg, Some(Op::NegL), Some((Op::NegF, Op::NegD)), Narrow::Check);
    MinusWrapping [MinusWord] Integers, |a, ty| Some(wrap(-a, ty)),
        MonadicLowering::FromZero(Dyadic::Minus);
    Not [Not] Truths, |a, _| truth(a == 0),
        direct(Op::NotBool, None, None, Narrow::Keep);
    BitNot [BitNotSign BitNot] Integers, |a, ty| Some(wrap(!a, ty)),
        direct(Op::Not, Some(Op::NotL), None, Narrow::Wrap);
    Size [Size] Array, |_, _| None,
        MonadicLowering::Elsewhere;
}

const SINGLE: (bool, Option<bool>) = (false, None);
const CHAINED: (bool, Option<bool>) = (true, None);

const fn decided_by(left: bool) -> (bool, Option<bool>) {
    (true, Some(left))
}

const fn code(word: Op, long: Op) -> Lowering {
    let narrow = Narrow::Keep;
    Lowering { word, long, reals: None, narrow, swapped: false, immediate: None, relation: None }
}

impl Lowering {
    const fn reals(self, single: Op, double: Op) -> Lowering {
        Lowering { reals: Some((single, double)), ..self }
    }

    const fn narrow(self, narrow: Narrow) -> Lowering {
        Lowering { narrow, ..self }
    }

    const fn either(self, op: Op) -> Lowering {
        Lowering { immediate: Some(Immediate { op, negated: false }), ..self }
    }

    const fn negated(self, op: Op) -> Lowering {
        Lowering { immediate: Some(Immediate { op, negated: true }), ..self }
    }

    const fn swapped(self) -> Lowering {
        Lowering { swapped: true, ..self }
    }

    const fn relation(
        self,
        order: RelationKind,
        negation: Dyadic,
        jump: Op,
        (jump_constant, constant_plus): (Op, i32),
        jump_zero: Option<Op>,
    ) -> Lowering {
        let relation = Relation { order, negation, jump, jump_constant, constant_plus, jump_zero };
        Lowering { relation: Some(relation), ..self }
    }
}

const fn direct(word: Op, long: Option<Op>, reals: Option<(Op, Op)>, narrow: Narrow) -> MonadicLowering {
    MonadicLowering::Direct { word, long, reals, narrow }
}
