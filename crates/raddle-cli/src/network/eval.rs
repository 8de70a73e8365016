//! Owns: what whole numbers and channels are called in one instance of a process.
//! May use: `raddle-occam`.
//! Never: guesses; what is not known is `None`.

use super::tree::NetworkBuilder;
use raddle_occam::ast::{ExprId, ExprKind, Monadic, Replicator};
use raddle_occam::program::NameId;
use raddle_occam::symbol::FastMap;
use raddle_occam::types::Type;

/// What names stand for in an instance.
pub(super) type Env = FastMap<NameId, Bound>;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    Value(i64),
    Ends(BoundEnds),
}

/// A channel, or an array of channels, of those that one declaration made.
#[derive(Clone, Debug)]
pub(super) struct BoundEnds {
    /// Which declaration.
    pub(super) of: usize,
    /// The subscripts so far.
    pub(super) path: Vec<i64>,
    /// Of a part of an array: where it begins, and how much it is.
    pub(super) from: i64,
    pub(super) size: Option<i64>,
}

impl NetworkBuilder<'_> {
    pub(super) fn value(&self, expr: ExprId, env: &Env) -> Option<i64> {
        let program = self.program;
        if let Some(&known) = program.constants.get(&expr.0) {
            return Some(known);
        }
        match &program.ast.expr(expr).kind {
            &ExprKind::Integer { value, .. } => i64::try_from(value).ok(),
            ExprKind::Name(_) => {
                let name = program.name_of(expr);
                match env.get(&name) {
                    Some(&Bound::Value(value)) => Some(value),
                    _ => program.values.get(&name.0).copied(),
                }
            }
            &ExprKind::Dyadic(operator, left, right) => {
                let (left, right) = (self.value(left, env)?, self.value(right, env)?);
                operator.of_ints(left, right)
            }
            &ExprKind::Monadic(Monadic::Size, of) => self.size(of, env),
            &ExprKind::Monadic(operator, of) => operator.of_int(self.value(of, env)?),
            _ => None,
        }
    }

    fn size(&self, of: ExprId, env: &Env) -> Option<i64> {
        if let Some(ends) = self.known_ends(of, env) {
            return ends.size;
        }
        self.program.types.as_array(self.program.type_of(of))?.0.map(i64::from)
    }

    /// The values of a replicator, if they are known and not too many.
    pub(super) fn values(&self, replicator: &Replicator, env: &Env, most: i64) -> Option<Vec<i64>> {
        let (base, count) = (self.value(replicator.base, env)?, self.value(replicator.count, env)?);
        let step = replicator.step.map_or(Some(1), |step| self.value(step, env))?;
        (0..=most)
            .contains(&count)
            .then(|| (0..count).map(|at| base.wrapping_add(at.wrapping_mul(step))).collect())
    }

    /// The channels that an expression is, if all its subscripts are known.
    fn known_ends(&self, expr: ExprId, env: &Env) -> Option<BoundEnds> {
        self.ends_of(expr, env).ok().flatten()
    }

    /// The channels that an expression is. An error is a declaration of which it is not known which part is meant.
    pub(super) fn ends_of(&self, expr: ExprId, env: &Env) -> Result<Option<BoundEnds>, usize> {
        match &self.program.ast.expr(expr).kind {
            ExprKind::Name(_) => Ok(match env.get(&self.program.name_of(expr)) {
                Some(Bound::Ends(ends)) => Some(ends.clone()),
                _ => None,
            }),
            &ExprKind::End(of, _) | &ExprKind::Clone(of) => self.ends_of(of, env),
            &ExprKind::Index { base, index } => {
                let Some(mut ends) = self.ends_of(base, env)? else { return Ok(None) };
                let types = &self.program.types;
                let Some((_, element)) = types.as_array(self.program.type_of(base)) else {
                    // A channel of a bundle goes with the bundle.
                    return Ok(Some(ends));
                };
                ends.path.push(ends.from + self.value(index, env).ok_or(ends.of)?);
                ends.from = 0;
                ends.size = types.as_array(element).and_then(|it| it.0).map(i64::from);
                Ok(Some(ends))
            }
            &ExprKind::Slice { base, from, count } => {
                let Some(mut ends) = self.ends_of(base, env)? else { return Ok(None) };
                let from = from.map_or(Some(0), |from| self.value(from, env)).ok_or(ends.of)?;
                let rest = ends.size.map(|size| size - from);
                ends.size = count.map_or(rest, |count| self.value(count, env));
                ends.from += from;
                Ok(Some(ends))
            }
            _ => Ok(None),
        }
    }

    /// Whether it is still an array.
    pub(super) fn is_array(&self, expr: ExprId) -> bool {
        let types = &self.program.types;
        let ty = types.immobile(self.program.type_of(expr));
        matches!(types.get(ty), Type::Array { .. })
    }
}
