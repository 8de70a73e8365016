//! Owns: `Op`, `Form` and `Insn`, the eight bytes of an instruction.
//! May use: `effect`, `table`.
//! Never: what an instruction does.

use crate::effect::Effect;
use crate::for_each_op;

/// What the fields of an instruction hold. `a`, `b`, `c` have 16 bits, `x` has 8.
#[allow(non_camel_case_types, reason = "these are the words of the table")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Nothing.
    none,
    /// `a` is a slot.
    a,
    /// `a` and `b` are slots.
    ab,
    /// `a`, `b` and `c` are slots.
    abc,
    /// `a` and `b` are slots, `c` is a constant of 16 bits.
    abi,
    /// `a` is a slot, `b` and `c` a constant of 32 bits.
    ai,
    /// `b` and `c` are a constant of 32 bits.
    i,
    /// `c` and `x` are a distance in instructions, from the next one.
    l,
    /// `a` is a slot; a distance.
    al,
    /// `a` and `b` are slots; a distance.
    abl,
    /// `a` is a slot, `b` a constant of 16 bits; a distance.
    ail,
    /// `b` and `c` are the number of a call site.
    site,
    /// `a` is a slot; the number of a call site.
    asite,
}

impl Form {
    /// Whether it holds a distance to jump.
    pub const fn jumps(self) -> bool {
        matches!(self, Form::l | Form::al | Form::abl | Form::ail)
    }

    /// Whether `b` and `c` are one number.
    pub const fn has_imm(self) -> bool {
        matches!(self, Form::ai | Form::i | Form::site | Form::asite)
    }
}

macro_rules! ops {
    ($(
        $variant:ident = $number:literal $name:ident $form:ident [$a:literal $b:literal $c:literal] $effect:expr,
        $doc:literal;
    )*) => {
        /// The instructions; `FORMAT.md` tells of the machine they work on.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $doc] $variant = $number,)*
        }

        impl Op {
            /// Every instruction, by number.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// Its word in assembly.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => stringify!($name),)* }
            }

            /// What its fields hold.
            pub const fn form(self) -> Form {
                match self { $(Op::$variant => Form::$form,)* }
            }

            /// How many slots from that of field `a`, `b`, `c` on it touches.
            pub const fn slots(self) -> [u16; 3] {
                match self { $(Op::$variant => [$a, $b, $c],)* }
            }

            /// What it may do to memory, to its process and to others.
            pub const fn effect(self) -> Effect {
                use crate::effect::{Bound::*, Comparison::*, Effect::*, Formula::*, Location::*, Operand::*};
                use crate::effect::{Message::*, Width::*};
                match self { $(Op::$variant => $effect,)* }
            }

            /// The instruction of that number.
            pub const fn from_number(number: u8) -> Option<Op> {
                match number {
                    $($number => Some(Op::$variant),)*
                    _ => None,
                }
            }

            /// What it does.
            pub const fn what(self) -> &'static str {
                match self { $(Op::$variant => $doc,)* }
            }
        }
    };
}
for_each_op!(ops);

impl Op {
    /// The instruction of that word.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Whether it computes with reals, of either size; see [`Long::is_on_reals`](crate::Long::is_on_reals), too.
    pub const fn is_on_reals(self) -> bool {
        use Op::*;
        matches!(
            self,
            AddF | SubF
                | MulF
                | DivF
                | RemF
                | NegF
                | EqF
                | NeF
                | LtF
                | LeF
                | AddD
                | SubD
                | MulD
                | DivD
                | RemD
                | NegD
                | EqD
                | NeD
                | LtD
                | LeD
                | FnF
                | FnD
                | WtoF
                | WtoD
                | LtoF
                | LtoD
                | FtoW
                | FtoL
                | DtoW
                | DtoL
                | FtoD
                | DtoF
        )
    }
}

/// One instruction, in memory and in a file: eight bytes.
///
/// ```
/// use raddle_bytecode::{Insn, Op};
/// let insn = Insn::new(Op::AddI, 4, 5, -1_i16 as u16);
/// assert_eq!(Insn::from_bytes(insn.to_bytes()), Some(insn));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(8))]
pub struct Insn {
    /// Which.
    pub op: Op,
    /// Eight more bits of a distance.
    pub x: u8,
    /// First field.
    pub a: u16,
    /// Second field.
    pub b: u16,
    /// Third field.
    pub c: u16,
}

impl Insn {
    /// With three fields.
    pub const fn new(op: Op, a: u16, b: u16, c: u16) -> Insn {
        Insn { op, x: 0, a, b, c }
    }

    /// With a constant of 32 bits in `b` and `c`.
    pub const fn with_imm(op: Op, a: u16, imm: i32) -> Insn {
        let imm = imm as u32;
        Insn { op, x: 0, a, b: imm as u16, c: (imm >> 16) as u16 }
    }

    /// The constant of 32 bits in `b` and `c`.
    #[inline(always)]
    pub const fn imm(self) -> i32 {
        (self.b as u32 | (self.c as u32) << 16) as i32
    }

    /// The distance in `c` and `x`.
    #[inline(always)]
    pub const fn distance(self) -> i32 {
        ((self.x as i8) as i32) << 16 | self.c as i32
    }

    /// The same with another distance.
    ///
    /// # Panics
    /// If it does not fit into 24 bits.
    #[must_use]
    pub const fn to(self, distance: i32) -> Insn {
        assert!(
            distance >= -(1 << 23) && distance < 1 << 23,
            "a jump over more than eight million instructions"
        );
        Insn { x: (distance >> 16) as u8, c: distance as u16, ..self }
    }

    /// As in a file.
    pub const fn to_bytes(self) -> [u8; 8] {
        let [a, b, c] = [self.a.to_le_bytes(), self.b.to_le_bytes(), self.c.to_le_bytes()];
        [self.op as u8, self.x, a[0], a[1], b[0], b[1], c[0], c[1]]
    }

    /// From a file; `None` if there is no such instruction.
    pub fn from_bytes(bytes: [u8; 8]) -> Option<Insn> {
        let half = |at| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Some(Insn { op: Op::from_number(bytes[0])?, x: bytes[1], a: half(2), b: half(4), c: half(6) })
    }
}
