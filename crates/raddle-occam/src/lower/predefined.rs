//! Owns: the routines that the language brings along, as instructions.
//! May use: `program`, `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: what is written in occam itself; that is the library `predefined.occ`.

use super::place::Storage;
use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::ExprId;
use crate::program::NameId;
use crate::source::Span;
use crate::types::{TypeId, Types};
use raddle_bytecode::{Long, Real, Trap};

/// What a predefined function is.
#[derive(Clone, Copy)]
enum Form {
    /// On words, in a window.
    Words(Long),
    /// Of one real.
    Real(Real),
    /// Of two reals.
    Pair(Long),
    /// The second parameter comes first.
    Turned(Long),
    Negate,
    /// By a constant.
    Times(f64),
    IsNan,
    NotFinite,
    Ordered,
}

#[rustfmt::skip]
const FUNCTIONS: &[(&str, Form)] = &[
    ("LONGADD", Form::Words(Long::LongAdd)), ("LONGSUM", Form::Words(Long::LongSum)),
    ("LONGSUB", Form::Words(Long::LongSub)), ("LONGDIFF", Form::Words(Long::LongDiff)),
    ("LONGPROD", Form::Words(Long::LongProd)), ("LONGDIV", Form::Words(Long::LongDiv)),
    ("SHIFTRIGHT", Form::Words(Long::ShiftRight)), ("SHIFTLEFT", Form::Words(Long::ShiftLeft)),
    ("NORMALISE", Form::Words(Long::Normalise)), ("ASHIFTRIGHT", Form::Words(Long::AshiftRight)),
    ("ASHIFTLEFT", Form::Words(Long::AshiftLeft)), ("ROTATERIGHT", Form::Words(Long::RotateRight)),
    ("ROTATELEFT", Form::Words(Long::RotateLeft)), ("BITCOUNT", Form::Words(Long::BitCount)),
    ("CRCWORD", Form::Words(Long::CrcWord)), ("CRCBYTE", Form::Words(Long::CrcByte)),
    ("BITREVWORD", Form::Words(Long::BitRevWord)), ("BITREVNBITS", Form::Words(Long::BitRevNBits)),
    ("ABS", Form::Real(Real::Abs)), ("SQRT", Form::Real(Real::Sqrt)), ("FPINT", Form::Real(Real::Round)),
    ("ALOG", Form::Real(Real::Log)), ("ALOG10", Form::Real(Real::Log10)), ("EXP", Form::Real(Real::Exp)),
    ("SIN", Form::Real(Real::Sin)), ("COS", Form::Real(Real::Cos)), ("TAN", Form::Real(Real::Tan)),
    ("ASIN", Form::Real(Real::Asin)), ("ACOS", Form::Real(Real::Acos)), ("ATAN", Form::Real(Real::Atan)),
    ("SINH", Form::Real(Real::Sinh)), ("COSH", Form::Real(Real::Cosh)), ("TANH", Form::Real(Real::Tanh)),
    ("MINUSX", Form::Negate), ("MULBY2", Form::Times(2.0)), ("DIVBY2", Form::Times(0.5)),
    ("ISNAN", Form::IsNan), ("NOTFINITE", Form::NotFinite), ("ORDERED", Form::Ordered),
    ("POWER", Form::Pair(Long::PowF)), ("ATAN2", Form::Turned(Long::Atan2F)), ("SCALEB", Form::Pair(Long::ScaleF)),
    ("DPOWER", Form::Pair(Long::PowD)), ("DATAN2", Form::Turned(Long::Atan2D)),
    ("DSCALEB", Form::Pair(Long::ScaleD)),
    ("REAL32DIGITS", Form::Words(Long::DigitsF)), ("REAL64DIGITS", Form::Words(Long::DigitsD)),
    ("DIGITSREAL32", Form::Words(Long::RealF)), ("DIGITSREAL64", Form::Words(Long::RealD)),
];

