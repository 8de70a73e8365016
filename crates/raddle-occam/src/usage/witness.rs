//! Owns: small numbers that make all facts true, to show an author.
//! May use: `poly`, `table`.
//! Never: decides acceptance; finding nothing proves nothing.

use super::poly::{Fact, Poly, Sym};
use super::table::Table;
use crate::symbol::FastMap;

const STEPS_MAX: u32 = 4000;
const TRIES: i64 = 24;

struct Search<'a> {
    table: &'a Table,
    facts: &'a [Fact],
    symbols: Vec<Sym>,
    values: FastMap<Sym, i64>,
    steps: u32,
}

/// Values for the symbols under which every fact holds, if small ones do.
pub(crate) fn find(table: &Table, facts: &[Fact]) -> Option<FastMap<Sym, i64>> {
    let mut symbols = Vec::new();
    for fact in facts {
        fact.polys(&mut |poly| {
            for &(symbol, _) in &poly.terms {
                match &table.info(symbol).product {
                    Some(factors) => symbols.extend(factors.iter().copied()),
                    None => symbols.push(symbol),
                }
            }
        });
    }
    symbols.sort_unstable();
    symbols.dedup();
    let mut search = Search { table, facts, symbols, values: FastMap::default(), steps: 0 };
    search.run().then_some(search.values)
}

/// The value of a polynomial, products multiplied out.
pub(crate) fn value(table: &Table, values: &FastMap<Sym, i64>, poly: &Poly) -> Option<i64> {
    poly.value(|symbol| symbol_value(table, values, symbol))
}

fn symbol_value(table: &Table, values: &FastMap<Sym, i64>, symbol: Sym) -> Option<i64> {
    match &table.info(symbol).product {
        Some(factors) => {
            factors.iter().try_fold(1_i64, |product, factor| product.checked_mul(*values.get(factor)?))
        }
        None => values.get(&symbol).copied(),
    }
}

impl Search<'_> {
    fn run(&mut self) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX || !self.consistent() {
            return false;
        }
        let Some((symbol, low, high)) = self.next() else {
            return self.facts.iter().all(|fact| {
                fact.holds(&|symbol| symbol_value(self.table, &self.values, symbol)) == Some(true)
            });
        };
        for value in candidates(low, high) {
            self.values.insert(symbol, value);
            if self.run() {
                return true;
            }
            self.values.remove(&symbol);
        }
        false
    }

    /// Whether no fact whose symbols all have values fails.
    fn consistent(&self) -> bool {
        let of = |symbol| symbol_value(self.table, &self.values, symbol);
        self.facts.iter().all(|fact| fact.holds(&of) != Some(false))
    }

    /// The symbol with the narrowest bounds, and those bounds.
    fn next(&self) -> Option<(Sym, Option<i64>, Option<i64>)> {
        let open = self.symbols.iter().copied().filter(|symbol| !self.values.contains_key(symbol));
        let bounded = open.map(|symbol| {
            let (mut low, mut high) = (None, None);
            self.facts.iter().for_each(|fact| self.bound(fact, symbol, &mut low, &mut high));
            (symbol, low, high)
        });
        bounded.min_by_key(|&(_, low, high)| match (low, high) {
            (Some(low), Some(high)) => high.saturating_sub(low),
            (Some(_), None) | (None, Some(_)) => i64::MAX - 1,
            _ => i64::MAX,
        })
    }

    /// Tightens the bounds of a symbol by a fact in which it alone has no value.
    fn bound(&self, fact: &Fact, symbol: Sym, low: &mut Option<i64>, high: &mut Option<i64>) {
        let (poly, exact) = match fact {
            Fact::NotNegative(poly) => (poly, false),
            Fact::Zero(poly) => (poly, true),
            _ => return,
        };
        let at = |value: i64| {
            poly.value(|other| match &self.table.info(other).product {
                Some(factors) => factors.iter().try_fold(1_i64, |product, &factor| {
                    product.checked_mul(if factor == symbol { value } else { *self.values.get(&factor)? })
                }),
                None if other == symbol => Some(value),
                None => self.values.get(&other).copied(),
            })
        };
        let (Some(rest), Some(one), Some(two)) = (at(0), at(1), at(2)) else { return };
        let slope = one.wrapping_sub(rest);
        if slope == 0 || two.wrapping_sub(one) != slope {
            return;
        }
        // slope * symbol + rest >= 0
        if slope > 0 || exact {
            let bound = ceiling(-i128::from(rest), i128::from(slope));
            if slope > 0 {
                *low = Some(low.map_or(bound, |low| low.max(bound)));
            }
        }
        if slope < 0 || exact {
            let bound = (-i128::from(rest)).div_euclid(i128::from(slope)) as i64;
            let bound = if slope < 0 { floor(i128::from(rest), -i128::from(slope)) } else { bound };
            *high = Some(high.map_or(bound, |high| high.min(bound)));
            if exact {
                *low = Some(low.map_or(bound, |low| low.max(bound)));
            }
        }
    }
}

fn floor(value: i128, by: i128) -> i64 {
    value.div_euclid(by) as i64
}

fn ceiling(value: i128, by: i128) -> i64 {
    (-((-value).div_euclid(by))) as i64
}

fn candidates(low: Option<i64>, high: Option<i64>) -> Vec<i64> {
    match (low, high) {
        (Some(low), Some(high)) if high.saturating_sub(low) < TRIES => (low..=high).collect(),
        // Small values first, then the far end, where overlaps of ranges often are.
        (Some(low), Some(high)) => (low..low + TRIES / 2).chain((high - TRIES / 2..=high).rev()).collect(),
        (Some(low), None) => (0..TRIES).map(|step| low.saturating_add(step)).collect(),
        (None, Some(high)) => (0..TRIES).map(|step| high.saturating_sub(step)).collect(),
        (None, None) => (0..TRIES).map(|step| if step % 2 == 0 { step / 2 } else { -(step + 1) / 2 }).collect(),
    }
}
