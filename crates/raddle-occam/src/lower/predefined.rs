//! Owns: the routines that the language brings along, as instructions.
//! May use: the machine's lists of functions.
//! Never: what is written in occam itself; that is the library `predefined.occ`.

use super::place::Place;
use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::ExprId;
use crate::program::NameId;
use crate::source::Span;
use crate::types::{TypeId, Types};
use raddle_bytecode::{Long, Real, Trap};

/// What a predefined function is.
#[derive(Clone, Copy)]
enum Kind {
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
const FUNCTIONS: &[(&str, Kind)] = &[
    ("LONGADD", Kind::Words(Long::LongAdd)), ("LONGSUM", Kind::Words(Long::LongSum)),
    ("LONGSUB", Kind::Words(Long::LongSub)), ("LONGDIFF", Kind::Words(Long::LongDiff)),
    ("LONGPROD", Kind::Words(Long::LongProd)), ("LONGDIV", Kind::Words(Long::LongDiv)),
    ("SHIFTRIGHT", Kind::Words(Long::ShiftRight)), ("SHIFTLEFT", Kind::Words(Long::ShiftLeft)),
    ("NORMALISE", Kind::Words(Long::Normalise)), ("ASHIFTRIGHT", Kind::Words(Long::AshiftRight)),
    ("ASHIFTLEFT", Kind::Words(Long::AshiftLeft)), ("ROTATERIGHT", Kind::Words(Long::RotateRight)),
    ("ROTATELEFT", Kind::Words(Long::RotateLeft)), ("BITCOUNT", Kind::Words(Long::BitCount)),
    ("CRCWORD", Kind::Words(Long::CrcWord)), ("CRCBYTE", Kind::Words(Long::CrcByte)),
    ("BITREVWORD", Kind::Words(Long::BitRevWord)), ("BITREVNBITS", Kind::Words(Long::BitRevNBits)),
    ("ABS", Kind::Real(Real::Abs)), ("SQRT", Kind::Real(Real::Sqrt)), ("FPINT", Kind::Real(Real::Round)),
    ("ALOG", Kind::Real(Real::Log)), ("ALOG10", Kind::Real(Real::Log10)), ("EXP", Kind::Real(Real::Exp)),
    ("SIN", Kind::Real(Real::Sin)), ("COS", Kind::Real(Real::Cos)), ("TAN", Kind::Real(Real::Tan)),
    ("ASIN", Kind::Real(Real::Asin)), ("ACOS", Kind::Real(Real::Acos)), ("ATAN", Kind::Real(Real::Atan)),
    ("SINH", Kind::Real(Real::Sinh)), ("COSH", Kind::Real(Real::Cosh)), ("TANH", Kind::Real(Real::Tanh)),
    ("MINUSX", Kind::Negate), ("MULBY2", Kind::Times(2.0)), ("DIVBY2", Kind::Times(0.5)),
    ("ISNAN", Kind::IsNan), ("NOTFINITE", Kind::NotFinite), ("ORDERED", Kind::Ordered),
    ("POWER", Kind::Pair(Long::PowF)), ("ATAN2", Kind::Turned(Long::Atan2F)), ("SCALEB", Kind::Pair(Long::ScaleF)),
    ("DPOWER", Kind::Pair(Long::PowD)), ("DATAN2", Kind::Turned(Long::Atan2D)),
    ("DSCALEB", Kind::Pair(Long::ScaleD)),
    ("REAL32DIGITS", Kind::Words(Long::DigitsF)), ("REAL64DIGITS", Kind::Words(Long::DigitsD)),
    ("DIGITSREAL32", Kind::Words(Long::RealF)), ("DIGITSREAL64", Kind::Words(Long::RealD)),
];

impl Lowerer<'_> {
    fn kind_of(&self, callee: NameId) -> Option<Kind> {
        let name = self.program.spelling(callee);
        let find = |name: &str| FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind);
        // Those of REAL64 have a D before the name of those of REAL32.
        let double = name.strip_prefix('D').and_then(find).filter(|kind| !matches!(kind, Kind::Words(_)));
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
                return self.f.code.ldi(results[0].0, 0);
            }
            return self.unsupported(callee, span);
        };
        match kind {
            Kind::Words(long) | Kind::Pair(long) => self.window_function(long, arguments, results),
            Kind::Turned(long) => self.window_function(long, &[arguments[1], arguments[0]], results),
            Kind::Real(real) => {
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

    fn small_function(&mut self, kind: Kind, arguments: &[ExprId], to: Slot) {
        use crate::ast::Dyadic::{And, Equal, Multiply, NotEqual, Subtract};
        let class = self.class(arguments[0]);
        let a = self.scalar(arguments[0]);
        match kind {
            Kind::Negate if class == Class::Double => self.f.code.neg_d(to, a),
            Kind::Negate => self.f.code.neg_f(to, a),
            Kind::Times(by) => {
                let constant = self.slots(class.slots());
                let bits =
                    if class == Class::Double { by.to_bits() } else { u64::from((by as f32).to_bits()) };
                self.load_bits(constant, class, bits);
                self.apply(Multiply, class, to, a, constant);
            }
            Kind::IsNan => self.apply(NotEqual, class, to, a, a),
            Kind::NotFinite => {
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
        places: &[Place],
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
            "SETPRI" => {}
            "HOST.CALL" => self.host_call(arguments, span),
            "RESIZE.MOBILE.ARRAY.1D" => self.resize(arguments[0], arguments[1]),
            _ => self.unsupported(callee, span),
        }
    }

    /// A call of the host: its number is a constant, and the four variables go there and back.
    fn host_call(&mut self, arguments: &[ExprId], span: Span) {
        let number = self.bytes_of(arguments[0], Types::INT).and_then(|bytes| bytes.try_into().ok());
        let Some(number) = number.map(i32::from_le_bytes) else {
            return self.refuse(span, "the number of HOST.CALL must be a constant");
        };
        let window = self.slots(4);
        let places: Vec<Place> = arguments[1..].iter().map(|&argument| self.place(argument)).collect();
        for (place, slot) in places.iter().zip(window..) {
            self.load(place, Class::Word, slot);
        }
        self.f.code.host(window, number);
        for (place, slot) in places.iter().zip(window..) {
            self.store(place, Class::Word, slot);
        }
    }
}
