//! Owns: the types of operators, predefined and the program's own.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: computes; `constant` does.

use super::Checker;
use crate::ast::{Basic, Dyadic, ExprId, ExprKind, Monadic};
use crate::diag::{Code, Diagnostic};
use crate::operator::{Gives, Operands};
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
        let row = operator.row();
        if row.operands == Operands::Array {
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
        let ty = self.expr(value, if row.operands == Operands::Truths { Some(Types::BOOL) } else { want });
        if let Some(result) = self.redefined(expr, operator.spelling(), &[ty]) {
            return result;
        }
        let ty = self.program.types.immobile(ty);
        if operator == Monadic::Minus && self.program.types.basic(ty).is_some_and(Basic::is_unsigned) {
            let message = format!("- does not apply to {}, which has no negative values", self.show(ty));
            let complaint = Diagnostic::new(Code::OperatorTypes, self.span(expr), message);
            self.diagnostics.push(complaint.help("MINUS wraps around"));
            return Types::ERROR;
        }
        if !self.takes(row.operands, ty) && ty != Types::ERROR {
            let message = format!("{} does not apply to {}", operator.spelling(), self.show(ty));
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
        let row = operator.row();
        let (left_type, right_type) = match row.operands {
            Operands::Shift => (self.expr(left, want), self.expr(right, Some(Types::INT))),
            Operands::Truths => (self.expr(left, Some(Types::BOOL)), self.expr(right, Some(Types::BOOL))),
            _ => self.operands(left, right, if operator.compares() { None } else { want }),
        };
        if let Some(result) = self.redefined(expr, operator.spelling(), &[left_type, right_type]) {
            return result;
        }
        if left_type == Types::ERROR || right_type == Types::ERROR {
            return if operator.compares() { Types::BOOL } else { Types::ERROR };
        }
        let (a, b) = (self.program.types.immobile(left_type), self.program.types.immobile(right_type));
        let second = if row.operands == Operands::Shift { b == Types::INT } else { self.agree(a, b) };
        let fits = self.takes(row.operands, a) && second;
        if !fits {
            let (a, b) = (self.show(a), self.show(b));
            let message = format!("{} does not apply to {a} and {b}", operator.spelling());
            self.complain(Code::OperatorTypes, self.span(expr), message);
        }
        match (row.gives, fits) {
            (Gives::Truth, _) => Types::BOOL,
            (Gives::Same, true) => a,
            (Gives::Same, false) => Types::ERROR,
        }
    }

    /// Whether an operator that takes such operands takes one of this type.
    fn takes(&self, operands: Operands, ty: TypeId) -> bool {
        let types = &self.program.types;
        match operands {
            Operands::Values => types.basic(ty).is_some(),
            Operands::Numbers => types.is_integer(ty) || types.is_real(ty),
            Operands::Integers | Operands::Shift => types.is_integer(ty),
            Operands::Truths => types.basic(ty) == Some(Basic::Bool),
            Operands::Array => types.as_array(ty).is_some(),
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
            &ExprKind::Dyadic(operator, left, right) if !operator.compares() => {
                let shifts = operator.row().operands == Operands::Shift;
                if shifts { self.rank(left) } else { self.rank(left).max(self.rank(right)) }
            }
            _ => Rank::Typed,
        }
    }

    /// Whether an expression is made of literals that take their type from around them.
    pub(super) fn untyped(&self, expr: ExprId) -> bool {
        self.rank(expr) < Rank::Typed
    }

    /// The result if the program defines that predefined operator anew for operands of these types.
    fn redefined(&mut self, expr: ExprId, spelling: &str, operands: &[TypeId]) -> Option<TypeId> {
        if self.operators.is_empty() {
            return None;
        }
        let symbol = self.program.symbols.find(&format!("\"{spelling}\""))?;
        self.user_operator(expr, symbol, operands)
    }

    /// The result of the program's own operator for operands of these types, if it defines one.
    fn user_operator(&mut self, expr: ExprId, symbol: Symbol, operands: &[TypeId]) -> Option<TypeId> {
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
        if let Some(result) = self.user_operator(expr, symbol, &types) {
            return result;
        }
        let sign = self.text(symbol);
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
