//! Owns: `Value`, what is known of a word that a process will compute.
//! May use: nothing.
//! Never: less than the word can be.

/// A word between two, as unsigned numbers, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::report) struct Value {
    pub(super) lo: u32,
    pub(super) hi: u32,
}

impl Value {
    pub(super) const ANY: Value = Value { lo: 0, hi: u32::MAX };

    pub(super) const fn is(value: u32) -> Value {
        Value { lo: value, hi: value }
    }

    pub(super) const fn below(end: u32) -> Value {
        Value { lo: 0, hi: end.saturating_sub(1) }
    }

    /// The word, if it is known.
    pub(in crate::report) fn known(self) -> Option<u32> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub(in crate::report) fn holds(self, value: u32) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    pub(super) fn hull(self, other: Value) -> Value {
        Value { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What it is once it has been found to be at most that.
    pub(super) fn at_most(self, hi: u32) -> Value {
        if self.lo > hi { Value::is(hi) } else { Value { lo: self.lo, hi: self.hi.min(hi) } }
    }

    /// Wrapping, as machines add; `ANY` if some sums wrap and others do not.
    pub(super) fn plus(self, other: Value) -> Value {
        let (lo, hi) = (self.lo.wrapping_add(other.lo), self.hi.wrapping_add(other.hi));
        let spans = (self.hi - self.lo).checked_add(other.hi - other.lo);
        if spans.is_some() && lo <= hi { Value { lo, hi } } else { Value::ANY }
    }

    pub(super) fn minus(self, other: Value) -> Value {
        match other.known() {
            Some(value) => self.plus(Value::is(value.wrapping_neg())),
            None => Value::ANY,
        }
    }

    pub(super) fn times(self, factor: u32) -> Value {
        match (self.lo.checked_mul(factor), self.hi.checked_mul(factor)) {
            (Some(lo), Some(hi)) => Value { lo, hi },
            _ => self.known().map_or(Value::ANY, |value| Value::is(value.wrapping_mul(factor))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn sums_wrap_together_or_are_not_known() {
        let some = Value { lo: 4, hi: 7 };
        assert_eq!(some.plus(Value::is(u32::MAX)), Value { lo: 3, hi: 6 });
        assert_eq!(some.minus(Value::is(5)), Value::ANY);
        assert_eq!(some.plus(Value::ANY), Value::ANY);
        assert_eq!(some.times(3), Value { lo: 12, hi: 21 });
        assert_eq!(some.at_most(5), Value { lo: 4, hi: 5 });
    }
}
