//! Owns: between which numbers a value lies, by how it is made.
//! May use: `blocks`, `mistakes`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: what a check has shown, where it has not.
//!
//! A value has its range wherever it is, because of the instruction that makes it. What a check has shown of it holds
//! behind that check alone; but what is made there, of what was shown of it, has its range wherever it is, too.

use super::Translation;
use crate::blocks::LEAVES_OUT;
use crate::mistakes::{RangeMistake, makes};
use cranelift_codegen::ir::Value;
use raddle_bytecode::Op;

/// The lowest and the highest number that a word can be, as one with a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Range {
    pub(super) const WORD: Range = Range { low: i32::MIN as i64, high: i32::MAX as i64 };
    pub(super) const BIT: Range = Range { low: 0, high: 1 };
    pub(super) const BYTE: Range = Range { low: 0, high: 255 };
    pub(super) const HALF: Range = Range { low: i16::MIN as i64, high: i16::MAX as i64 };

    pub(super) fn new(low: i64, high: i64) -> Range {
        Range { low, high }
    }

    /// Whether all of it lies in the other one.
    pub(super) fn is_within(self, other: Range) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    pub(super) fn has(self, number: i64) -> bool {
        self.low <= number && number <= self.high
    }

    /// Of all results that the operation can have before they are cut to 32 bits.
    pub(super) fn of(op: Op, left: Range, right: Range) -> Range {
        match op {
            Op::Add => Range::new(left.low + right.low, left.high + right.high),
            Op::Sub => Range::new(left.low - right.high, left.high - right.low),
            _ => {
                let products = [
                    left.low * right.low,
                    left.low * right.high,
                    left.high * right.low,
                    left.high * right.high,
                ];
                let low = products.iter().copied().fold(i64::MAX, i64::min);
                Range::new(low, products.iter().copied().fold(i64::MIN, i64::max))
            }
        }
    }

    /// Of remainders by what is neither 0 nor -1: they have the sign of what is divided.
    pub(super) fn of_remainder(left: Range, right: Range) -> Range {
        let most = right.low.abs().max(right.high.abs()) - 1;
        let (low, high) = ((-most).max(left.low.min(0)), most.min(left.high.max(0)));
        Range::new(low, high)
    }

    fn cut(self) -> Range {
        Range::new(self.low.max(Range::WORD.low), self.high.min(Range::WORD.high))
    }
}

impl Translation<'_, '_> {
    /// Between which numbers a value lies, here.
    pub(super) fn range(&self, value: Value) -> Range {
        let Range { low, high } = self.made_range(value);
        match self.limits.get(&value) {
            Some(&limit) => Range::new(low.max(0), high.min(limit - 1)),
            None => Range::new(low, high),
        }
    }

    /// Between which numbers it lies because of how it was made.
    pub(super) fn made_range(&self, value: Value) -> Range {
        match self.constant_of(value) {
            Some(constant) => Range::new(constant.into(), constant.into()),
            None => self.ranges.get(&value).copied().unwrap_or(Range::WORD),
        }
    }

    /// It has been shown here that a value is less than another one, without sign.
    pub(super) fn note_below(&mut self, value: Value, than: Value) {
        let than = self.range(than);
        if LEAVES_OUT && than.low >= 0 && than.high > 0 {
            let high = than.high - i64::from(makes(RangeMistake::Limit));
            let limit = self.limits.entry(value).or_insert(high);
            *limit = high.min(*limit);
        }
    }

    /// That value, as it was made, lies there.
    pub(super) fn note_range(&mut self, value: Value, range: Range) {
        let range = range.cut();
        if LEAVES_OUT && range != Range::WORD {
            self.ranges.insert(value, range);
        }
    }

    /// Whether a check is left out because all that lies there lies in the other one.
    pub(super) fn is_proved(&mut self, range: Range, other: Range) -> bool {
        self.checks.left_out += u64::from(range.is_within(other));
        range.is_within(other)
    }

    /// Whether a check is left out because the value lies there.
    pub(super) fn is_proved_within(&mut self, value: Value, range: Range) -> bool {
        self.is_proved(self.range(value), range)
    }
}
