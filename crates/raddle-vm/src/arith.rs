//! Owns: arithmetic that is more than one operator: shifts, roundings, the predefined routines.
//! May use: `libm`, `raddle-bytecode`.
//! Never: the machine's state.

use core::fmt;
use core::str::FromStr;
use raddle_bytecode::{Long, Real, Trap};

/// `value << places` of occam: 0 to 32 places.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn shl(value: u32, places: u32) -> Option<u32> {
    (places <= 32).then(|| value.checked_shl(places).unwrap_or(0))
}

/// `value >> places` of occam, zeros shifted in.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn shr(value: u32, places: u32) -> Option<u32> {
    (places <= 32).then(|| value.checked_shr(places).unwrap_or(0))
}

#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn shl_l(value: u64, places: u32) -> Option<u64> {
    (places <= 64).then(|| value.checked_shl(places).unwrap_or(0))
}

#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn shr_l(value: u64, places: u32) -> Option<u64> {
    (places <= 64).then(|| value.checked_shr(places).unwrap_or(0))
}

fn rounded(value: f64, mode: u16) -> f64 {
    if mode == 0 { libm::rint(value) } else { libm::trunc(value) }
}

/// A real as INT32, rounded by `mode`.
pub(crate) fn to_w(value: f64, mode: u16) -> Option<u32> {
    let value = rounded(value, mode);
    (-2_147_483_648.0..2_147_483_648.0).contains(&value).then_some(value as i32 as u32)
}

/// A real as INT64, rounded by `mode`.
pub(crate) fn to_l(value: f64, mode: u16) -> Option<u64> {
    let value = rounded(value, mode);
    let limit = 9_223_372_036_854_775_808.0;
    (-limit..limit).contains(&value).then_some(value as i64 as u64)
}

/// To REAL32; truncated if `mode` is 1.
pub(crate) fn narrow(value: f64, mode: u16) -> f32 {
    let near = value as f32;
    let away = libm::fabs(f64::from(near)) > libm::fabs(value);
    if mode == 1 && away && near.is_finite() { towards_zero(near) } else { near }
}

fn towards_zero(value: f32) -> f32 {
    f32::from_bits(value.to_bits() - 1)
}

/// An INT64 as REAL64; truncated if `mode` is 1.
pub(crate) fn l_to_d(value: i64, mode: u16) -> f64 {
    let near = value as f64;
    if mode == 1 && (near as i128).unsigned_abs() > i128::from(value).unsigned_abs() {
        return f64::from_bits(near.to_bits() - 1);
    }
    near
}

/// An INT64 as REAL32; truncated if `mode` is 1.
pub(crate) fn l_to_f(value: i64, mode: u16) -> f32 {
    let near = value as f32;
    if mode == 1 && (near as i128).unsigned_abs() > i128::from(value).unsigned_abs() {
        return towards_zero(near);
    }
    near
}

/// IEEE remainder: `x - y * n`, where n is the whole number nearest to `x / y`.
pub(crate) fn rem(x: f64, y: f64) -> f64 {
    libm::remainder(x, y)
}

pub(crate) fn rem_f(x: f32, y: f32) -> f32 {
    libm::remainderf(x, y)
}

