//! Owns: the values of whole-number expressions, and what conditions say.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: records accesses; `place` does.

use super::Walker;
use super::computed::{Computed, Constants};
use super::poly::{Fact, Poly};
use super::quick;
use crate::ast::{Basic, Dyadic, ExprId, ExprKind, Mode, Monadic, Renaming};
use crate::operator::{Algebra, Lowering, RelationKind, literal};
use crate::program::{NameId, NameKind};
use crate::types::Types;
use std::rc::Rc;

/// Elements of a constant table that are remembered.
const CONSTANTS_MAX: usize = 10_000;

impl Walker<'_> {
    /// The value of an expression; an unknown one is a symbol of its own.
    pub(crate) fn value(&mut self, expr: ExprId) -> Poly {
        self.known_value(expr).unwrap_or_else(|| Poly::symbol(self.table.fresh()))
    }

    fn known_value(&mut self, expr: ExprId) -> Option<Poly> {
        // Its constants are kept as INT64s of the same bits, and no INT64 is as large.
        if self.program.types.basic(self.program.type_of(expr)) == Some(Basic::Uint64) {
            return None;
        }
        if let Some(&constant) = self.program.constants.get(&expr.0) {
            return Some(Poly::constant(constant));
        }
        let types = &self.program.types;
        match &self.ast.expr(expr).kind {
            ExprKind::Integer { value, hex, .. } => {
                let basic = types.basic(self.program.type_of(expr))?;
                literal(*value, *hex, basic).map(Poly::constant)
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
                let basic = types.basic(self.program.type_of(left))?;
                let (left, right) = (self.value(left), self.value(right));
                self.arithmetic(operator, &left, &right, basic)
            }
            ExprKind::Index { .. } if types.is_integer(self.program.type_of(expr)) => {
                self.element_value(expr)
            }
            &ExprKind::Convert { value, .. } => {
                let both = types.is_integer(self.program.type_of(expr))
                    && types.is_integer(self.program.type_of(value));
                if both { self.known_value(value) } else { None }
            }
            ExprKind::Call { arguments, .. } if types.is_integer(self.program.type_of(expr)) => {
                self.called_value(self.program.name_of(expr), arguments)
            }
            _ => None,
        }
    }

    /// The value of a function's result, which has just been read.
    pub(crate) fn result_of(&mut self, results: &[ExprId]) -> Option<Poly> {
        let &[only] = results else { return None };
        match self.ast.expr(only).kind {
            ExprKind::Valof(_) => self.valof_result.take(),
            _ if self.program.types.is_integer(self.program.type_of(only)) => Some(self.value(only)),
            _ => None,
        }
    }

    fn arithmetic(&mut self, operator: Dyadic, left: &Poly, right: &Poly, basic: Basic) -> Option<Poly> {
        match operator.row().algebra {
            Algebra::Sum => left.plus(right, 1),
            Algebra::Difference => left.minus(right),
            Algebra::Product => self.table.times(left, right),
            Algebra::Quotient => self.table.quotient(left, right),
            Algebra::Remainder => {
                let quotient = self.table.quotient(left, right)?;
                let product = self.table.times(&quotient, right)?;
                left.minus(&product)
            }
            Algebra::Opaque => {
                if let Some((left, right)) = left.as_constant().zip(right.as_constant()) {
                    return operator.fold(left, right, basic).map(Poly::constant);
                }
                let power = operator == Dyadic::ShiftLeft && left.as_constant() == Some(1);
                let places = quick::range(&self.table, right).filter(|_| power && basic == Basic::Int);
                let how = Computed::Operator(operator, left.clone(), right.clone(), basic);
                let symbol = self.table.compute(how);
                let known = places.is_some_and(|(least, most)| least >= 0 && most <= 30);
                if known && self.table.info(symbol).facts.is_empty() {
                    self.table.define(symbol, Poly::symbol(symbol).add(-1).map(Fact::NotNegative));
                }
                Some(Poly::symbol(symbol))
            }
            Algebra::None => None,
        }
    }

    /// An element of a table that the text gives.
    fn element_value(&mut self, expr: ExprId) -> Option<Poly> {
        let (mut at, mut subscripts) = (expr, Vec::new());
        while let &ExprKind::Index { base, index } = &self.ast.expr(at).kind {
            subscripts.push(index);
            at = base;
        }
        let name = self.program.name_of(at);
        if name == NameId::NONE || !matches!(self.ast.expr(at).kind, ExprKind::Name(_)) {
            return None;
        }
        let table = self.constants_of(name)?;
        if table.sizes.len() != subscripts.len() {
            return None;
        }
        let subscripts: Vec<Poly> = subscripts.into_iter().rev().map(|index| self.value(index)).collect();
        let how = Computed::Element(name, subscripts);
        if let Some(value) = self.table.computed_value(&how, &|_| None) {
            return Some(Poly::constant(value));
        }
        Some(Poly::symbol(self.table.compute(how)))
    }

    /// The values of a name that is VAL and a table of constants.
    fn constants_of(&mut self, name: NameId) -> Option<Rc<Constants>> {
        if let Some(known) = self.table.constants.get(&name) {
            return known.clone();
        }
        let value = match self.program.name(name).kind {
            NameKind::Abbreviation { mode: Mode::Val, renaming: Renaming::Is, value } => value,
            _ => return None,
        };
        let mut constants = Constants { sizes: Vec::new(), values: Vec::new() };
        let known = self.add_constants(value, 0, &mut constants).map(|()| Rc::new(constants));
        self.table.constants.insert(name, known.clone());
        known
    }

    fn add_constants(&mut self, value: ExprId, depth: usize, into: &mut Constants) -> Option<()> {
        let ExprKind::Table { elements, .. } = &self.ast.expr(value).kind else {
            into.values.push(self.value(value).as_constant()?);
            return (into.sizes.len() == depth && into.values.len() <= CONSTANTS_MAX).then_some(());
        };
        match into.sizes.get(depth) {
            None => into.sizes.push(elements.len()),
            Some(&size) if size != elements.len() => return None,
            Some(_) => {}
        }
        elements.iter().try_for_each(|&element| self.add_constants(element, depth + 1, into))
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
            &ExprKind::Dyadic(operator, left, right) => {
                if let Some(decider) = operator.row().decided_by {
                    return self.facts_of_both(decider != holds, left, right, holds);
                }
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

    /// What is known where two conditions hold, or do not: both of them, or one at least.
    fn facts_of_both(&mut self, both: bool, left: ExprId, right: ExprId, holds: bool) -> Option<Vec<Fact>> {
        let (left, right) = (self.condition_facts(left, holds), self.condition_facts(right, holds));
        if both {
            let mut facts = left.unwrap_or_default();
            facts.extend(right.unwrap_or_default());
            return Some(facts);
        }
        Some(vec![Fact::OneOf(vec![left?, right?])])
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
    let relation = operator.row().lowering.relation?;
    let operator = if holds { operator } else { relation.negation };
    let Lowering { relation: Some(relation), swapped, .. } = operator.row().lowering else { return None };
    let (left, right) = if swapped { (right, left) } else { (left, right) };
    match relation.order {
        RelationKind::Equal => Some(Fact::Zero(difference)),
        RelationKind::NotEqual => Some(Fact::NotZero(difference)),
        RelationKind::Less => Fact::less(left, right),
        RelationKind::AtMost => Fact::at_most(left, right),
    }
}
