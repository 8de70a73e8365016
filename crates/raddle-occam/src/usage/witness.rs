//! Owns: small numbers that make all facts true, to show an author.
//! May use: `raddle-occam-syntax`.
//! Never: calls a search complete that left something out; a complete one without a find is a proof.
//!
//! The search gives one symbol after the other a value within the bounds that the facts leave. Where every symbol
//! has few candidates it tries them all, and so decides what the solver, which is linear, cannot.

use super::poly::{Fact, Poly, Sym};
use super::table::SymTable;
use crate::symbol::FastMap;

/// What a search came to.
pub(crate) enum Search {
    /// These values make every fact true.
    Found(FastMap<Sym, i64>),
    /// No values do.
    Impossible,
    /// Not everything was tried.
    Unknown,
}

const STEPS_MAX: u32 = 3000;
/// Candidates tried for a symbol whose bounds leave more.
const TRIES: i64 = 24;
/// Candidates tried for a symbol with both bounds.
const RANGE_MAX: i64 = 100;

struct Searcher<'a> {
    table: &'a SymTable,
    facts: &'a [Fact],
    symbols: Vec<Sym>,
    values: FastMap<Sym, i64>,
    steps: u32,
    complete: bool,
}

/// Looks for values of the symbols under which every fact holds.
pub(crate) fn find(table: &SymTable, facts: &[Fact]) -> Search {
    let mut symbols = Vec::new();
    facts.iter().for_each(|fact| fact.polys(&mut |poly| add_symbols(table, poly, &mut symbols)));
    symbols.sort_unstable();
    let mut searcher =
        Searcher { table, facts, symbols, values: FastMap::default(), steps: 0, complete: true };
    match (searcher.run(), searcher.complete) {
        (true, _) => Search::Found(searcher.values),
        (false, true) => Search::Impossible,
        (false, false) => Search::Unknown,
    }
}

/// The symbols of a polynomial, and those that they come from.
fn add_symbols(table: &SymTable, poly: &Poly, symbols: &mut Vec<Sym>) {
    for &(symbol, _) in &poly.terms {
        let info = table.info(symbol);
        for &part in info.product.as_deref().unwrap_or(&[symbol]) {
            if symbols.contains(&part) {
                continue;
            }
            symbols.push(part);
            if let Some(how) = &table.info(part).computed {
                how.polys(&mut |poly| add_symbols(table, poly, symbols));
            }
        }
    }
}

/// The value of a polynomial, products multiplied out.
pub(crate) fn value(table: &SymTable, values: &FastMap<Sym, i64>, poly: &Poly) -> Option<i64> {
    poly.value(|symbol| symbol_value(table, values, symbol))
}

fn symbol_value(table: &SymTable, values: &FastMap<Sym, i64>, symbol: Sym) -> Option<i64> {
    match &table.info(symbol).product {
        Some(factors) => {
            factors.iter().try_fold(1_i64, |product, factor| product.checked_mul(*values.get(factor)?))
        }
        None => values.get(&symbol).copied(),
    }
}

