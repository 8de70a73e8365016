//! Owns: the sizes of arrays whose type does not tell them.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: a size for a MOBILE: it changes with each assignment.
//!
//! An open dimension gets its size where its name is declared, once, so that the size is as old as the name: within a
//! replicated PAR, `SIZE a` of an array from outside is the same in each instance. A call puts the sizes of what it
//! passes in the place of the parameters'.

use super::Walker;
use super::poly::{Fact, Poly, Sym};
use crate::ast::{ExprId, ExprKind};
use crate::program::NameId;
use crate::types::{Type, TypeId};

impl Walker<'_> {
    /// Sizes of a parameter: symbols that each call gives a value.
    pub(crate) fn size_parameter(&mut self, formal: NameId) -> Vec<(u32, Sym)> {
        let open = self.open_dimensions(self.program.name(formal).ty);
        let mut given = Vec::new();
        for depth in open {
            let symbol = self.fresh_size();
            given.push((depth, symbol));
            self.sizes.insert((formal, depth), Poly::symbol(symbol));
        }
        given
    }

    /// Sizes of a name that is declared as `value`, or as something that has the layout of it.
    pub(crate) fn size_abbreviation(&mut self, name: NameId, value: Option<ExprId>) {
        for depth in self.open_dimensions(self.program.name(name).ty) {
            let known = value.and_then(|value| self.size_of(value, depth));
            let size = known.unwrap_or_else(|| Poly::symbol(self.fresh_size()));
            self.sizes.insert((name, depth), size);
        }
    }

    /// The size of an array in its dimension `depth`, if that is known to be the same wherever it is asked for.
    pub(crate) fn size_of(&mut self, value: ExprId, depth: u32) -> Option<Poly> {
        let mut ty = self.program.type_of(value);
        for _ in 0..depth {
            ty = self.program.types.as_array(ty)?.1;
        }
        if let (Some(size), _) = self.program.types.as_array(ty)? {
            return Some(Poly::constant(i64::from(size)));
        }
        match self.ast.expr(value).kind {
            ExprKind::Name(_) => self.sizes.get(&(self.program.name_of(value), depth)).cloned(),
            ExprKind::Index { base, .. } => self.size_of(base, depth + 1),
            ExprKind::Slice { count: Some(count), .. } if depth == 0 => Some(self.value(count)),
            ExprKind::Slice { base, from: Some(from), count: None } if depth == 0 => {
                let (all, from) = (self.size_of(base, 0)?, self.value(from));
                all.minus(&from)
            }
            ExprKind::Slice { base, .. } => self.size_of(base, depth),
            _ => None,
        }
    }

    /// The dimensions of which the type does not say how large they are.
    fn open_dimensions(&self, mut ty: TypeId) -> Vec<u32> {
        let types = &self.program.types;
        let mut open = Vec::new();
        let mut depth = 0;
        while let Type::Array { size, element } = types.get(types.immobile(ty)) {
            if matches!(types.get(ty), Type::Mobile(_)) {
                return Vec::new();
            }
            if size.is_none() {
                open.push(depth);
            }
            (ty, depth) = (element, depth + 1);
        }
        open
    }

    fn fresh_size(&mut self) -> Sym {
        let symbol = self.table.fresh();
        self.table.define(symbol, Some(Fact::NotNegative(Poly::symbol(symbol))));
        symbol
    }
}