macro_rules! real {
    ($name:ident $type:ty: $abs:ident $sqrt:ident $trunc:ident $rint:ident $floor:ident $exp:ident $log:ident
     $log10:ident $sin:ident $cos:ident $tan:ident $asin:ident $acos:ident $atan:ident $sinh:ident $cosh:ident
     $tanh:ident) => {
        /// A function of one real number.
        pub(crate) fn $name(function: u16, x: $type) -> $type {
            match Real::from_number(i32::from(function)) {
                None => x,
                Some(Real::Abs) => libm::$abs(x),
                Some(Real::Sqrt) => libm::$sqrt(x),
                Some(Real::Trunc) => libm::$trunc(x),
                Some(Real::Round) => libm::$rint(x),
                Some(Real::Floor) => libm::$floor(x),
                Some(Real::Exp) => libm::$exp(x),
                Some(Real::Log) => libm::$log(x),
                Some(Real::Log10) => libm::$log10(x),
                Some(Real::Sin) => libm::$sin(x),
                Some(Real::Cos) => libm::$cos(x),
                Some(Real::Tan) => libm::$tan(x),
                Some(Real::Asin) => libm::$asin(x),
                Some(Real::Acos) => libm::$acos(x),
                Some(Real::Atan) => libm::$atan(x),
                Some(Real::Sinh) => libm::$sinh(x),
                Some(Real::Cosh) => libm::$cosh(x),
                Some(Real::Tanh) => libm::$tanh(x),
            }
        }
    };
}
real!(real_d f64: fabs sqrt trunc rint floor exp log log10 sin cos tan asin acos atan sinh cosh tanh);
real!(real_f f32: fabsf sqrtf truncf rintf floorf expf logf log10f sinf cosf tanf asinf acosf atanf sinhf coshf tanhf);

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn split(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

/// A predefined routine on `args`; what comes out is put from the front.
pub(crate) fn long(routine: Long, args: &mut [u32; 8]) -> Result<(), Trap> {
    let [a, b, c, ..] = *args;
    let carry = c & 1;
    match routine {
        Long::LongAdd => {
            let sum = i64::from(a as i32) + i64::from(b as i32) + i64::from(carry);
            args[0] = i32::try_from(sum).map_err(|_| Trap::Overflow)? as u32;
        }
        Long::LongSub => {
            let difference = i64::from(a as i32) - i64::from(b as i32) - i64::from(carry);
            args[0] = i32::try_from(difference).map_err(|_| Trap::Overflow)? as u32;
        }
        Long::LongSum => args[..2].copy_from_slice(&split(u64::from(a) + u64::from(b) + u64::from(carry))),
        Long::LongDiff => {
            let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(carry));
            args[..2].copy_from_slice(&[u32::from(difference >> 32 != 0), difference as u32]);
        }
        Long::LongProd => args[..2].copy_from_slice(&split(u64::from(a) * u64::from(b) + u64::from(c))),
        Long::LongDiv => {
            let (high, divisor) = (a, c);
            if high >= divisor {
                return Err(Trap::Overflow);
            }
            let whole = pair(a, b);
            args[0] = (whole / u64::from(divisor)) as u32;
            args[1] = (whole % u64::from(divisor)) as u32;
        }
        _ if cfg!(feature = "reals") && on_reals(routine, args) => {}
        _ => return bits(routine, args),
    }
    Ok(())
}

/// The routines on reals; false if it is none of them.
fn on_reals(routine: Long, args: &mut [u32; 8]) -> bool {
    let [a, b, c, d, ..] = *args;
    let (x, y) = (pair(b, a), pair(d, c));
    match routine {
        Long::PowF => args[0] = libm::powf(f32::from_bits(a), f32::from_bits(b)).to_bits(),
        Long::Atan2F => args[0] = libm::atan2f(f32::from_bits(a), f32::from_bits(b)).to_bits(),
        Long::ScaleF => args[0] = libm::scalbnf(f32::from_bits(a), b as i32).to_bits(),
        Long::PowD => real_pair(args, libm::pow(f64::from_bits(x), f64::from_bits(y))),
        Long::Atan2D => real_pair(args, libm::atan2(f64::from_bits(x), f64::from_bits(y))),
        Long::ScaleD => real_pair(args, libm::scalbn(f64::from_bits(x), c as i32)),
        Long::DigitsF => digits(args, f32::from_bits(a).is_finite(), format_args!("{:e}", f32::from_bits(a))),
        Long::DigitsD => digits(args, f64::from_bits(x).is_finite(), format_args!("{:e}", f64::from_bits(x))),
        Long::RealF => args[0] = nearest(x, c as i32, f32::INFINITY).to_bits(),
        Long::RealD => real_pair(args, nearest(x, c as i32, f64::INFINITY)),
        _ => return false,
    }
    true
}

