//! Owns: conversions between the predefined types.
//! May use: `raddle-occam-syntax`.
//! Never: changes what a RETYPES keeps; that is `spec`'s.

use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::{ExprId, Rounding};

impl Lowerer<'_> {
    /// The value of `value`, converted, left in `to`.
    pub(super) fn convert(&mut self, class: Class, rounding: Rounding, value: ExprId, to: Slot) {
        let from_class = self.class(value);
        let from = self.scalar(value);
        let mode = i32::from(rounding == Rounding::Trunc);
        match (is_real(from_class), is_real(class)) {
            (false, false) => self.whole_to_whole(from_class, class, from, to),
            (false, true) => self.whole_to_real(from_class, class, from, to, mode),
            (true, false) => self.real_to_whole(from_class, class, from, to, mode),
            (true, true) => {
                let code = &mut self.f.code;
                match (from_class, class) {
                    (Class::Real, Class::Double) => code.f_to_d(to, from),
                    (Class::Double, Class::Real) => code.d_to_f(to, from, mode),
                    (Class::Real, _) => code.mov(to, from),
                    _ => code.mov_l(to, from),
                }
            }
        }
    }

    fn whole_to_whole(&mut self, from_class: Class, class: Class, from: Slot, to: Slot) {
        if is_unsigned(from_class) || is_unsigned(class) {
            return self.between_unsigned(from_class, class, from, to);
        }
        let code = &mut self.f.code;
        match (from_class, class) {
            (Class::Long, Class::Long) => code.mov_l(to, from),
            (Class::Long, _) => {
                code.l_to_w(to, from);
                self.check_range(to, class);
            }
            (_, Class::Long) => code.w_to_l(to, from),
            (_, Class::Byte) if matches!(from_class, Class::Byte | Class::Bool) => code.mov(to, from),
            (_, Class::Byte) => code.chk_b(to, from),
            (_, Class::Bool) if from_class != Class::Bool => code.chk_bool(to, from),
            (Class::Word, Class::Half) => code.chk_h(to, from),
            _ => code.mov(to, from),
        }
    }

    fn whole_to_real(&mut self, from_class: Class, class: Class, from: Slot, to: Slot, mode: i32) {
        match from_class {
            Class::ULong => return self.unsigned_to_real(class, from, to, mode),
            Class::UWord => {
                let wide = self.widened(from_class, from);
                return self.whole_to_real(Class::Long, class, wide, to, mode);
            }
            _ => {}
        }
        let code = &mut self.f.code;
        match (from_class, class) {
            (Class::Long, Class::Real) => code.l_to_f(to, from, mode),
            (Class::Long, _) => code.l_to_d(to, from, mode),
            (_, Class::Real) => code.w_to_f(to, from, mode),
            _ => code.w_to_d(to, from),
        }
    }

    fn real_to_whole(&mut self, from_class: Class, class: Class, from: Slot, to: Slot, mode: i32) {
        match class {
            Class::ULong => return self.real_to_unsigned(from_class, from, to, mode),
            Class::UHalf | Class::UWord => {
                let wide = self.slots(2);
                self.real_to_whole(from_class, Class::Long, from, wide, mode);
                return self.between_unsigned(Class::Long, class, wide, to);
            }
            _ => {}
        }
        let code = &mut self.f.code;
        match (from_class, class) {
            (Class::Real, Class::Long) => code.f_to_l(to, from, mode),
            (_, Class::Long) => code.d_to_l(to, from, mode),
            (Class::Real, _) => code.f_to_w(to, from, mode),
            _ => code.d_to_w(to, from, mode),
        }
        if class != Class::Long {
            self.check_range(to, class);
        }
    }
}

/// Whether a slot of the class may hold what is negative as an INT.
fn is_unsigned(class: Class) -> bool {
    matches!(class, Class::UHalf | Class::UWord | Class::ULong)
}

fn is_real(class: Class) -> bool {
    matches!(class, Class::Real | Class::Double)
}
