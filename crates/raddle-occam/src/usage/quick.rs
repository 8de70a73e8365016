//! Owns: the common cases of "these never meet", without solving.
//! May use: nothing.
//! Never: says "apart" unless it is; anything else is left to `overlap`.
//!
//! PERF: nine in ten questions are `a[i]` against itself in another instance, or constants and small ranges against
//! each other. Answering them here made checking a generated program of 100 000 lines four times as fast.

use super::access::Step;
use super::overlap::Instances;
use super::poly::{Poly, Sym};
use super::table::SymTable;

/// Whether the two paths provably lead to different memory.
pub(crate) fn apart(table: &SymTable, one: &[Step], two: &[Step], instances: &Instances) -> bool {
    for (left, right) in one.iter().zip(two) {
        match (left, right) {
            (Step::Field(left), Step::Field(right)) if left != right => return true,
            (Step::Index(left, _), Step::Index(right, _)) => {
                if indices_apart(table, left, 1, right, 1, instances) {
                    return true;
                }
            }
            (Step::Range(left, length, _), Step::Range(right, count, _)) => {
                let lengths = length.as_constant().zip(count.as_constant());
                return lengths.is_some_and(|(length, count)| {
                    indices_apart(table, left, length, right, count, instances)
                });
            }
            (Step::Field(_), Step::Field(_)) => {}
            _ => return false,
        }
    }
    false
}

/// Whether `left` for `length` and `right` for `count` elements never meet.
fn indices_apart(
    table: &SymTable,
    left: &Poly,
    length: i64,
    right: &Poly,
    count: i64,
    instances: &Instances,
) -> bool {
    match *instances {
        Instances::Same => {
            let Some((low, high)) = difference(table, left, right) else { return false };
            // left + length <= right, or right + count <= left
            high <= -i128::from(length) || low >= i128::from(count)
        }
        Instances::Different { mark, number } => {
            if spread(table, left, right, mark, number) >= i128::from(length.max(count)) {
                return true;
            }
            let (Some(left), Some(right)) = (range(table, left), range(table, right)) else { return false };
            left.1 + i128::from(length) <= right.0 || right.1 + i128::from(count) <= left.0
        }
    }
}

/// How far apart two instances' values are at least, when they differ only by a constant and by a multiple of the
/// instance's number.
fn spread(table: &SymTable, left: &Poly, right: &Poly, mark: u32, number: Sym) -> i128 {
    let step = i128::from(left.factor(number));
    let fixed = left.terms.iter().all(|&(symbol, _)| symbol == number || !table.varies(symbol, mark));
    if step == 0 || !fixed || left.terms != right.terms {
        return 0;
    }
    let offset = i128::from(left.constant) - i128::from(right.constant);
    // The numbers differ by some `rounds` other than 0; the nearest values are those around offset + step * rounds = 0.
    let nearest = (-offset).div_euclid(step);
    let rounds = [nearest - 1, nearest, nearest + 1, nearest + 2, 1, -1];
    let distances =
        rounds.into_iter().filter(|&rounds| rounds != 0).map(|rounds| (offset + step * rounds).abs());
    distances.min().unwrap_or(0)
}

/// The smallest and largest value, where the text gives every symbol's.
pub(crate) fn range(table: &SymTable, poly: &Poly) -> Option<(i128, i128)> {
    let start = i128::from(poly.constant);
    poly.terms.iter().try_fold((start, start), |sum, &(symbol, factor)| add(table, sum, symbol, factor))
}

fn add(table: &SymTable, (low, high): (i128, i128), symbol: Sym, factor: i64) -> Option<(i128, i128)> {
    let (least, most) = **table.info(symbol).range.as_ref()?;
    let ends = (i128::from(least) * i128::from(factor), i128::from(most) * i128::from(factor));
    Some((low + ends.0.min(ends.1), high + ends.0.max(ends.1)))
}

/// The range of `left - right`, symbols on both sides cancelled.
fn difference(table: &SymTable, left: &Poly, right: &Poly) -> Option<(i128, i128)> {
    let start = i128::from(left.constant) - i128::from(right.constant);
    let mut sum = (start, start);
    for &(symbol, factor) in &left.terms {
        let factor = factor.checked_sub(right.factor(symbol))?;
        if factor != 0 {
            sum = add(table, sum, symbol, factor)?;
        }
    }
    for &(symbol, factor) in right.terms.iter().filter(|term| left.factor(term.0) == 0) {
        sum = add(table, sum, symbol, factor.checked_neg()?)?;
    }
    Some(sum)
}
