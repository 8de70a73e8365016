//! Owns: whether facts about whole numbers can all hold.
//! May use: nothing.
//! Never: says "impossible" unless it is; that answer makes a program acceptable.
//!
//! After Pugh's Omega test (CACM 35(8), 1992), cut down to what subscripts need. Equations are eliminated exactly,
//! with Pugh's modulus trick where no factor is 1. Inequalities are tightened to whole numbers and eliminated by
//! Fourier and Motzkin's method; the real shadow is enough for "impossible", since it only grows the solutions.
//! Alternatives are tried one by one. Products enter by lemmas: an inequality times a symbol that is not negative.
//! Every limit that is hit answers "possible", which costs the author a message, never soundness.

use super::poly::{Fact, Poly, Sym};
use super::table::SymTable;

/// Facts that must hold together, alternatives apart.
#[derive(Clone, Default)]
struct System {
    zero: Vec<Poly>,
    not_negative: Vec<Poly>,
    choices: Vec<Vec<Vec<Fact>>>,
    impossible: bool,
}

const LEAVES_MAX: u32 = 200;
const INEQUALITIES_MAX: usize = 120;
const EQUATION_STEPS_MAX: u32 = 60;
const LEMMAS_MAX: usize = 60;

/// Whether the facts cannot all hold.
pub(crate) fn impossible(table: &mut SymTable, facts: &[Fact]) -> bool {
    let mut system = System::default();
    facts.iter().for_each(|fact| system.add(fact));
    let mut leaves = 0;
    !possible(table, system, &mut leaves)
}

impl System {
    fn add(&mut self, fact: &Fact) {
        match fact {
            Fact::Zero(poly) => self.zero.push(poly.clone()),
            Fact::NotNegative(poly) => self.not_negative.push(poly.clone()),
            Fact::NotZero(poly) => {
                let sides = (poly.add(-1), poly.scale(-1).and_then(|poly| poly.add(-1)));
                if let (Some(above), Some(below)) = sides {
                    self.choices.push(vec![vec![Fact::NotNegative(above)], vec![Fact::NotNegative(below)]]);
                }
            }
            Fact::OneOf(lists) => match lists.as_slice() {
                [] => self.impossible = true,
                [only] => only.iter().for_each(|fact| self.add(fact)),
                _ => self.choices.push(lists.clone()),
            },
        }
    }
}

/// Splits alternatives until none is left or nothing can hold.
fn possible(table: &mut SymTable, mut system: System, leaves: &mut u32) -> bool {
    *leaves += 1;
    if *leaves > LEAVES_MAX {
        return true;
    }
    if system.impossible || !conjunction(table, &system) {
        return false;
    }
    let Some(lists) = system.choices.pop().or_else(|| split_products(table, &system)) else { return true };
    lists.iter().any(|list| {
        let mut next = system.clone();
        list.iter().for_each(|fact| next.add(fact));
        possible(table, next, leaves)
    })
}

/// For two products with a factor in common, the order of the other factors, unless it is known.
fn split_products(table: &SymTable, system: &System) -> Option<Vec<Vec<Fact>>> {
    let symbols = symbols_of(system);
    let pairs: Vec<(Sym, Sym)> = symbols
        .iter()
        .filter_map(|&symbol| match table.info(symbol).product.as_deref() {
            Some(&[left, right]) => Some((left, right)),
            _ => None,
        })
        .collect();
    let sides = |(left, right): (Sym, Sym)| [(left, right), (right, left)];
    for (at, &one) in pairs.iter().enumerate() {
        for &two in &pairs[at + 1..] {
            for (common, first) in sides(one) {
                for (other, second) in sides(two) {
                    if common == other && first != second {
                        let order = order(first, second)?;
                        let decided = order.iter().flatten().any(|fact| match fact {
                            Fact::NotNegative(poly) => system.not_negative.contains(poly),
                            Fact::Zero(poly) => system.zero.contains(poly),
                            _ => false,
                        });
                        if !decided {
                            return Some(order);
                        }
                    }
                }
            }
        }
    }
    None
}

fn order(first: Sym, second: Sym) -> Option<Vec<Vec<Fact>>> {
    let difference = Poly::symbol(first).minus(&Poly::symbol(second))?;
    let above = Fact::NotNegative(difference.add(-1)?);
    let below = Fact::NotNegative(difference.scale(-1)?.add(-1)?);
    Some(vec![vec![Fact::Zero(difference)], vec![above], vec![below]])
}

