//! Owns: the types of operators, predefined and the program's own.
//! May use: `check`.
//! Never: computes; `constant` does.

use super::Checker;
use crate::ast::{Basic, Dyadic, ExprId, ExprKind, Monadic};
use crate::diag::Code;
use crate::program::{NameId, NameKind};
use crate::symbol::Symbol;
use crate::types::{Type, TypeId, Types};

/// How firmly an expression has its type; the firmer of two operands gives the other its type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Numbers without a type.
    Number,
    /// A byte literal, which is BYTE unless another type is wanted.
    Byte,
    /// Anything else.
    Typed,
}

impl Checker<'_> {
    pub(super) fn monadic(
        &mut self,
        expr: ExprId,
        operator: Monadic,
        value: ExprId,
        want: Option<TypeId>,
    ) -> TypeId {
        if operator == Monadic::Size {
            let of = self.expr_or_type(value);
            if of != Types::ERROR && self.program.types.as_array(of).is_none() {
                let message =
                    format!("SIZE counts the elements of an array; this is of type {}", self.show(of));
                self.complain(Code::NotAnArray, self.span(value), message);
            }
            return Types::INT;
        }
        if let (Monadic::Minus, ExprKind::Integer { hex: false, .. }) = (operator, &self.ast.expr(value).kind)
        {
            self.negated = Some(value);
        }
        let sign = match operator {
            Monadic::Minus => "\"-\"",
            Monadic::MinusWrapping => "\"MINUS\"",
            Monadic::Not => "\"NOT\"",
            _ => "\"~\"",
        };
        let ty = self.expr(value, if operator == Monadic::Not { Some(Types::BOOL) } else { want });
        if let Some(result) = self.user_operator(expr, sign, &[ty]) {
            return result;
        }
        let ty = self.program.types.immobile(ty);
        let types = &self.program.types;
        let fits = match operator {
            Monadic::Not => types.basic(ty) == Some(Basic::Bool),
            Monadic::Minus => types.is_integer(ty) || types.is_real(ty),
            _ => types.is_integer(ty),
        };
        if !fits && ty != Types::ERROR {
            let message = format!("{} does not apply to {}", sign.trim_matches('"'), self.show(ty));
            self.complain(Code::OperatorTypes, self.span(expr), message);
            return Types::ERROR;
        }
        ty
    }

    pub(super) fn dyadic(
        &mut self,
        expr: ExprId,
        operator: Dyadic,
        left: ExprId,
        right: ExprId,
        want: Option<TypeId>,
    ) -> TypeId {
        use Dyadic::*;
        let (left_type, right_type) = match operator {
            ShiftLeft | ShiftRight => (self.expr(left, want), self.expr(right, Some(Types::INT))),
            And | Or => (self.expr(left, Some(Types::BOOL)), self.expr(right, Some(Types::BOOL))),
            _ => {
                let want = if compares(operator) { None } else { want };
                self.operands(left, right, want)
            }
        };
        if let Some(result) = self.user_operator(expr, sign(operator), &[left_type, right_type]) {
            return result;
        }
        if left_type == Types::ERROR || right_type == Types::ERROR {
            return if compares(operator) { Types::BOOL } else { Types::ERROR };
        }
        let (a, b) = (self.program.types.immobile(left_type), self.program.types.immobile(right_type));
        let types = &self.program.types;
        let same = self.agree(a, b);
        let fits = match operator {
            ShiftLeft | ShiftRight => types.is_integer(a) && b == Types::INT,
            And | Or => types.basic(a) == Some(Basic::Bool) && same,
            Equal | NotEqual => types.basic(a).is_some() && same,
            Less | Greater | LessEqual | GreaterEqual | Add | Subtract | Multiply | Divide | Remainder => {
                (types.is_integer(a) || types.is_real(a)) && same
            }
            _ => types.is_integer(a) && same,
        };
        if !fits {
            let (a, b) = (self.show(a), self.show(b));
            let message = format!("{} does not apply to {a} and {b}", sign(operator).trim_matches('"'));
            self.complain(Code::OperatorTypes, self.span(expr), message);
        }
        match (compares(operator), fits) {
            (true, _) => Types::BOOL,
            (false, true) => a,
            (false, false) => Types::ERROR,
        }
    }

    /// The types of two operands, of which a typed one gives an untyped literal its type.
    pub(super) fn operands(&mut self, left: ExprId, right: ExprId, want: Option<TypeId>) -> (TypeId, TypeId) {
        let numeric = want.filter(|&want| self.program.types.basic(want).is_some());
        let (left_rank, right_rank) = (self.rank(left), self.rank(right));
        if left_rank < Rank::Typed && right_rank < Rank::Typed && numeric.is_some() {
            return (self.expr(left, numeric), self.expr(right, numeric));
        }
        if left_rank < right_rank {
            let right_type = self.expr(right, None);
            return (self.expr(left, Some(right_type)), right_type);
        }
        let left_type = self.expr(left, None);
        let want = (right_rank < Rank::Typed).then_some(left_type);
        (left_type, self.expr(right, want))
    }

    /// How firmly an expression has its type.
    fn rank(&self, expr: ExprId) -> Rank {
        match &self.ast.expr(expr).kind {
            ExprKind::Integer { suffix: None, .. }
            | ExprKind::Real { suffix: None, .. }
            | ExprKind::Table { suffix: None, .. } => Rank::Number,
            ExprKind::Byte { suffix: None, .. } => Rank::Byte,
            &ExprKind::Monadic(operator, value) if operator != Monadic::Size => self.rank(value),
            &ExprKind::Dyadic(Dyadic::ShiftLeft | Dyadic::ShiftRight, left, _) => self.rank(left),
            &ExprKind::Dyadic(operator, left, right) if !compares(operator) => {
                self.rank(left).max(self.rank(right))
            }
            _ => Rank::Typed,
        }
    }

    /// Whether an expression is made of literals that take their type from around them.
    pub(super) fn untyped(&self, expr: ExprId) -> bool {
        self.rank(expr) < Rank::Typed
    }

    /// The result of the program's own operator for operands of these types, if it defines one.
    pub(super) fn user_operator(&mut self, expr: ExprId, sign: &str, operands: &[TypeId]) -> Option<TypeId> {
        if self.operators.is_empty() {
            return None;
        }
        let symbol = self.program.symbols.find(sign)?;
        let found = self.operators.iter().rev().copied().find(|&id| self.operator_fits(id, symbol, operands));
        let id = found?;
        self.program.expr_names[expr.0 as usize] = id;
        let routine = self.program.routine_of(id)?;
        self.program.routines[routine.0 as usize].results.first().copied()
    }

    fn operator_fits(&self, id: NameId, symbol: Symbol, operands: &[TypeId]) -> bool {
        let name = self.program.name(id);
        let NameKind::Routine(routine) = name.kind else { return false };
        let formals = &self.program.routines[routine.0 as usize].formals;
        name.symbol == symbol
            && formals.len() == operands.len()
            && formals.iter().zip(operands).all(|(&formal, &operand)| {
                self.agree(self.program.name(formal).ty, self.program.types.immobile(operand))
            })
    }

    /// An operator that only programs define.
    pub(super) fn only_user(&mut self, expr: ExprId, symbol: Symbol, operands: &[ExprId]) -> TypeId {
        let types: Vec<TypeId> = operands.iter().map(|&operand| self.expr(operand, None)).collect();
        let sign = self.text(symbol);
        if let Some(result) = self.user_operator(expr, &sign, &types) {
            return result;
        }
        if !types.contains(&Types::ERROR) {
            let types: Vec<String> = types.iter().map(|&ty| self.show(ty)).collect();
            let message = format!("no FUNCTION {sign} takes {}", types.join(" and "));
            self.complain(Code::OperatorTypes, self.span(expr), message);
        }
        Types::ERROR
    }

    /// The type of an expression, or the type itself when the expression is the name of one.
    pub(super) fn expr_or_type(&mut self, expr: ExprId) -> TypeId {
        if let &ExprKind::Name(symbol) = &self.ast.expr(expr).kind
            && let Some(id) = self.find(symbol)
            && self.program.name(id).kind == NameKind::Type
        {
            let ty = self.program.name(id).ty;
            let usable = !matches!(self.program.types.get(ty), Type::Protocol(_));
            self.program.expr_types[expr.0 as usize] = if usable { ty } else { Types::ERROR };
            self.program.expr_names[expr.0 as usize] = id;
            return self.type_of(expr);
        }
        self.expr(expr, None)
    }
}

pub(super) fn compares(operator: Dyadic) -> bool {
    use Dyadic::*;
    matches!(operator, Equal | NotEqual | Less | Greater | LessEqual | GreaterEqual | After)
}

/// The operator as a name that a program may define: in quotes.
pub(crate) fn sign(operator: Dyadic) -> &'static str {
    use Dyadic::*;
    match operator {
        Add => "\"+\"",
        Subtract => "\"-\"",
        Multiply => "\"*\"",
        Divide => "\"/\"",
        Remainder => "\"\\\"",
        Plus => "\"PLUS\"",
        Minus => "\"MINUS\"",
        Times => "\"TIMES\"",
        BitAnd => "\"/\\\"",
        BitOr => "\"\\/\"",
        BitXor => "\"><\"",
        ShiftLeft => "\"<<\"",
        ShiftRight => "\">>\"",
        And => "\"AND\"",
        Or => "\"OR\"",
        Equal => "\"=\"",
        NotEqual => "\"<>\"",
        Less => "\"<\"",
        Greater => "\">\"",
        LessEqual => "\"<=\"",
        GreaterEqual => "\">=\"",
        After => "\"AFTER\"",
    }
}