impl Lowerer<'_> {
    fn kind_of(&self, callee: NameId) -> Option<Form> {
        let name = self.program.spelling(callee);
        let find = |name: &str| FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind);
        // Those of REAL64 have a D before the name of those of REAL32.
        let double = name.strip_prefix('D').and_then(find).filter(|kind| !matches!(kind, Form::Words(_)));
        find(name).or(double)
    }

    /// A predefined function whose results go to slots.
    pub(super) fn predefined_function(
        &mut self,
        callee: NameId,
        arguments: &[ExprId],
        results: &[(Slot, Class)],
        span: Span,
    ) {
        let Some(kind) = self.kind_of(callee) else {
            if self.program.spelling(callee) == "GETPRI" {
                let window = self.slots(4);
                // Where all processes are alike, this one stays.
                self.f.code.ldi(window, 16);
                self.f.code.host(window, raddle_bytecode::GET_PRIORITY);
                return self.f.code.mov(results[0].0, window);
            }
            return self.unsupported(callee, span);
        };
        match kind {
            Form::Words(long) | Form::Pair(long) => self.window_function(long, arguments, results),
            Form::Turned(long) => self.window_function(long, &[arguments[1], arguments[0]], results),
            Form::Real(real) => {
                let from = self.scalar(arguments[0]);
                let (to, class) = results[0];
                match class {
                    Class::Double => self.f.code.fn_d(to, from, real as i32),
                    _ => self.f.code.fn_f(to, from, real as i32),
                }
            }
            _ => self.small_function(kind, arguments, results[0].0),
        }
    }

    fn window_function(&mut self, long: Long, arguments: &[ExprId], results: &[(Slot, Class)]) {
        let values: Vec<(Slot, Class)> =
            arguments.iter().map(|&argument| (self.scalar(argument), self.class(argument))).collect();
        let window = self.slots(8);
        let mut at = window;
        for (value, class) in values {
            self.move_slots(at, value, class);
            at += class.slots() as Slot;
        }
        self.f.code.long(window, long as i32);
        let mut at = window;
        for &(to, class) in results {
            self.move_slots(to, at, class);
            at += class.slots() as Slot;
        }
    }

    fn small_function(&mut self, kind: Form, arguments: &[ExprId], to: Slot) {
        use crate::ast::Dyadic::{And, Equal, Multiply, NotEqual, Subtract};
        let class = self.class(arguments[0]);
        let a = self.scalar(arguments[0]);
        match kind {
            Form::Negate if class == Class::Double => self.f.code.neg_d(to, a),
            Form::Negate => self.f.code.neg_f(to, a),
            Form::Times(by) => {
                let constant = self.slots(class.slots());
                let bits =
                    if class == Class::Double { by.to_bits() } else { u64::from((by as f32).to_bits()) };
                self.load_bits(constant, class, bits);
                self.apply(Multiply, class, to, a, constant);
            }
            Form::IsNan => self.apply(NotEqual, class, to, a, a),
            Form::NotFinite => {
                let difference = self.slots(class.slots());
                self.apply(Subtract, class, difference, a, a);
                self.apply(NotEqual, class, to, difference, difference);
            }
            _ => {
                let b = self.scalar(arguments[1]);
                let (left, right) = (self.slot(), self.slot());
                self.apply(Equal, class, left, a, a);
                self.apply(Equal, class, right, b, b);
                self.apply(And, Class::Bool, to, left, right);
            }
        }
    }

    fn unsupported(&mut self, callee: NameId, span: Span) {
        let message = format!("{} is not supported yet", self.program.spelling(callee));
        self.refuse(span, message);
    }

    /// A predefined function whose results go to places.
    pub(super) fn predefined_into(
        &mut self,
        callee: NameId,
        arguments: &[ExprId],
        places: &[Storage],
        types: &[TypeId],
        span: Span,
    ) {
        let mut slots = Vec::new();
        for &ty in types {
            let class = self.shape(ty).class().unwrap_or(Class::Word);
            slots.push((self.slots(class.slots()), class));
        }
        self.predefined_function(callee, arguments, &slots, span);
        for (place, (slot, class)) in places.iter().zip(slots) {
            self.store(place, class, slot);
        }
    }

    pub(super) fn predefined_proc(&mut self, callee: NameId, arguments: &[ExprId], span: Span) {
        let program = self.program;
        match program.spelling(callee) {
            "ASSERT" => {
                let right = self.f.code.label();
                self.jump_if(arguments[0], right);
                self.trap(Trap::Assert);
                self.f.code.bind(right);
            }
            "CAUSEERROR" => self.f.code.stop(),
            "RESCHEDULE" => self.f.code.resched(),
            "SETPRI" => {
                let window = self.slots(4);
                self.scalar_into(arguments[0], window);
                self.f.code.host(window, raddle_bytecode::SET_PRIORITY);
                self.f.code.resched();
            }
            "HOST.CALL" => self.host_call(arguments, span),
            "RESIZE.MOBILE.ARRAY.1D" => self.resize(arguments[0], arguments[1]),
            _ => self.unsupported(callee, span),
        }
    }

    /// A call of the host: its number is a constant, and the four variables go there and back.
    fn host_call(&mut self, arguments: &[ExprId], span: Span) {
        let number = self.bytes_of(arguments[0], Types::INT).and_then(|bytes| bytes.try_into().ok());
        let own = |number: &i32| (0..raddle_bytecode::FOREIGN).contains(number);
        let Some(number) = number.map(i32::from_le_bytes).filter(own) else {
            return self.refuse(span, "the number of HOST.CALL must be a constant from 0 to 65535");
        };
        let window = self.slots(4);
        let places: Vec<Storage> = arguments[1..].iter().map(|&argument| self.place(argument)).collect();
        for (place, slot) in places.iter().zip(window..) {
            self.load(place, Class::Word, slot);
        }
        self.f.code.host(window, number);
        for (place, slot) in places.iter().zip(window..) {
            self.store(place, Class::Word, slot);
        }
    }
}