fn symbols_of(system: &System) -> Vec<Sym> {
    let polys = system.zero.iter().chain(&system.not_negative);
    let mut symbols: Vec<Sym> = polys.flat_map(|poly| poly.terms.iter().map(|term| term.0)).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Whether equations and inequalities can hold together, alternatives left out.
fn conjunction(table: &mut SymTable, system: &System) -> bool {
    let (mut zero, mut not_negative) = (system.zero.clone(), system.not_negative.clone());
    if !eliminate_equations(table, &mut zero, &mut not_negative) {
        return false;
    }
    if !shadow(not_negative.clone()) {
        return false;
    }
    let lemmas = lemmas(table, &not_negative);
    if lemmas.is_empty() {
        return true;
    }
    not_negative.extend(lemmas);
    shadow(not_negative)
}

/// Uses up the equations; `false` if one cannot hold.
fn eliminate_equations(table: &mut SymTable, zero: &mut Vec<Poly>, not_negative: &mut Vec<Poly>) -> bool {
    let mut steps = 0;
    while !zero.is_empty() {
        // Equations about products come last: the factors may become known first.
        let easy = zero.iter().rposition(|poly| {
            poly.terms
                .iter()
                .any(|&(symbol, factor)| factor.abs() == 1 && table.info(symbol).product.is_none())
        });
        let equation = zero.swap_remove(easy.unwrap_or(zero.len() - 1));
        let divisor = equation.terms.iter().fold(0, |divisor, term| gcd(divisor, term.1));
        if divisor == 0 {
            if equation.constant != 0 {
                return false;
            }
            continue;
        }
        if equation.constant % divisor != 0 {
            return false;
        }
        steps += 1;
        if steps > EQUATION_STEPS_MAX {
            continue;
        }
        if !solvable(table, &equation) {
            not_negative.extend(equation.scale(-1));
            not_negative.push(equation);
            continue;
        }
        let Some((symbol, value, keep)) = solve_for(table, &equation, divisor) else { continue };
        if keep {
            zero.push(equation);
        }
        for poly in zero.iter_mut().chain(not_negative.iter_mut()) {
            let replaced = replace(table, poly, symbol, &value);
            // What cannot be computed is forgotten.
            *poly = replaced.unwrap_or_default();
        }
    }
    true
}

/// Whether a symbol of the equation, which is no product, is not a factor of another of its terms.
fn solvable(table: &SymTable, equation: &Poly) -> bool {
    let factor_of = |symbol: Sym, other: Sym| {
        table.info(other).product.as_ref().is_some_and(|factors| factors.contains(&symbol))
    };
    let alone = |symbol: Sym| !equation.terms.iter().any(|&(other, _)| factor_of(symbol, other));
    equation.terms.iter().any(|&(symbol, _)| table.info(symbol).product.is_none() && alone(symbol))
}

/// A symbol of the equation and its value by the others; `true` if the equation is not used up by that.
fn solve_for(table: &mut SymTable, equation: &Poly, divisor: i64) -> Option<(Sym, Poly, bool)> {
    let divided = Poly {
        constant: equation.constant / divisor,
        terms: equation.terms.iter().map(|&(symbol, factor)| (symbol, factor / divisor)).collect(),
    };
    let plain = |symbol: Sym, table: &SymTable| table.info(symbol).product.is_none();
    // A symbol that is a factor of another term cannot be replaced by a value that still holds it.
    let usable = |symbol: Sym| {
        divided.terms.iter().all(|&(other, _)| {
            other == symbol
                || table.info(other).product.as_ref().is_none_or(|factors| !factors.contains(&symbol))
        })
    };
    let units = || divided.terms.iter().filter(|term| term.1.abs() == 1 && usable(term.0));
    let unit = units().find(|term| plain(term.0, table)).or_else(|| units().next());
    if let Some(&(symbol, factor)) = unit {
        let rest = divided.minus(&Poly::symbol(symbol).scale(factor)?)?;
        return Some((symbol, rest.scale(-factor)?, false));
    }
    let &(symbol, factor) =
        divided.terms.iter().filter(|term| usable(term.0)).min_by_key(|term| term.1.abs())?;
    let modulus = factor.checked_abs()?.checked_add(1)?;
    let sign = factor.signum();
    let fresh = table.fresh();
    let mut value = Poly::symbol(fresh).scale(modulus.checked_mul(-sign)?)?;
    for &(other, count) in divided.terms.iter().filter(|term| term.0 != symbol) {
        value = value.plus(&Poly::symbol(other), sign.checked_mul(symmetric(count, modulus))?)?;
    }
    let value = value.add(sign.checked_mul(symmetric(divided.constant, modulus))?)?;
    Some((symbol, value, true))
}

/// `value` modulo `modulus`, in the symmetric range of Pugh's paper.
fn symmetric(value: i64, modulus: i64) -> i64 {
    let rest = value.rem_euclid(modulus);
    if rest * 2 >= modulus { rest - modulus } else { rest }
}

fn replace(table: &mut SymTable, poly: &Poly, symbol: Sym, value: &Poly) -> Option<Poly> {
    let inside =
        |other: Sym| table.info(other).product.as_ref().is_some_and(|factors| factors.contains(&symbol));
    if poly.terms.iter().any(|&(other, _)| inside(other)) {
        return table.substitute(poly, &mut |_, part| {
            Some(if part == symbol { value.clone() } else { Poly::symbol(part) })
        });
    }
    let factor = poly.factor(symbol);
    if factor == 0 {
        return Some(poly.clone());
    }
    poly.minus(&Poly::symbol(symbol).scale(factor)?)?.plus(value, factor)
}

/// Whether the inequalities have a solution in real numbers, after tightening to whole ones.
fn shadow(mut list: Vec<Poly>) -> bool {
    loop {
        list.iter_mut().for_each(tighten);
        if list.iter().any(|poly| poly.terms.is_empty() && poly.constant < 0) {
            return false;
        }
        list.retain(|poly| !poly.terms.is_empty());
        list.sort_unstable_by(|one, two| (&one.terms, one.constant).cmp(&(&two.terms, two.constant)));
        list.dedup_by(|later, kept| later.terms == kept.terms);
        let Some(symbol) = cheapest(&list) else { return true };
        let (mut lower, mut upper, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for poly in list {
            match poly.factor(symbol) {
                0 => rest.push(poly),
                1.. => lower.push(poly),
                _ => upper.push(poly),
            }
        }
        for low in &lower {
            for high in &upper {
                let (low_factor, high_factor) = (low.factor(symbol), -high.factor(symbol));
                let sum = low.scale(high_factor).and_then(|low| low.plus(high, low_factor));
                rest.extend(sum);
            }
        }
        if rest.len() > INEQUALITIES_MAX {
            return true;
        }
        list = rest;
    }
}

fn tighten(poly: &mut Poly) {
    let divisor = poly.terms.iter().fold(0, |divisor, term| gcd(divisor, term.1));
    if divisor > 1 {
        poly.terms.iter_mut().for_each(|term| term.1 /= divisor);
        poly.constant = poly.constant.div_euclid(divisor);
    }
}

/// The symbol whose elimination makes the fewest new inequalities.
fn cheapest(list: &[Poly]) -> Option<Sym> {
    let mut counts: Vec<(Sym, usize, usize)> = Vec::new();
    for &(symbol, factor) in list.iter().flat_map(|poly| &poly.terms) {
        let at = counts.iter().position(|count| count.0 == symbol).unwrap_or_else(|| {
            counts.push((symbol, 0, 0));
            counts.len() - 1
        });
        if factor > 0 { counts[at].1 += 1 } else { counts[at].2 += 1 }
    }
    counts.into_iter().min_by_key(|&(_, lower, upper)| lower * upper).map(|count| count.0)
}

/// Inequalities about products that follow from those about their factors.
fn lemmas(table: &mut SymTable, list: &[Poly]) -> Vec<Poly> {
    let mut products: Vec<(Sym, Sym, Sym)> = Vec::new();
    for &(symbol, _) in list.iter().flat_map(|poly| &poly.terms) {
        if let Some(&[left, right]) = table.info(symbol).product.as_deref()
            && !products.iter().any(|product| product.0 == symbol)
        {
            products.push((symbol, left, right));
        }
    }
    let mut lemmas = Vec::new();
    for &(product, left, right) in &products {
        if left == right {
            let square = Poly::symbol(product);
            let side = Poly::symbol(left);
            lemmas.extend([square.plus(&side, 1), square.plus(&side, -1)].into_iter().flatten());
        }
        for (factor, other) in [(left, right), (right, left)] {
            let Some(sign) = sign(list, factor) else { continue };
            let Some(factor) = Poly::symbol(factor).scale(sign) else { continue };
            for poly in list.iter().filter(|poly| poly.factor(other) != 0 && poly.terms.len() <= 4) {
                if lemmas.len() < LEMMAS_MAX
                    && poly.terms.iter().all(|term| table.info(term.0).product.is_none())
                {
                    lemmas.extend(table.times(poly, &factor));
                }
            }
        }
    }
    lemmas
}

/// 1 or -1 if the symbol, times that, is never negative.
fn sign(list: &[Poly], symbol: Sym) -> Option<i64> {
    [1, -1].into_iter().find(|&sign| {
        let mut list = list.to_vec();
        let below = Poly::symbol(symbol).scale(-sign).and_then(|poly| poly.add(-1));
        below.is_some_and(|below| {
            list.push(below);
            !shadow(list)
        })
    })
}

fn gcd(left: i64, right: i64) -> i64 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    i64::try_from(left).unwrap_or(1)
}
