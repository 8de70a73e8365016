//! Owns: `Interval`, what is known of a word that a process will compute.
//! May use: `raddle-bytecode`.
//! Never: less than the word can be.

use raddle_bytecode::effect::Comparison;

/// A word between two, as unsigned numbers, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::report) struct Interval {
    pub(super) lo: u32,
    pub(super) hi: u32,
}

impl Interval {
    /// Any word: nothing is known.
    pub(super) const TOP: Interval = Interval { lo: 0, hi: u32::MAX };

    pub(super) const fn exactly(value: u32) -> Interval {
        Interval { lo: value, hi: value }
    }

    pub(super) const fn below(end: u32) -> Interval {
        Interval { lo: 0, hi: end.saturating_sub(1) }
    }

    /// The word, if it is known.
    pub(in crate::report) fn known(self) -> Option<u32> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub(in crate::report) fn contains(self, value: u32) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// The smallest interval that holds both.
    pub(super) fn join(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What it is once it has been found to be at most that.
    pub(super) fn at_most(self, hi: u32) -> Interval {
        if self.lo > hi { Interval::exactly(hi) } else { Interval { lo: self.lo, hi: self.hi.min(hi) } }
    }

    /// Wrapping, as machines add; `TOP` if some sums wrap and others do not.
    pub(super) fn plus(self, other: Interval) -> Interval {
        let (lo, hi) = (self.lo.wrapping_add(other.lo), self.hi.wrapping_add(other.hi));
        let spans = (self.hi - self.lo).checked_add(other.hi - other.lo);
        if spans.is_some() && lo <= hi { Interval { lo, hi } } else { Interval::TOP }
    }

    pub(super) fn minus(self, other: Interval) -> Interval {
        match other.known() {
            Some(value) => self.plus(Interval::exactly(value.wrapping_neg())),
            None => Interval::TOP,
        }
    }

    /// Wrapping; `TOP` unless one of the two is known.
    pub(super) fn times(self, other: Interval) -> Interval {
        match (self.known(), other.known()) {
            (Some(factor), _) => other.scaled(factor),
            (None, Some(factor)) => self.scaled(factor),
            (None, None) => Interval::TOP,
        }
    }

    fn scaled(self, factor: u32) -> Interval {
        match (self.lo.checked_mul(factor), self.hi.checked_mul(factor)) {
            (Some(lo), Some(hi)) => Interval { lo, hi },
            _ => self.known().map_or(Interval::TOP, |value| Interval::exactly(value.wrapping_mul(factor))),
        }
    }

    /// Whether the comparison holds, with sign; `None` if that is not known.
    pub(super) fn compare(self, comparison: Comparison, other: Interval) -> Option<bool> {
        let (left, right) = (self.known()? as i32, other.known()? as i32);
        Some(match comparison {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::GreaterEqual => left >= right,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_wrap_together_or_are_not_known() {
        let some = Interval { lo: 4, hi: 7 };
        assert_eq!(some.plus(Interval::exactly(u32::MAX)), Interval { lo: 3, hi: 6 });
        assert_eq!(some.minus(Interval::exactly(5)), Interval::TOP);
        assert_eq!(some.plus(Interval::TOP), Interval::TOP);
        assert_eq!(some.times(Interval::exactly(3)), Interval { lo: 12, hi: 21 });
        assert_eq!(Interval::exactly(3).times(some), Interval { lo: 12, hi: 21 });
        assert_eq!(some.times(some), Interval::TOP);
        assert_eq!(some.at_most(5), Interval { lo: 4, hi: 5 });
    }

    #[test]
    fn comparisons_are_with_sign_and_of_known_words() {
        let (minus, one) = (Interval::exactly(u32::MAX), Interval::exactly(1));
        assert_eq!(minus.compare(Comparison::Less, one), Some(true));
        assert_eq!(one.compare(Comparison::GreaterEqual, one), Some(true));
        assert_eq!(one.compare(Comparison::Equal, Interval::below(2)), None);
    }
}
