//! Owns: which accesses to one variable may be to the same elements, found by sorting and not pair by pair.
//! May use: nothing.
//! Never: leaves out a pair that may meet.
//!
//! An access that begins with indices or a slice whose bounds the text gives touches an interval of elements; all
//! others may be anywhere. Intervals lie in classes by length, in order of their beginning, so that those which overlap
//! a given one are found by a search in each class. Of accesses that only read, just those that do not are of interest.
//! The branches are looked at in order, and what belongs to one is taken out before: what is left belongs to later
//! ones. PERF: a PAR of 8000 branches, each with an element of its own, was checked in 1.8 s, and four times as long
//! for twice as many; bench `check_wide`.
//!
//! Several dimensions are one: if all second indices are from 0 to 9, `a[i][j]` is the element `i * 10 + j`. Whoever
//! may have any second index has all of 0 to 9. If two accesses have an index in common in each dimension, they have
//! such an element in common; so where these do not meet, the accesses do not, either. And where the text gives no
//! bounds for most, as in `a[v]`, `a[v + 1]` and so on, elements are counted from `v` on, which has one value in all
//! branches.

use super::access::{Access, Step, Use};
use super::poly::Sym;
use super::quick;
use super::table::SymTable;
use std::collections::{BTreeSet, HashMap};

/// From the first element up to the last.
type Interval = (i128, i128);

/// The intervals of one class: first, last, and the access's place in the group.
type Class = BTreeSet<(i128, i128, usize)>;

/// Accesses by what they touch.
#[derive(Default)]
struct Index {
    /// By the binary logarithm of their length.
    classes: Vec<Class>,
    anywhere: BTreeSet<usize>,
}

/// The accesses of a group that are not yet looked at.
pub(crate) struct Nearby {
    intervals: Vec<Option<Interval>>,
    all: Index,
    /// Those that do not only read.
    changing: Index,
}

/// How the elements of a group's variable are counted.
struct Count {
    /// From where on in the first dimension: from what these terms add up to.
    from: Vec<(Sym, i64)>,
    /// The smallest and the largest index that the text gives, in each further dimension.
    further: Vec<Interval>,
}

/// Further dimensions than that are not told apart.
const FURTHER_MAX: usize = 3;

fn class_of(first: i128, last: i128) -> usize {
    (last - first).max(0).checked_ilog2().map_or(0, |log| log as usize + 1)
}

impl Count {
    fn of<'a>(table: &SymTable, group: impl Iterator<Item = &'a Access> + Clone) -> Count {
        let mut count = Count { from: common_terms(table, group.clone()), further: Vec::new() };
        for depth in 1..=FURTHER_MAX {
            let known = group.clone().filter_map(|access| count.step(table, access, depth));
            let Some(all) = known.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1))) else { break };
            count.further.push(all);
        }
        count
    }

    /// The first and the last index in a dimension, if the text gives them.
    fn step(&self, table: &SymTable, access: &Access, depth: usize) -> Option<Interval> {
        let (at, count) = match access.path.get(depth)? {
            Step::Index(at, _) => (at, 1),
            Step::Range(from, count, _) => (from, count.as_constant()?),
            Step::Field(_) | Step::Size => return None,
        };
        let (first, last) = if depth > 0 || self.from.is_empty() {
            quick::range(table, at)?
        } else {
            let constant = i128::from(at.constant);
            (*at.terms == *self.from).then_some((constant, constant))?
        };
        Some((first, last.checked_add(i128::from(count.max(1)) - 1)?))
    }

    /// The elements that an access touches, if the text gives their bounds.
    fn interval(&self, table: &SymTable, access: &Access) -> Option<Interval> {
        let mut leads = matches!(access.path.first(), Some(Step::Index(..)));
        let (mut first, mut last) = self.step(table, access, 0)?;
        for (number, all) in self.further.iter().enumerate() {
            let depth = number + 1;
            // What is further in than a slice, or a field, has no dimension of its own here.
            let known = if leads { self.step(table, access, depth) } else { None };
            leads &= matches!(access.path.get(depth), Some(Step::Index(..)));
            let (low, high) = known.unwrap_or(*all);
            let size = all.1.checked_sub(all.0)?.checked_add(1)?;
            first = first.checked_mul(size)?.checked_add(low - all.0)?;
            last = last.checked_mul(size)?.checked_add(high - all.0)?;
        }
        Some((first, last))
    }
}

