//! Owns: constant expressions over whole numbers and BOOL.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: wraps silently; what would stop a program is a fault here.

use super::Checker;
use crate::ast::{Basic, Dyadic, ExprId, ExprKind, Monadic, Renaming};
use crate::diag::Code;
use crate::operator::{in_range, literal, range, widen};
use crate::program::{Body, NameKind};
use crate::types::{TypeId, Types};

/// Calls within calls that are computed; functions cannot call themselves, so the text bounds them too.
const CALLS_MAX: u32 = 10;

/// Calls that one program may ask to have computed.
const CALLS_TOTAL_MAX: u32 = 100_000;

impl Checker<'_> {
    /// The value of an expression that must be constant, or a complaint.
    pub(super) fn needed_constant(&mut self, expr: ExprId) -> Option<i64> {
        self.fault = false;
        let value = self.constant(expr);
        if value.is_none() && self.type_of(expr) != Types::ERROR {
            let span = self.span(expr);
            if self.fault {
                self.complain(Code::ConstantFault, span, "computing this constant would stop the program");
            } else {
                self.complain(Code::NotConstant, span, "this must be known at compile time");
            }
        }
        if let Some(value) = value {
            self.program.constants.insert(expr.0, value);
        }
        value
    }

    /// The value of an expression whose type is known, if it is constant.
    pub(super) fn constant(&mut self, expr: ExprId) -> Option<i64> {
        let ast = self.ast;
        let ty = self.type_of(expr);
        match &ast.expr(expr).kind {
            ExprKind::Integer { value, hex, .. } => {
                let basic = self.program.types.basic(ty)?;
                literal(*value, *hex, basic)
            }
            ExprKind::Byte { value, .. } => Some(i64::from(*value)),
            ExprKind::Bool(value) => Some(i64::from(*value)),
            ExprKind::Name(_) => {
                let name = self.program.expr_names[expr.0 as usize];
                self.values.get(&name.0).copied()
            }
            &ExprKind::Monadic(Monadic::Size, value) => self.static_size(value),
            &ExprKind::SizeOfType(_) => None,
            &ExprKind::Monadic(operator, value) => self.constant_monadic(operator, value, ty),
            &ExprKind::Dyadic(operator, left, right) => self.constant_dyadic(operator, left, right),
            &ExprKind::Convert { value, .. } => {
                let basic = self.program.types.basic(ty)?;
                if matches!(basic, Basic::Real32 | Basic::Real64)
                    || self.program.types.is_real(self.type_of(value))
                {
                    return None;
                }
                let from = self.program.types.basic(self.type_of(value))?;
                let value = self.constant(value)?;
                self.in_range(widen(value, from), basic)
            }
            &ExprKind::Most { high, .. } => {
                let (low, top) = range(self.program.types.basic(ty)?);
                (!self.program.types.is_real(ty)).then_some((if high { top } else { low }) as i64)
            }
            &ExprKind::BytesInType(_) => self.values.get(&(u32::MAX - expr.0)).copied(),
            &ExprKind::BytesIn(value) => i64::try_from(self.program.types.bytes(self.type_of(value))?).ok(),
            &ExprKind::Index { base, index } => {
                let at = self.constant(index)?;
                self.constant_element(base, at, 0)
            }
            ExprKind::Call { arguments, .. } => self.constant_call(expr, arguments),
            _ => None,
        }
    }

    /// A call of a FUNCTION that is one expression, with constant parameters.
    fn constant_call(&mut self, expr: ExprId, arguments: &[ExprId]) -> Option<i64> {
        let name = self.program.expr_names[expr.0 as usize];
        let routine = &self.program.routines[self.program.routine_of(name)?.0 as usize];
        let Body::Results(list) = &routine.body else { return None };
        let &[result] = list.as_slice() else { return None };
        if routine.recursive
            || matches!(self.ast.expr(result).kind, ExprKind::Valof(_))
            || self.calls >= CALLS_MAX
        {
            return None;
        }
        self.calls_total += 1;
        if self.calls_total > CALLS_TOTAL_MAX {
            return None;
        }
        let formals = routine.formals.clone();
        for (&formal, &argument) in formals.iter().zip(arguments) {
            let value = self.constant(argument)?;
            self.values.insert(formal.0, value);
        }
        self.calls += 1;
        let value = self.constant(result);
        self.calls -= 1;
        for formal in formals {
            self.values.remove(&formal.0);
        }
        value
    }

    fn static_size(&self, value: ExprId) -> Option<i64> {
        self.program.types.as_array(self.type_of(value))?.0.map(i64::from)
    }

    fn in_range(&mut self, value: i128, basic: Basic) -> Option<i64> {
        let value = in_range(value, basic);
        self.fault |= value.is_none();
        value
    }

    fn constant_monadic(&mut self, operator: Monadic, value: ExprId, ty: TypeId) -> Option<i64> {
        let basic = self.program.types.basic(ty)?;
        if let (Monadic::Minus, ExprKind::Integer { value, hex: false, .. }) =
            (operator, &self.ast.expr(value).kind)
        {
            return self.in_range(-i128::from(*value), basic);
        }
        let value = widen(self.constant(value)?, basic);
        let value = operator.fold(value, basic);
        self.fault |= value.is_none();
        value
    }

    fn constant_dyadic(&mut self, operator: Dyadic, left: ExprId, right: ExprId) -> Option<i64> {
        let basic = self.program.types.basic(self.type_of(left))?;
        if matches!(basic, Basic::Real32 | Basic::Real64) {
            return None;
        }
        let left = self.constant(left)?;
        if operator.row().decided_by.is_some_and(|decider| i64::from(decider) == left) {
            return Some(left);
        }
        let right = self.constant(right)?;
        let value = operator.fold(left, right, basic);
        self.fault |= value.is_none();
        value
    }

    /// One element of a constant table or string.
    fn constant_element(&mut self, base: ExprId, at: i64, depth: u32) -> Option<i64> {
        let ast = self.ast;
        let index = usize::try_from(at).ok()?;
        match &ast.expr(base).kind {
            ExprKind::Text { bytes, .. } => bytes.get(index).map(|&byte| i64::from(byte)),
            ExprKind::Table { elements, .. } => {
                let element = elements.get(index).copied();
                self.fault |= element.is_none();
                self.constant(element?)
            }
            ExprKind::Name(_) if depth < 50 => {
                let name = self.program.expr_names[base.0 as usize];
                let kind = self.program.names.get(name.0 as usize)?.kind;
                match kind {
                    NameKind::Abbreviation { mode: crate::ast::Mode::Val, renaming: Renaming::Is, value } => {
                        self.constant_element(value, at, depth + 1)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
