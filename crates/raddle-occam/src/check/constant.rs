//! Owns: constant expressions over whole numbers and BOOL.
//! May use: `check`.
//! Never: wraps silently; what would stop a program is a fault here.

use super::Checker;
use crate::ast::{Basic, Dyadic, ExprId, ExprKind, Monadic, Renaming};
use crate::diag::Code;
use crate::program::{Body, NameKind};
use crate::types::{TypeId, Types};

/// Calls within calls that are computed; functions cannot call themselves, so the text bounds them too.
const CALLS_MAX: u32 = 10;

/// Calls that one program may ask to have computed.
const CALLS_TOTAL_MAX: u32 = 100_000;

/// The smallest and largest value of a whole-number type.
pub(crate) fn range(basic: Basic) -> (i64, i64) {
    match basic {
        Basic::Bool => (0, 1),
        Basic::Byte => (0, 255),
        Basic::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Basic::Int | Basic::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Brings a value into a type's range, as PLUS, MINUS and TIMES do.
pub(crate) fn wrap(value: i128, basic: Basic) -> i64 {
    match basic {
        Basic::Bool => i64::from(value != 0),
        Basic::Byte => i64::from(value as u8),
        Basic::Int16 => i64::from(value as i16),
        Basic::Int | Basic::Int32 => i64::from(value as i32),
        _ => value as i64,
    }
}

fn bits(basic: Basic) -> i64 {
    match basic {
        Basic::Byte | Basic::Bool => 8,
        Basic::Int16 => 16,
        Basic::Int64 => 64,
        _ => 32,
    }
}

/// What an operator makes of two values of a type; `None` where it would stop the program.
pub(crate) fn compute(operator: Dyadic, left: i64, right: i64, basic: Basic) -> Option<i64> {
    use Dyadic::*;
    let (a, b) = (i128::from(left), i128::from(right));
    let flag = |flag| Some(i64::from(flag));
    match operator {
        Add => in_range(a + b, basic),
        Subtract => in_range(a - b, basic),
        Multiply => in_range(a * b, basic),
        Divide | Remainder if b == 0 => None,
        Divide => in_range(a / b, basic),
        Remainder => Some((a % b) as i64),
        Plus => Some(wrap(a + b, basic)),
        Minus => Some(wrap(a - b, basic)),
        Times => Some(wrap(a * b, basic)),
        BitAnd => Some(left & right),
        BitOr => Some(left | right),
        BitXor => Some(left ^ right),
        ShiftLeft | ShiftRight if right < 0 || right > bits(basic) => None,
        ShiftLeft => Some(wrap(a << right, basic)),
        ShiftRight => Some(wrap((a & ((1_i128 << bits(basic)) - 1)) >> right, basic)),
        And => Some(left & right),
        Or => Some(left | right),
        Equal => flag(a == b),
        NotEqual => flag(a != b),
        Less => flag(a < b),
        Greater => flag(a > b),
        LessEqual => flag(a <= b),
        GreaterEqual => flag(a >= b),
        After => flag(
            wrap(a - b, basic) > 0 && basic != Basic::Byte
                || basic == Basic::Byte && wrap(a - b, basic) < 128 && a != b,
        ),
    }
}

fn in_range(value: i128, basic: Basic) -> Option<i64> {
    let (low, high) = range(basic);
    (i128::from(low)..=i128::from(high)).contains(&value).then_some(value as i64)
}

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
                Some(if *hex { wrap(i128::from(*value), basic) } else { i64::try_from(*value).ok()? })
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
                let value = self.constant(value)?;
                self.in_range(i128::from(value), basic)
            }
            &ExprKind::Most { high, .. } => {
                let (low, top) = range(self.program.types.basic(ty)?);
                (!self.program.types.is_real(ty)).then_some(if high { top } else { low })
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
        let value = i128::from(self.constant(value)?);
        match operator {
            Monadic::Minus => self.in_range(-value, basic),
            Monadic::MinusWrapping => Some(wrap(-value, basic)),
            Monadic::Not => Some(i64::from(value == 0)),
            Monadic::BitNot => Some(wrap(!value, basic)),
            Monadic::Size => None,
        }
    }

    fn constant_dyadic(&mut self, operator: Dyadic, left: ExprId, right: ExprId) -> Option<i64> {
        let basic = self.program.types.basic(self.type_of(left))?;
        if matches!(basic, Basic::Real32 | Basic::Real64) {
            return None;
        }
        let left = self.constant(left)?;
        if matches!((operator, left), (Dyadic::And, 0) | (Dyadic::Or, 1)) {
            return Some(left);
        }
        let right = self.constant(right)?;
        let value = compute(operator, left, right, basic);
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
