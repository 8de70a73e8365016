//! Owns: the arithmetic of constants: whole numbers and BOOL within the range of their type.
//! May use: nothing.
//! Never: wraps silently; `None` is what would stop a program.

use super::basic::Basic;

/// The smallest and largest value of a whole-number type.
pub fn range(basic: Basic) -> (i64, i64) {
    match basic {
        Basic::Bool => (0, 1),
        Basic::Byte => (0, 255),
        Basic::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Basic::Int | Basic::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Brings a value into a type's range, as PLUS, MINUS and TIMES do.
pub fn wrap(value: i128, basic: Basic) -> i64 {
    match basic {
        Basic::Bool => i64::from(value != 0),
        Basic::Byte => i64::from(value as u8),
        Basic::Int16 => i64::from(value as i16),
        Basic::Int | Basic::Int32 => i64::from(value as i32),
        _ => value as i64,
    }
}

/// The value, if it is in the type's range.
pub fn in_range(value: i128, basic: Basic) -> Option<i64> {
    let (low, high) = range(basic);
    (i128::from(low)..=i128::from(high)).contains(&value).then_some(value as i64)
}

fn bits(basic: Basic) -> i64 {
    match basic {
        Basic::Byte | Basic::Bool => 8,
        Basic::Int16 => 16,
        Basic::Int64 => 64,
        _ => 32,
    }
}

pub(super) fn truth(holds: bool) -> Option<i64> {
    Some(i64::from(holds))
}

pub(super) fn quotient(a: i128, b: i128, basic: Basic) -> Option<i64> {
    if b == 0 { None } else { in_range(a / b, basic) }
}

pub(super) fn remainder(a: i128, b: i128, _: Basic) -> Option<i64> {
    if b == 0 { None } else { Some((a % b) as i64) }
}

fn places(count: i128, basic: Basic) -> Option<i128> {
    (0..=i128::from(bits(basic))).contains(&count).then_some(count)
}

pub(super) fn shifted_left(a: i128, count: i128, basic: Basic) -> Option<i64> {
    places(count, basic).map(|places| wrap(a << places, basic))
}

pub(super) fn shifted_right(a: i128, count: i128, basic: Basic) -> Option<i64> {
    places(count, basic).map(|places| wrap((a & ((1_i128 << bits(basic)) - 1)) >> places, basic))
}

pub(super) fn after(a: i128, b: i128, basic: Basic) -> Option<i64> {
    let distance = wrap(a - b, basic);
    truth(if basic == Basic::Byte { distance < 128 && a != b } else { distance > 0 })
}
