//! Owns: what an instruction computes, of operands of which something is known.
//! May use: `arith`, `raddle-bytecode`.
//! Never: a wildcard over formulas; an interval without a word that the instruction can compute.

use super::{AbstractInterpreter, AbstractState, Interval};
use raddle_bytecode::Insn;
use raddle_bytecode::effect::{Formula, Location, Operand, Width};

impl AbstractInterpreter<'_> {
    /// Gives the slots of field `a` their value, or, if they are more than one word, none that is known.
    pub(super) fn assign(&mut self, state: &mut AbstractState, insn: Insn, formula: Formula) {
        match insn.op.slots()[0] {
            1 => {
                let value = self.value(state, insn, formula);
                self.set(state, insn.a, value);
            }
            count => self.forget_slots(state, insn.a, u32::from(count)),
        }
    }

    fn value(&self, state: &AbstractState, insn: Insn, formula: Formula) -> Interval {
        let b = self.slot(state, insn.b);
        let c = || self.slot(state, insn.c);
        let imm = insn.imm() as u32;
        match formula {
            Formula::Unknown => Interval::TOP,
            Formula::Same => b,
            Formula::Constant => Interval::exactly(imm),
            Formula::FrameAddress => Interval::exactly(state.fp.wrapping_add(imm)),
            Formula::DataAddress => Interval::exactly(self.data.wrapping_add(imm)),
            Formula::Sum(operand) => b.plus(self.operand(state, insn, operand)),
            Formula::Difference => b.minus(c()),
            Formula::Product(operand) => b.times(self.operand(state, insn, operand)),
            Formula::Quotient => both(b, c(), |b, c| (b as i32).checked_div(c as i32).map(|it| it as u32)),
            Formula::Remainder => remainder(b, c()),
            Formula::Negative => one(b, |b| (b as i32).checked_neg().map(|it| it as u32)),
            Formula::And(operand) => and(b, self.operand(state, insn, operand), operand),
            Formula::Or => both(b, c(), |b, c| Some(b | c)),
            Formula::Xor => both(b, c(), |b, c| Some(b ^ c)),
            Formula::Not => one(b, |b| Some(!b)),
            Formula::ShiftLeft => both(b, c(), crate::arith::shl),
            Formula::ShiftRight => both(b, c(), crate::arith::shr),
            Formula::Compare(comparison, operand) => {
                let holds = b.compare(comparison, self.operand(state, insn, operand));
                holds.map_or(Interval::below(2), |holds| Interval::exactly(u32::from(holds)))
            }
            Formula::Invert => one(b, |b| Some(b ^ 1)),
            Formula::Narrow(width) => one(b, |b| Some(narrow(b, width))),
            Formula::AtMost(most) => b.at_most(most),
            Formula::Load(location, Width::Word) => {
                state.load(self.memory, self.address(state, insn, location, Width::Word))
            }
            Formula::Load(_, Width::Byte) => Interval::below(256),
            Formula::Load(_, Width::Half | Width::Long) => Interval::TOP,
            Formula::ElementAddress => match self.slot(state, insn.a).known() {
                Some(bytes) => self.element(state, insn, bytes),
                None => Interval::TOP,
            },
            Formula::Subscript => {
                let outer = both(self.slot(state, insn.a), c(), |a, c| {
                    (a as i32).checked_mul(c as i32).map(|it| it as u32)
                });
                both(outer, b, |outer, b| (outer as i32).checked_add(b as i32).map(|it| it as u32))
            }
        }
    }

    /// The second operand of a computation.
    fn operand(&self, state: &AbstractState, insn: Insn, operand: Operand) -> Interval {
        match operand {
            Operand::Slot => self.slot(state, insn.c),
            Operand::Imm => Interval::exactly(i32::from(insn.c as i16) as u32),
            Operand::Zero => Interval::exactly(0),
        }
    }

    /// The addresses that an access to memory may go to.
    pub(super) fn address(
        &self,
        state: &AbstractState,
        insn: Insn,
        location: Location,
        width: Width,
    ) -> Interval {
        match (location, self.slot(state, insn.b)) {
            (Location::Element, _) => self.element(state, insn, width.bytes()),
            (Location::Offset, Interval::TOP) => Interval::TOP,
            (Location::Offset, at) => at.plus(Interval::exactly(u32::from(insn.c))),
        }
    }

    /// Addresses of elements of so many bytes that the subscript can mean.
    fn element(&self, state: &AbstractState, insn: Insn, bytes: u32) -> Interval {
        let (base, count) = (self.slot(state, insn.b), self.slot(state, insn.b + 1));
        if base == Interval::TOP {
            return Interval::TOP;
        }
        match self.slot(state, insn.c).at_most(count.hi.saturating_sub(1)).times(Interval::exactly(bytes)) {
            Interval::TOP => Interval { lo: base.lo, hi: base.lo.max(u32::MAX - 1) },
            offset => base.plus(offset),
        }
    }
}

/// Of a known word, what is computed of it.
fn one(b: Interval, of: impl Fn(u32) -> Option<u32>) -> Interval {
    b.known().and_then(of).map_or(Interval::TOP, Interval::exactly)
}

/// Of two known words, what is computed of them.
fn both(b: Interval, c: Interval, of: impl Fn(u32, u32) -> Option<u32>) -> Interval {
    b.known().zip(c.known()).and_then(|(b, c)| of(b, c)).map_or(Interval::TOP, Interval::exactly)
}

fn remainder(b: Interval, c: Interval) -> Interval {
    let exact = both(b, c, |b, c| (c != 0).then(|| (b as i32).wrapping_rem(c as i32) as u32));
    match c.known() {
        Some(c) if exact == Interval::TOP && c as i32 > 0 && b.hi <= i32::MAX as u32 => Interval::below(c),
        _ => exact,
    }
}

fn and(b: Interval, mask: Interval, operand: Operand) -> Interval {
    let exact = both(b, mask, |b, mask| Some(b & mask));
    match (operand, mask.known()) {
        (Operand::Imm, Some(mask)) if exact == Interval::TOP && mask as i32 >= 0 => {
            Interval { lo: 0, hi: mask }
        }
        _ => exact,
    }
}

fn narrow(b: u32, width: Width) -> u32 {
    match width {
        Width::Byte => b & 0xff,
        Width::Half => i32::from(b as i16) as u32,
        Width::Word | Width::Long => b,
    }
}
