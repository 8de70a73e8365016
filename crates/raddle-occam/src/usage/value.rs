//! Owns: the values of whole-number expressions, and what conditions say.
//! May use: `state`, `table`.
//! Never: records accesses; `place` does.

use super::Walker;
use super::poly::{Fact, Poly};
use crate::ast::{Dyadic, ExprId, ExprKind, Monadic};
use crate::check::wrap;
use crate::program::NameId;
use crate::types::Types;

impl Walker<'_> {
    /// The value of an expression; an unknown one is a symbol of its own.
    pub(crate) fn value(&mut self, expr: ExprId) -> Poly {
        self.known_value(expr).unwrap_or_else(|| Poly::symbol(self.table.fresh()))
    }

    fn known_value(&mut self, expr: ExprId) -> Option<Poly> {
        if let Some(&constant) = self.program.constants.get(&expr.0) {
            return Some(Poly::constant(constant));
        }
        let types = &self.program.types;
        match &self.ast.expr(expr).kind {
            ExprKind::Integer { value, hex, .. } => {
                let basic = types.basic(self.program.type_of(expr))?;
                let value =
                    if *hex { wrap(i128::from(*value), basic) } else { i64::try_from(*value).ok()? };
                Some(Poly::constant(value))
            }
            ExprKind::Byte { value, .. } => Some(Poly::constant(i64::from(*value))),
            ExprKind::Name(_) if types.is_integer(self.program.type_of(expr)) => {
                let name = self.program.name_of(expr);
                if name == NameId::NONE {
                    return None;
                }
                self.name_value(name)
            }
            &ExprKind::Monadic(Monadic::Minus, value) if self.program.name_of(expr) == NameId::NONE => {
                self.known_value(value)?.scale(-1)
            }
            &ExprKind::Monadic(Monadic::Size, value) => self.size_of(value, 0),
            &ExprKind::Dyadic(operator, left, right) if types.is_integer(self.program.type_of(left)) => {
                if self.program.name_of(expr) != NameId::NONE {
                    return None;
                }
                let (left, right) = (self.value(left), self.value(right));
                self.arithmetic(operator, &left, &right)
            }
            &ExprKind::Convert { value, .. } => {
                let both = types.is_integer(self.program.type_of(expr))
                    && types.is_integer(self.program.type_of(value));
                if both { self.known_value(value) } else { None }
            }
            _ => None,
        }
    }

    fn arithmetic(&mut self, operator: Dyadic, left: &Poly, right: &Poly) -> Option<Poly> {
        match operator {
            Dyadic::Add => left.plus(right, 1),
            Dyadic::Subtract => left.minus(right),
            Dyadic::Multiply => self.table.times(left, right),
            Dyadic::Divide => self.table.quotient(left, right),
            Dyadic::Remainder => {
                let quotient = self.table.quotient(left, right)?;
                let product = self.table.times(&quotient, right)?;
                left.minus(&product)
            }
            _ => None,
        }
    }

    /// The value of a name, or of what it abbreviates.
    fn name_value(&mut self, name: NameId) -> Option<Poly> {
        let root = self.aliases.get(&name).map_or(Some(name), |alias| alias.whole())?;
        if self.program.name(root).shared {
            // Others may change it at any time.
            return None;
        }
        Some(self.value_of(root))
    }

    /// What is known where a condition holds, or where it does not; `None` if nothing.
    pub(crate) fn condition_facts(&mut self, condition: ExprId, holds: bool) -> Option<Vec<Fact>> {
        match &self.ast.expr(condition).kind {
            ExprKind::Bool(value) => {
                Some(if *value == holds { Vec::new() } else { vec![Fact::OneOf(Vec::new())] })
            }
            &ExprKind::Monadic(Monadic::Not, value) => self.condition_facts(value, !holds),
            &ExprKind::Dyadic(operator @ (Dyadic::And | Dyadic::Or), left, right) => {
                let both = (operator == Dyadic::And) == holds;
                let (left, right) = (self.condition_facts(left, holds), self.condition_facts(right, holds));
                if both {
                    let mut facts = left.unwrap_or_default();
                    facts.extend(right.unwrap_or_default());
                    return Some(facts);
                }
                Some(vec![Fact::OneOf(vec![left?, right?])])
            }
            &ExprKind::Dyadic(operator, left, right) => {
                let ty = self.program.type_of(left);
                if ty == Types::ERROR
                    || !self.program.types.is_integer(ty)
                    || self.program.name_of(condition) != NameId::NONE
                {
                    return None;
                }
                let (left, right) = (self.value(left), self.value(right));
                comparison(operator, &left, &right, holds).map(|fact| vec![fact])
            }
            _ => None,
        }
    }

    /// Goes on under a condition.
    pub(crate) fn assume(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            self.path = self.paths.with(self.path, fact);
        }
    }
}

fn comparison(operator: Dyadic, left: &Poly, right: &Poly, holds: bool) -> Option<Fact> {
    let difference = left.minus(right)?;
    match (operator, holds) {
        (Dyadic::Equal, true) | (Dyadic::NotEqual, false) => Some(Fact::Zero(difference)),
        (Dyadic::Equal, false) | (Dyadic::NotEqual, true) => Some(Fact::NotZero(difference)),
        (Dyadic::Less, true) | (Dyadic::GreaterEqual, false) => Fact::less(left, right),
        (Dyadic::Less, false) | (Dyadic::GreaterEqual, true) => Fact::at_most(right, left),
        (Dyadic::Greater, true) | (Dyadic::LessEqual, false) => Fact::less(right, left),
        (Dyadic::Greater, false) | (Dyadic::LessEqual, true) => Fact::at_most(left, right),
        _ => None,
    }
}
