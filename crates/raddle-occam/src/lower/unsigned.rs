//! Owns: the instructions of UINT16, UINT32, UINT and UINT64.
//! May use: `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: needs an instruction of its own; UINT8 is computed with as BYTE is.
//!
//! The machine computes with sign. Sums, differences and products that wrap, bits, and equality are the same without;
//! an order is that of numbers whose highest bit is turned round; and what must fit shows in carries, or in 64 bits.

use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::Dyadic;
use raddle_bytecode::{Long, Trap};

const HIGHEST: u64 = 1 << 63;

impl Lowerer<'_> {
    /// `to := a operator b`, if that is done in another way than with sign.
    pub(super) fn unsigned(&mut self, operator: Dyadic, class: Class, to: Slot, a: Slot, b: Slot) -> bool {
        if !matches!(class, Class::UWord | Class::ULong) {
            return false;
        }
        let mark = self.mark();
        match operator {
            Dyadic::Less => self.below(class, to, a, b),
            Dyadic::Greater => self.below(class, to, b, a),
            Dyadic::LessEqual => self.at_most(class, to, a, b),
            Dyadic::GreaterEqual => self.at_most(class, to, b, a),
            Dyadic::Add => self.sum(class, to, a, b),
            Dyadic::Subtract => {
                let less = self.slot();
                self.below(class, less, a, b);
                self.must_be_zero(less, Trap::Overflow);
                self.apply(Dyadic::Minus, class, to, a, b);
            }
            Dyadic::Multiply if class == Class::UWord => {
                let window = self.long_window(Long::LongProd, &[a, b]);
                self.must_be_zero(window, Trap::Overflow);
                self.f.code.mov(to, window + 1);
            }
            Dyadic::Multiply => self.long_product(to, a, b),
            Dyadic::Divide | Dyadic::Remainder if class == Class::UWord => {
                let (left, right) = (self.widened(class, a), self.widened(class, b));
                self.apply(operator, Class::Long, left, left, right);
                self.f.code.mov(to, left);
            }
            Dyadic::Divide => {
                let (quotient, _) = self.long_quotient(a, b);
                self.f.code.mov_l(to, quotient);
            }
            Dyadic::Remainder => {
                let (_, rest) = self.long_quotient(a, b);
                self.f.code.mov_l(to, rest);
            }
            _ => {
                self.release(mark);
                return false;
            }
        }
        self.release(mark);
        true
    }

    /// The low 16 bits, without sign.
    pub(super) fn low_half(&mut self, to: Slot, from: Slot) {
        let mark = self.mark();
        let mask = self.slot();
        self.f.code.ldi(mask, 0xFFFF);
        self.f.code.and(to, from, mask);
        self.release(mark);
    }

    /// The 64 bits of a value of a class, in fresh slots.
    pub(super) fn widened(&mut self, class: Class, from: Slot) -> Slot {
        let wide = self.slots(2);
        match class {
            Class::Long | Class::ULong => self.f.code.mov_l(wide, from),
            Class::UWord => {
                self.f.code.mov(wide, from);
                self.f.code.ldi(wide + 1, 0);
            }
            _ => self.f.code.w_to_l(wide, from),
        }
        wide
    }

    /// Traps unless a value, without sign, has at most so many bits.
    pub(super) fn must_fit(&mut self, slot: Slot, class: Class, bits: i32, trap: Trap) {
        let mark = self.mark();
        let (places, rest) = (self.slot(), self.slots(2));
        self.f.code.ldi(places, bits);
        let fits = self.f.code.label();
        if class.slots() == 2 {
            let (zero, none) = (self.slots(2), self.slot());
            self.f.code.shr_l(rest, slot, places);
            self.f.code.ldi_l(zero, 0);
            self.f.code.eq_l(none, rest, zero);
            self.f.code.jnz(none, fits);
        } else {
            self.f.code.shr(rest, slot, places);
            self.f.code.jz(rest, fits);
        }
        self.trap(trap);
        self.f.code.bind(fits);
        self.release(mark);
    }

    fn must_be_zero(&mut self, slot: Slot, trap: Trap) {
        let fits = self.f.code.label();
        self.f.code.jz(slot, fits);
        self.trap(trap);
        self.f.code.bind(fits);
    }

    /// A value with its highest bit turned round, in fresh slots.
    fn turned(&mut self, class: Class, from: Slot) -> Slot {
        let (to, bit) = (self.slots(2), self.slots(2));
        if class.slots() == 2 {
            self.load_bits(bit, class, HIGHEST);
            self.f.code.xor_l(to, from, bit);
        } else {
            self.f.code.ldi(bit, i32::MIN);
            self.f.code.xor(to, from, bit);
        }
        to
    }

    fn below(&mut self, class: Class, to: Slot, a: Slot, b: Slot) {
        let (a, b) = (self.turned(class, a), self.turned(class, b));
        if class.slots() == 2 { self.f.code.lt_l(to, a, b) } else { self.f.code.lt(to, a, b) }
    }

    fn at_most(&mut self, class: Class, to: Slot, a: Slot, b: Slot) {
        let (a, b) = (self.turned(class, a), self.turned(class, b));
        if class.slots() == 2 { self.f.code.le_l(to, a, b) } else { self.f.code.le(to, a, b) }
    }

    /// A sum is less than what was added to if it has wrapped.
    fn sum(&mut self, class: Class, to: Slot, a: Slot, b: Slot) {
        let (sum, wrapped) = (self.slots(2), self.slot());
        self.apply(Dyadic::Plus, class, sum, a, b);
        self.below(class, wrapped, sum, a);
        self.must_be_zero(wrapped, Trap::Overflow);
        self.move_slots(to, sum, class);
    }

    /// A predefined routine on words; behind those given stands 0.
    fn long_window(&mut self, routine: Long, words: &[Slot]) -> Slot {
        let window = self.slots(8);
        let mut at = window;
        for &word in words {
            self.f.code.mov(at, word);
            at += 1;
        }
        self.f.code.ldi(at, 0);
        self.f.code.long(window, routine as i32);
        window
    }

    /// The low words' product, and to its high word the product of one's high word and the other's low one: the high
    /// words' product would lie beyond.
    fn long_product(&mut self, to: Slot, a: Slot, b: Slot) {
        let (both, high) = (self.slot(), self.slot());
        let one = self.f.code.label();
        self.f.code.jz(a + 1, one);
        self.f.code.jz(b + 1, one);
        self.trap(Trap::Overflow);
        self.f.code.bind(one);
        // One of these products is 0.
        let left = self.long_window(Long::LongProd, &[a + 1, b]);
        let right = self.long_window(Long::LongProd, &[a, b + 1]);
        self.f.code.or(both, left, right);
        self.must_be_zero(both, Trap::Overflow);
        self.f.code.or(high, left + 1, right + 1);
        let low = self.long_window(Long::LongProd, &[a, b]);
        self.sum(Class::UWord, high, low, high);
        self.f.code.mov(to, low + 1);
        self.f.code.mov(to + 1, high);
    }

    /// Quotient and remainder, in fresh slots: by way of half the dividend, which has a sign's bit to spare.
    fn long_quotient(&mut self, a: Slot, b: Slot) -> (Slot, Slot) {
        let (quotient, rest, half, one) = (self.slots(2), self.slots(2), self.slots(2), self.slot());
        let (large, correct, done) = (self.f.code.label(), self.f.code.label(), self.f.code.label());
        let less = self.slot();
        let zero = self.slots(2);
        self.f.code.ldi(one, 1);
        self.f.code.ldi_l(quotient, 0);
        self.f.code.ldi_l(zero, 0);
        self.f.code.mov_l(rest, a);
        self.f.code.lt_l(less, b, zero);
        self.f.code.jnz(less, large);
        self.f.code.shr_l(half, a, one);
        self.f.code.div_l(quotient, half, b);
        self.f.code.shl_l(quotient, quotient, one);
        self.f.code.times_l(half, quotient, b);
        self.f.code.minus_l(rest, a, half);
        self.f.code.bind(large);
        self.below(Class::ULong, less, rest, b);
        self.f.code.jz(less, correct);
        self.f.code.jump(done);
        self.f.code.bind(correct);
        self.f.code.minus_l(rest, rest, b);
        self.f.code.ldi_l(half, 1);
        self.f.code.plus_l(quotient, quotient, half);
        self.f.code.bind(done);
        (quotient, rest)
    }

    /// Between whole numbers of which one at least has no sign.
    pub(super) fn between_unsigned(&mut self, from_class: Class, class: Class, from: Slot, to: Slot) {
        let mark = self.mark();
        let wide = self.widened(from_class, from);
        let room = match class {
            Class::Bool => 1,
            Class::Byte => 8,
            Class::Half => 15,
            Class::UHalf => 16,
            Class::Word => 31,
            Class::UWord => 32,
            Class::Long => 63,
            _ => 64,
        };
        // What has a sign must not be negative, and then it is a bit shorter.
        let (held, bits) = match from_class {
            Class::Bool => (1, room),
            Class::Byte => (8, room),
            Class::UHalf => (16, room),
            Class::UWord => (32, room),
            Class::ULong => (64, room),
            _ => (64, room.min(63)),
        };
        if bits < held {
            self.must_fit(wide, Class::ULong, bits, Trap::Range);
        }
        self.move_slots(to, wide, class);
        self.release(mark);
    }

    /// UINT64 to a real: what has the highest bit goes by way of its half, whose lowest bit says if there was more.
    pub(super) fn unsigned_to_real(&mut self, class: Class, from: Slot, to: Slot, mode: i32) {
        let mark = self.mark();
        let (zero, negative, one, half, odd) =
            (self.slots(2), self.slot(), self.slot(), self.slots(2), self.slots(2));
        let result = self.slots(2);
        let (large, done) = (self.f.code.label(), self.f.code.label());
        self.f.code.ldi_l(zero, 0);
        self.f.code.lt_l(negative, from, zero);
        self.f.code.jnz(negative, large);
        self.long_to_real(class, from, result, mode);
        self.f.code.jump(done);
        self.f.code.bind(large);
        self.f.code.ldi(one, 1);
        self.f.code.ldi_l(odd, 1);
        self.f.code.shr_l(half, from, one);
        self.f.code.and_l(odd, from, odd);
        self.f.code.or_l(half, half, odd);
        self.long_to_real(class, half, result, mode);
        self.apply(Dyadic::Add, class, result, result, result);
        self.f.code.bind(done);
        self.move_slots(to, result, class);
        self.release(mark);
    }

    fn long_to_real(&mut self, class: Class, from: Slot, to: Slot, mode: i32) {
        match class {
            Class::Real => self.f.code.l_to_f(to, from, mode),
            _ => self.f.code.l_to_d(to, from, mode),
        }
    }

    /// A real to UINT64: from 2^63 on, by way of what it is more than that.
    pub(super) fn real_to_unsigned(&mut self, from_class: Class, from: Slot, to: Slot, mode: i32) {
        let mark = self.mark();
        let (real, limit, bit, low) = (self.slots(2), self.slots(2), self.slots(2), self.slot());
        let (small, done) = (self.f.code.label(), self.f.code.label());
        match from_class {
            Class::Real => self.f.code.f_to_d(real, from),
            _ => self.f.code.mov_l(real, from),
        }
        let result = self.slots(2);
        self.load_bits(limit, Class::Double, (HIGHEST as f64).to_bits());
        self.f.code.lt_d(low, real, limit);
        self.f.code.jnz(low, small);
        self.f.code.sub_d(real, real, limit);
        self.f.code.d_to_l(result, real, mode);
        self.load_bits(bit, Class::ULong, HIGHEST);
        self.f.code.xor_l(result, result, bit);
        self.f.code.jump(done);
        self.f.code.bind(small);
        self.f.code.d_to_l(result, real, mode);
        self.must_fit(result, Class::ULong, 63, Trap::Range);
        self.f.code.bind(done);
        self.f.code.mov_l(to, result);
        self.release(mark);
    }
}