/// The nearest real to `digits` times a power of ten, by way of its text, as with [`digits`].
fn nearest<R: FromStr>(digits: u64, exponent: i32, otherwise: R) -> R {
    let mut text = Text::default();
    // Never too long.
    let _written = fmt::Write::write_fmt(&mut text, format_args!("{digits}e{exponent}"));
    core::str::from_utf8(&text.bytes[..text.length]).ok().and_then(|it| it.parse().ok()).unwrap_or(otherwise)
}

/// Room for 20 digits, and an exponent of 11 bytes.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).and_then(|rest| rest.get_mut(..text.len()));
        room.ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// Digits and exponent out of a number as text, `-1.25e-7`; zeros if it is none. The library of the language has no
/// better way: to know which digits are enough takes more than 64 bits, and `core` knows it.
fn digits(args: &mut [u32; 8], is_finite: bool, text: fmt::Arguments<'_>) {
    let mut reader = Digits::default();
    if is_finite {
        // It cannot fail: the reader never does.
        let _read = fmt::Write::write_fmt(&mut reader, text);
    }
    let exponent = if reader.is_negative { -reader.exponent } else { reader.exponent };
    args[..3].copy_from_slice(&[reader.digits as u32, (reader.digits >> 32) as u32, exponent as u32]);
}

/// Reads the text of a number.
#[derive(Default)]
struct Digits {
    digits: u64,
    exponent: i32,
    behind: bool,
    is_negative: bool,
}

