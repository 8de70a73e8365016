//! Owns: the arithmetic of constants: whole numbers and BOOL within the range of their type.
//! May use: nothing.
//! Never: wraps silently; `None` is what would stop a program.

use super::basic::Basic;

/// The smallest and largest value of a whole-number type.
pub fn range(basic: Basic) -> (i128, i128) {
    match basic {
        Basic::Bool => (0, 1),
        Basic::Byte | Basic::Uint8 => (0, 255),
        Basic::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Basic::Int | Basic::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Basic::Uint16 => (0, u16::MAX.into()),
        Basic::Uint | Basic::Uint32 => (0, u32::MAX.into()),
        Basic::Uint64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

/// What a constant stands for: one of UINT64 is kept as an INT64 of the same bits.
pub fn widen(value: i64, basic: Basic) -> i128 {
    if basic == Basic::Uint64 { i128::from(value as u64) } else { i128::from(value) }
}

/// Brings a value into a type's range, as PLUS, MINUS and TIMES do.
pub fn wrap(value: i128, basic: Basic) -> i64 {
    match basic {
        Basic::Bool => i64::from(value != 0),
        Basic::Byte | Basic::Uint8 => i64::from(value as u8),
        Basic::Int16 => i64::from(value as i16),
        Basic::Int | Basic::Int32 => i64::from(value as i32),
        Basic::Uint16 => i64::from(value as u16),
        Basic::Uint | Basic::Uint32 => i64::from(value as u32),
        _ => value as i64,
    }
}

/// The value, if it is in the type's range.
pub fn in_range(value: i128, basic: Basic) -> Option<i64> {
    let (low, high) = range(basic);
    (low..=high).contains(&value).then_some(value as i64)
}

/// The value of a literal; a hexadecimal one may set the sign's bit.
pub fn literal(value: u64, hex: bool, basic: Basic) -> Option<i64> {
    if hex || basic == Basic::Uint64 {
        Some(wrap(i128::from(value), basic))
    } else {
        i64::try_from(value).ok()
    }
}

fn bits(basic: Basic) -> i64 {
    match basic {
        Basic::Byte | Basic::Bool | Basic::Uint8 => 8,
        Basic::Int16 | Basic::Uint16 => 16,
        Basic::Int64 | Basic::Uint64 => 64,
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
    let half = 1_i128 << (bits(basic) - 1);
    let distance = (a - b) & (2 * half - 1);
    truth(distance != 0 && distance < half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Dyadic;

    #[test]
    fn the_largest_product_has_no_room_and_wraps() {
        let most = wrap(i128::from(u64::MAX), Basic::Uint64);
        assert_eq!(Dyadic::Multiply.fold(most, most, Basic::Uint64), None);
        assert_eq!(Dyadic::Times.fold(most, most, Basic::Uint64), Some(1));
    }
}