impl Searcher<'_> {
    fn run(&mut self) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.complete = false;
            return false;
        }
        if !self.consistent() {
            return false;
        }
        let Some((symbol, low, high)) = self.next() else {
            let of = |symbol| symbol_value(self.table, &self.values, symbol);
            let holds: Option<Vec<bool>> = self.facts.iter().map(|fact| fact.holds(&of)).collect();
            self.complete &= holds.is_some();
            return holds.is_some_and(|holds| holds.into_iter().all(|holds| holds)) && self.as_computed();
        };
        let (list, all) = candidates(low, high);
        self.complete &= all;
        for value in list {
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

    /// The value of a symbol that comes from others which have theirs.
    fn computed(&self, symbol: Sym) -> Option<i64> {
        let how = self.table.info(symbol).computed.as_ref()?;
        self.table.computed_value(how, &|symbol| self.values.get(&symbol).copied())
    }

    /// Whether what comes from others has the value that it must have.
    fn as_computed(&self) -> bool {
        let right = |(&symbol, &value)| {
            self.table.info(symbol).computed.is_none() || self.computed(symbol) == Some(value)
        };
        self.values.iter().all(right)
    }

    /// The symbol with the narrowest bounds, and those bounds.
    fn next(&self) -> Option<(Sym, Option<i64>, Option<i64>)> {
        let open = self.symbols.iter().copied().filter(|symbol| !self.values.contains_key(symbol));
        let bounded = open.map(|symbol| {
            let (mut low, mut high) = (None, None);
            if let Some(value) = self.computed(symbol) {
                return (symbol, Some(value), Some(value));
            }
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
            Fact::NotZero(_) => return,
            Fact::OneOf(lists) => {
                // The one alternative that is still open must hold.
                let of = |symbol| symbol_value(self.table, &self.values, symbol);
                let mut open =
                    lists.iter().filter(|list| list.iter().all(|fact| fact.holds(&of) != Some(false)));
                if let (Some(list), None) = (open.next(), open.next()) {
                    list.iter().for_each(|fact| self.bound(fact, symbol, low, high));
                }
                return;
            }
        };
        let Some((slope, rest)) = self.line(poly, symbol) else { return };
        let (slope, rest) = (i128::from(slope), i128::from(rest));
        let mut at_least = |bound: i64| *low = Some(low.map_or(bound, |low| low.max(bound)));
        let mut at_most = |bound: i64| *high = Some(high.map_or(bound, |high| high.min(bound)));
        if exact && rest % slope != 0 {
            at_least(1);
            at_most(0);
        } else if exact {
            at_least((-rest / slope) as i64);
            at_most((-rest / slope) as i64);
        } else if slope > 0 {
            at_least(ceiling(-rest, slope));
        } else {
            at_most(floor(rest, -slope));
        }
    }

    /// `slope` and `rest` if the polynomial is `slope * symbol + rest` with the values given so far.
    fn line(&self, poly: &Poly, symbol: Sym) -> Option<(i64, i64)> {
        let (mut slope, mut rest) = (0_i64, poly.constant);
        for &(term, factor) in &poly.terms {
            let single = [term];
            let factors = self.table.info(term).product.as_deref().unwrap_or(&single);
            let mut value = factor;
            for part in factors.iter().filter(|&&part| part != symbol) {
                value = value.checked_mul(*self.values.get(part)?)?;
            }
            match factors.iter().filter(|&&part| part == symbol).count() {
                0 => rest = rest.checked_add(value)?,
                1 => slope = slope.checked_add(value)?,
                _ => return None,
            }
        }
        (slope != 0).then_some((slope, rest))
    }
}

fn floor(value: i128, by: i128) -> i64 {
    value.div_euclid(by) as i64
}

fn ceiling(value: i128, by: i128) -> i64 {
    (-((-value).div_euclid(by))) as i64
}

/// Values to try, and whether these are all there are.
fn candidates(low: Option<i64>, high: Option<i64>) -> (Vec<i64>, bool) {
    match (low, high) {
        (Some(low), Some(high)) if high.saturating_sub(low) < RANGE_MAX => ((low..=high).collect(), true),
        // Small values first, then the far end, where overlaps of ranges often are.
        (Some(low), Some(high)) => {
            ((low..low + TRIES / 2).chain((high - TRIES / 2..=high).rev()).collect(), false)
        }
        (Some(low), None) => ((0..TRIES).map(|step| low.saturating_add(step)).collect(), false),
        (None, Some(high)) => ((0..TRIES).map(|step| high.saturating_sub(step)).collect(), false),
        (None, None) => {
            ((0..TRIES).map(|step| if step % 2 == 0 { step / 2 } else { -(step + 1) / 2 }).collect(), false)
        }
    }
}