impl fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'e' => self.behind = true,
                b'-' => self.is_negative = self.behind,
                b'0'..=b'9' if self.behind => self.exponent = 10 * self.exponent + i32::from(byte - b'0'),
                // At most 17 digits tell a number from all others.
                b'0'..=b'9' => {
                    self.digits = self.digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn real_pair(args: &mut [u32; 8], value: f64) {
    args[0] = value.to_bits() as u32;
    args[1] = (value.to_bits() >> 32) as u32;
}

fn bits(routine: Long, args: &mut [u32; 8]) -> Result<(), Trap> {
    let [a, b, c, ..] = *args;
    let within = |places: u32, most: u32| if places <= most { Ok(places) } else { Err(Trap::Shift) };
    match routine {
        Long::ShiftRight => {
            let shifted = shr_l(pair(a, b), within(c, 64)?).unwrap_or(0);
            args[..2].copy_from_slice(&split(shifted));
        }
        Long::ShiftLeft => {
            let shifted = shl_l(pair(a, b), within(c, 64)?).unwrap_or(0);
            args[..2].copy_from_slice(&split(shifted));
        }
        Long::Normalise => {
            let whole = pair(a, b);
            let places = whole.leading_zeros();
            let [high, low] = split(shl_l(whole, places).unwrap_or(0));
            args[..3].copy_from_slice(&[places, high, low]);
        }
        Long::AshiftRight => args[0] = ((a as i32) >> within(b, 32)?.min(31)) as u32,
        Long::AshiftLeft => {
            let shifted = i64::from(a as i32) << within(b, 32)?;
            args[0] = i32::try_from(shifted).map_err(|_| Trap::Overflow)? as u32;
        }
        Long::RotateRight => args[0] = a.rotate_right(within(b, 32)? & 31),
        Long::RotateLeft => args[0] = a.rotate_left(within(b, 32)? & 31),
        Long::BitCount => args[0] = b.wrapping_add(a.count_ones()),
        Long::BitRevWord => args[0] = a.reverse_bits(),
        Long::BitRevNBits => {
            let n = within(b, 32)?;
            args[0] = if n == 0 { 0 } else { a.reverse_bits() >> (32 - n) };
        }
        Long::CrcWord => args[0] = crc(a, b, c, 32),
        Long::CrcByte => args[0] = crc(a, b, c, 8),
        _ => {}
    }
    Ok(())
}

/// The transputer's: the top `count` bits of `data` are shifted into the remainder.
fn crc(mut data: u32, mut remainder: u32, generator: u32, count: u32) -> u32 {
    for _ in 0..count {
        let out = remainder >> 31;
        remainder = remainder << 1 | data >> 31;
        data <<= 1;
        if out == 1 {
            remainder ^= generator;
        }
    }
    remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(routine: Long, args: &[u32], expected: &[u32]) {
        let mut all = [0; 8];
        all[..args.len()].copy_from_slice(args);
        long(routine, &mut all).unwrap();
        assert_eq!(&all[..expected.len()], expected, "{routine:?} {args:?}");
    }

    #[test]
    fn long_arithmetic() {
        check(Long::LongSum, &[u32::MAX, 1, 0], &[1, 0]);
        check(Long::LongDiff, &[0, 1, 0], &[1, u32::MAX]);
        check(Long::LongProd, &[u32::MAX, u32::MAX, 1], &[0xffff_fffe, 2]);
        check(Long::LongDiv, &[1, 5, 16], &[0x1000_0000, 5]);
        check(Long::Normalise, &[0, 1], &[63, 0x8000_0000, 0]);
        check(Long::ShiftLeft, &[0, 1, 33], &[2, 0]);
        check(Long::BitRevNBits, &[1, 4], &[8]);
        assert_eq!(long(Long::LongDiv, &mut [5, 0, 5, 0, 0, 0, 0, 0]), Err(Trap::Overflow));
    }

    #[test]
    fn digits_are_as_many_as_it_takes() {
        let double = |value: f64, digits: u64, exponent: i32| {
            let (low, high) = (value.to_bits() as u32, (value.to_bits() >> 32) as u32);
            check(Long::DigitsD, &[low, high], &[digits as u32, (digits >> 32) as u32, exponent as u32]);
        };
        double(0.1, 1, -1);
        double(-1250.0, 125, 3);
        double(core::f64::consts::PI, 3_141_592_653_589_793, 0);
        double(f64::MAX, 17_976_931_348_623_157, 308);
        double(5e-324, 5, -324);
        double(0.0, 0, 0);
        double(f64::INFINITY, 0, 0);
        double(f64::NAN, 0, 0);
        check(Long::DigitsF, &[0.1_f32.to_bits()], &[1, 0, -1_i32 as u32]);
        check(Long::DigitsF, &[16_777_216.0_f32.to_bits()], &[16_777_216, 0, 7]);
    }

    #[test]
    fn reals_are_the_nearest_to_their_digits() {
        let double = |digits: u64, exponent: i32, value: f64| {
            let (low, high) = (value.to_bits() as u32, (value.to_bits() >> 32) as u32);
            check(Long::RealD, &[digits as u32, (digits >> 32) as u32, exponent as u32], &[low, high]);
        };
        double(1, -1, 0.1);
        double(17_976_931_348_623_157, 292, f64::MAX);
        double(5, -324, 5e-324);
        double(9_007_199_254_740_993, 0, 9_007_199_254_740_992.0);
        double(9_007_199_254_740_995, 0, 9_007_199_254_740_996.0);
        double(u64::MAX, i32::MIN, 0.0);
        double(u64::MAX, i32::MAX, f64::INFINITY);
        double(0, i32::MAX, 0.0);
        // By way of the nearest double it would be the even one of the two that are as near to that.
        check(Long::RealF, &[16_777_217, 0, 0], &[16_777_216.0_f32.to_bits()]);
        let (digits, nearest) = (16_777_217_000_000_001_u64, 16_777_218.0_f32);
        check(Long::RealF, &[digits as u32, (digits >> 32) as u32, -9_i32 as u32], &[nearest.to_bits()]);
        check(Long::RealF, &[34_028_235, 0, 31], &[f32::MAX.to_bits()]);
    }

    #[test]
    fn conversions_keep_their_limits() {
        assert_eq!(to_w(2_147_483_647.4, 0), Some(i32::MAX as u32));
        assert_eq!(to_w(2_147_483_647.5, 0), None);
        assert_eq!(to_w(2_147_483_647.9, 1), Some(i32::MAX as u32));
        assert_eq!((to_w(2.5, 0), to_w(-2.5, 0), to_w(f64::NAN, 1)), (Some(2), Some(-2_i32 as u32), None));
        assert!(f64::from(narrow(0.1, 1)) <= 0.1 && l_to_f(i64::MAX, 1) < i64::MAX as f32);
    }
}
