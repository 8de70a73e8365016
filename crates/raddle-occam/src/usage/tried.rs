//! Owns: subscripts whose values can all be computed, tried one by one.
//! May use: `raddle-occam-syntax`.
//! Never: tries more than some ten thousand; conditions are left out, so it may miss that two places are apart.
//!
//! The solver is linear. A hypercube's `i >< (1 << d)` or the neighbours of a cell by a table of offsets are beyond
//! it, but where every subscript comes from replicators with constant bounds, there is nothing to prove: each access
//! is a list of points, and two lists meet or do not.

use super::Walker;
use super::access::{Access, Step};
use super::overlap::Instances;
use super::poly::{Poly, Sym};
use super::table::SymTable;
use crate::symbol::FastMap;

/// Points of one access.
const POINTS_MAX: u64 = 50_000;
/// Points of all accesses of a program.
const POINTS_TOTAL_MAX: u64 = 5_000_000;

/// Subscripts of an access, each with the size of its array, and the symbols that they come from.
struct Points<'a> {
    subscripts: Vec<(&'a Poly, Option<u32>)>,
    symbols: Vec<Sym>,
    count: u64,
}

impl Walker<'_> {
    /// Whether all points of both accesses are known, and none of them is touched by both.
    pub(super) fn tried_apart(&mut self, one: &Access, two: &Access, instances: &Instances) -> bool {
        if self.points > POINTS_TOTAL_MAX {
            return false;
        }
        let number = match *instances {
            Instances::Same => None,
            Instances::Different { number, .. } => Some(number),
        };
        let (Some(first), Some(second)) = (
            points(&self.table, &one.path, &two.path, number),
            points(&self.table, &two.path, &one.path, number),
        ) else {
            return false;
        };
        self.points += first.count + second.count;
        let common = |symbol: &&Sym| {
            let varies = match *instances {
                Instances::Same => false,
                Instances::Different { mark, .. } => self.table.varies(**symbol, mark),
            };
            !varies && second.symbols.contains(symbol)
        };
        let common: Vec<Sym> = first.symbols.iter().filter(common).copied().collect();
        let mut seen: FastMap<Vec<i64>, i64> = FastMap::default();
        // Who touches a point: an instance, or several.
        first.each(&self.table, &common, number, |point, instance| {
            let who = seen.entry(point).or_insert(instance);
            if *who != instance {
                *who = SEVERAL;
            }
            true
        }) && second.each(&self.table, &common, number, |point, instance| {
            // Of two branches each touches it; two instances are none if they are the same one.
            seen.get(&point).is_none_or(|&who| number.is_some() && who == instance)
        })
    }
}

const SEVERAL: i64 = i64::MIN;

/// The points of `path`, so far as `other` has subscripts, too; `None` if not all are known.
fn points<'a>(table: &SymTable, path: &'a [Step], other: &[Step], number: Option<Sym>) -> Option<Points<'a>> {
    let mut subscripts = Vec::new();
    for pair in path.iter().zip(other) {
        match pair {
            (Step::Index(at, extent), Step::Index(..)) => subscripts.push((at, extent.size)),
            (Step::Field(_), Step::Field(_)) => {}
            _ => break,
        }
    }
    if subscripts.is_empty() {
        return None;
    }
    let mut symbols: Vec<Sym> = number.into_iter().collect();
    for (poly, _) in &subscripts {
        add_symbols(table, poly, &mut symbols)?;
    }
    let mut count = 1_u64;
    for &symbol in &symbols {
        let (low, high) = **table.info(symbol).range.as_ref()?;
        count = count.checked_mul(u64::try_from(high - low + 1).ok()?)?;
        if count > POINTS_MAX {
            return None;
        }
    }
    Some(Points { subscripts, symbols, count })
}

/// The symbols that a value comes from in the end; `None` if one of them has no constant bounds.
fn add_symbols(table: &SymTable, poly: &Poly, symbols: &mut Vec<Sym>) -> Option<()> {
    for &(symbol, _) in &poly.terms {
        for &part in table.info(symbol).product.as_deref().unwrap_or(&[symbol]) {
            let info = table.info(part);
            if let Some(how) = &info.computed {
                let mut all = Some(());
                how.polys(&mut |poly| all = all.and_then(|()| add_symbols(table, poly, symbols)));
                all?;
            } else if info.range.is_none() {
                return None;
            } else if !symbols.contains(&part) {
                symbols.push(part);
            }
        }
    }
    Some(())
}

impl Points<'_> {
    /// Hands over each point with the values of the `common` symbols, and its instance; `false` once `take` is.
    fn each(
        &self,
        table: &SymTable,
        common: &[Sym],
        number: Option<Sym>,
        mut take: impl FnMut(Vec<i64>, i64) -> bool,
    ) -> bool {
        let range = |symbol: Sym| table.info(symbol).range.as_deref().copied().unwrap_or_default();
        let mut values: Vec<i64> = self.symbols.iter().map(|&symbol| range(symbol).0).collect();
        loop {
            let of = |symbol: Sym| self.symbols.iter().position(|&it| it == symbol).map(|at| values[at]);
            if let Some(mut point) = self.point(table, &of) {
                point.extend(common.iter().filter_map(|&symbol| of(symbol)));
                if !take(point, number.and_then(of).unwrap_or_default()) {
                    return false;
                }
            }
            let Some(at) = (0..values.len()).find(|&at| values[at] < range(self.symbols[at]).1) else {
                return true;
            };
            values[at] += 1;
            for (value, &symbol) in values.iter_mut().zip(&self.symbols).take(at) {
                *value = range(symbol).0;
            }
        }
    }

    /// One point, if the program does not stop before it comes to be.
    fn point(&self, table: &SymTable, of: &impl Fn(Sym) -> Option<i64>) -> Option<Vec<i64>> {
        let value = |&(poly, size): &(&Poly, Option<u32>)| {
            let value = poly.value(|symbol| table.symbol_value(symbol, of))?;
            let inside = value >= 0 && size.is_none_or(|size| value < i64::from(size));
            inside.then_some(value)
        };
        self.subscripts.iter().map(value).collect()
    }
}