/// The terms that most first indices have in common, if the text gives no bounds for most of them; else none.
fn common_terms<'a>(table: &SymTable, group: impl Iterator<Item = &'a Access>) -> Vec<(Sym, i64)> {
    let (mut bounded, mut counts) = (0_usize, HashMap::<&[(Sym, i64)], usize>::new());
    for access in group {
        if let Some(Step::Index(at, _) | Step::Range(at, ..)) = access.path.first() {
            if quick::range(table, at).is_some() {
                bounded += 1;
            } else {
                *counts.entry(&at.terms).or_default() += 1;
            }
        }
    }
    // Of two that are as frequent, any: which pairs are left out may differ, and what is reported does not.
    let most = counts.into_iter().max_by_key(|&(terms, count)| (count, terms));
    most.filter(|&(_, count)| count > bounded).map_or_else(Vec::new, |(terms, _)| terms.to_vec())
}

impl Index {
    fn add(&mut self, place: usize, interval: Option<Interval>) {
        let Some((first, last)) = interval else {
            self.anywhere.insert(place);
            return;
        };
        let class = class_of(first, last);
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::new);
        }
        self.classes[class].insert((first, last, place));
    }

    fn remove(&mut self, place: usize, interval: Option<Interval>) {
        match interval {
            None => self.anywhere.remove(&place),
            Some((first, last)) => self
                .classes
                .get_mut(class_of(first, last))
                .is_some_and(|class| class.remove(&(first, last, place))),
        };
    }

    /// Gives the places of all that may overlap an interval.
    fn overlapping(&self, interval: Option<Interval>, found: &mut Vec<usize>) {
        found.extend(&self.anywhere);
        for (number, class) in self.classes.iter().enumerate() {
            let Some((first, last)) = interval else {
                found.extend(class.iter().map(|one| one.2));
                continue;
            };
            // In this class none has more elements than that.
            let longest = 1_i128 << number;
            let near = class.range((first - longest + 1, i128::MIN, 0)..=(last, i128::MAX, usize::MAX));
            found.extend(near.filter(|one| one.1 >= first).map(|one| one.2));
        }
    }
}

impl Nearby {
    /// Of these accesses, which are those of a group in order.
    pub(crate) fn new<'a>(table: &SymTable, group: impl Iterator<Item = &'a Access> + Clone) -> Nearby {
        let count = Count::of(table, group.clone());
        let mut nearby = Nearby { intervals: Vec::new(), all: Index::default(), changing: Index::default() };
        for (place, access) in group.enumerate() {
            let interval = count.interval(table, access);
            nearby.intervals.push(interval);
            nearby.all.add(place, interval);
            if access.what != Use::Read {
                nearby.changing.add(place, interval);
            }
        }
        nearby
    }

    /// The access at this place is not asked for any more.
    pub(crate) fn leave_out(&mut self, place: usize) {
        self.all.remove(place, self.intervals[place]);
        self.changing.remove(place, self.intervals[place]);
    }

    /// The places, in order, whose accesses may be to the same elements as that at `place`, and are not both reads.
    pub(crate) fn of(&self, place: usize, what: Use, found: &mut Vec<usize>) {
        found.clear();
        let index = if what == Use::Read { &self.changing } else { &self.all };
        index.overlapping(self.intervals[place], found);
        found.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each overlapping pair of these intervals, and no other.
    fn pairs(intervals: &[Option<Interval>]) -> Vec<(usize, usize)> {
        let mut index = Index::default();
        intervals.iter().enumerate().for_each(|(place, interval)| index.add(place, *interval));
        let mut pairs = Vec::new();
        for (place, interval) in intervals.iter().enumerate() {
            let mut found = Vec::new();
            index.overlapping(*interval, &mut found);
            pairs.extend(found.into_iter().map(|other| (place, other)));
        }
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn what_overlaps_is_found_and_nothing_else() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut some = || {
                let (first, length) = (i128::from(next(100)) - 50, 1 << next(8));
                (next(10) > 0).then(|| (first, first + i128::from(next(length))))
            };
            let intervals: Vec<_> = (0..20).map(|_| some()).collect();
            let overlap = |one: Option<Interval>, two: Option<Interval>| {
                one.zip(two).is_none_or(|(one, two)| one.0 <= two.1 && two.0 <= one.1)
            };
            let places = 0..intervals.len();
            let all = places.clone().flat_map(|one| places.clone().map(move |two| (one, two)));
            let wanted: Vec<_> = all.filter(|&(one, two)| overlap(intervals[one], intervals[two])).collect();
            assert_eq!(pairs(&intervals), wanted);
        }
    }
}
