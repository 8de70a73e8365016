//! Owns: what a slot holds at an instruction, as far as that is the same in every run.
//! May use: `raddle-bytecode`.
//! Never: more than what lies in a straight line before it, and arguments: so are counts and sizes written.

use raddle_bytecode::effect::{Effect, Formula, Location, Message, Operand, Width};
use raddle_bytecode::{Form, Insn, Module};
use std::collections::BTreeMap;

/// What is known of a function's arguments.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Args {
    /// Values of slots.
    slots: BTreeMap<u16, i32>,
    /// Values of slots of the frame that forked it.
    outer: BTreeMap<u16, i32>,
}

/// A slot that leads to the frame of who has forked this one.
const LINK: u16 = 1;

/// A function that is looked at.
pub(super) struct Looked<'m> {
    pub(super) module: &'m Module,
    pub(super) function: u32,
}

impl Looked<'_> {
    /// The value of a slot before that instruction.
    pub(super) fn value(&self, at: u32, slot: u16, args: &Args) -> Option<i32> {
        self.value_within(at, slot, args, 64)
    }

    fn value_within(&self, at: u32, slot: u16, args: &Args, steps: u32) -> Option<i32> {
        let function = &self.module.functions[self.function as usize];
        let steps = steps.checked_sub(1)?;
        let code = |at: u32| self.module.code[at as usize];
        let all = function.first..function.first + function.count;
        if let Some(&value) = args.slots.get(&slot)
            && !all.clone().any(|at| self.writes(code(at), slot))
        {
            return Some(value);
        }
        let mut before = at;
        loop {
            if before <= function.first || all.clone().any(|from| leads_to(from, code(from), before)) {
                return None;
            }
            before -= 1;
            let insn = code(before);
            if !insn.op.effect().falls_through() {
                return None;
            }
            if self.writes(insn, slot) {
                return self.result(before, insn, slot, args, steps);
            }
        }
    }

    /// What an instruction that writes the slot leaves there.
    fn result(&self, at: u32, insn: Insn, slot: u16, args: &Args, steps: u32) -> Option<i32> {
        let Effect::Set(formula) = insn.op.effect() else { return None };
        if insn.a != slot {
            return None;
        }
        let of = |slot: u16| self.value_within(at, slot, args, steps);
        let second = |operand| match operand {
            Operand::Slot => of(insn.c),
            Operand::Imm => Some(i32::from(insn.c as i16)),
            Operand::Zero => Some(0),
        };
        match formula {
            Formula::Constant => Some(insn.imm()),
            Formula::Same => of(insn.b),
            Formula::Sum(operand) => of(insn.b)?.checked_add(second(operand)?),
            Formula::Difference => of(insn.b)?.checked_sub(of(insn.c)?),
            Formula::Product(operand) => of(insn.b)?.checked_mul(second(operand)?),
            Formula::Quotient => of(insn.b)?.checked_div(of(insn.c)?),
            Formula::Load(Location::Offset, Width::Word) if insn.b == LINK => {
                args.outer.get(&(insn.c / 4)).copied()
            }
            _ => None,
        }
    }

    /// Whether an instruction may change the slot.
    fn writes(&self, insn: Insn, slot: u16) -> bool {
        let [a, b, _] = insn.op.slots();
        let from = |first: u16, count: u32| {
            (u32::from(first)..u32::from(first).saturating_add(count)).contains(&u32::from(slot))
        };
        match insn.op.effect() {
            Effect::Set(_) => from(insn.a, u32::from(a.max(1))),
            Effect::Clear => from(insn.a, insn.imm() as u32 / 4 + 1),
            Effect::Receive(Message::Frame) => from(insn.b, u32::from(insn.c) / 4 + 1),
            Effect::Call => {
                let site = self.module.sites.get(insn.imm() as usize);
                site.is_none_or(|site| u32::from(slot) >= site.base)
            }
            Effect::Repeat | Effect::RepeatStep => from(insn.a, 1) || from(insn.b, 2),
            Effect::Nothing
            | Effect::Check(_)
            | Effect::Send(_)
            | Effect::Jump
            | Effect::JumpIf(..)
            | Effect::Switch
            | Effect::Return
            | Effect::End
            | Effect::Fault
            | Effect::Fork
            | Effect::LetGo
            | Effect::Claim
            | Effect::Unclaim
            | Effect::Sleep
            | Effect::Yield
            | Effect::Store(..)
            | Effect::Copy(_)
            | Effect::Fill
            | Effect::Receive(Message::Memory) => false,
            _ if insn.op.form() == Form::none => false,
            // The states of PARs, ALTs and calls of the host have eight slots at most.
            _ => from(insn.a, 8) || b > 0 && from(insn.b, 8),
        }
    }

    /// Whether what an instruction allocates by that slot stays there until this function frees it, as an array does.
    pub(super) fn is_freed_here(&self, slot: u16) -> bool {
        let function = &self.module.functions[self.function as usize];
        let code = &self.module.code[function.first as usize..(function.first + function.count) as usize];
        let frees = code.iter().any(|insn| insn.op.effect() == Effect::Free && insn.a == slot);
        let other = |insn: &&Insn| {
            !matches!(insn.op.effect(), Effect::Free | Effect::Allocate(_)) && self.writes(**insn, slot)
        };
        frees && code.iter().find(other).is_none()
    }

    /// What is known of the arguments of a call.
    pub(super) fn args_at(&self, at: u32, base: u32, callee: u32, args: &Args) -> Args {
        let slots = self.module.functions[callee as usize].slots;
        let known = |slot: u32| {
            let mine = u16::try_from(base + slot).ok()?;
            Some((slot as u16, self.value(at, mine, args)?))
        };
        // The first two are the machine's. Nobody has so many arguments as there may be slots.
        Args { slots: (2..slots.min(64)).filter_map(known).collect(), outer: BTreeMap::new() }
    }

    /// What is known to a function that is forked from there.
    pub(super) fn linked(&self, at: u32, forked: u32, args: &Args) -> Args {
        let forked = &self.module.functions[forked as usize];
        let code = &self.module.code[forked.first as usize..(forked.first + forked.count) as usize];
        let of_link = |insn: &&Insn| {
            matches!(insn.op.effect(), Effect::Set(Formula::Load(Location::Offset, Width::Word)))
                && insn.b == LINK
        };
        let known = |insn: &Insn| Some((insn.c / 4, self.value(at, insn.c / 4, args)?));
        Args { slots: BTreeMap::new(), outer: code.iter().filter(of_link).filter_map(known).collect() }
    }
}

/// Whether an instruction may go on there otherwise than because it lies before.
fn leads_to(from: u32, insn: Insn, to: u32) -> bool {
    let jumps = insn.op.form().jumps() && (from + 1).wrapping_add_signed(insn.distance()) == to;
    let switches =
        insn.op.effect() == Effect::Switch && (from + 1..=from + 1 + insn.imm() as u32).contains(&to);
    jumps || switches
}
