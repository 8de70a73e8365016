//! Owns: which slots are set to one and the same thing wherever a function sets them.
//! May use: `operands`, `views`, `raddle-bytecode`.
//! Never: a promise. Others may write a slot by its address, so whoever uses this compares it first.

use crate::operands::{Doer, how, operands};
use crate::views::{ViewSet, Views};
use raddle_bytecode::{Function, Insn, Op};

/// What a slot is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    Number(i32),
    /// The address of so many bytes behind the frame's beginning.
    InFrame(i32),
}

/// For each view what it is set to, if that is the same everywhere.
#[derive(Debug)]
pub(crate) struct Settled {
    /// The views that nothing else was seen to set.
    only: ViewSet,
    to: Vec<Option<Setting>>,
}

impl Settled {
    pub(crate) fn of(function: &Function, code: &[Insn], views: &Views) -> Settled {
        let count = views.all.len();
        let mut settled = Settled { only: ViewSet::all(count), to: vec![None; count] };
        for insn in &code[function.first as usize..(function.first + function.count) as usize] {
            settled.see(*insn, views);
        }
        settled
    }

    pub(crate) fn get(&self, view: usize) -> Option<Setting> {
        self.to[view].filter(|_| self.only.has(view))
    }

    fn see(&mut self, insn: Insn, views: &Views) {
        let setting = match insn.op {
            Op::Ldi => Some(Setting::Number(insn.imm())),
            Op::Addr => Some(Setting::InFrame(insn.imm())),
            _ => None,
        };
        for (slot, class) in operands(insn).writes() {
            let view = views.at((slot, class));
            if setting.is_some() && self.to[view].is_none_or(|before| Some(before) == setting) {
                self.to[view] = setting;
                views.overlapping(view).for_each(|other| self.only.remove(other));
            } else {
                views.forget(&mut self.only, slot, 1 + u32::from(class.is_wide()));
            }
        }
        // What a helper does, and what is passed by its address, may be anything.
        if !matches!(how(insn), Doer::Inline | Doer::Jump) {
            let bytes = u32::from(if matches!(insn.op, Op::In | Op::InX) { insn.c } else { 0 });
            let [first, second, _] = insn.op.slots().map(u32::from);
            views.forget(&mut self.only, insn.a, first);
            views.forget(&mut self.only, insn.b, second.max(bytes.div_ceil(4)));
        }
        if let (Op::Addr, Ok(bytes)) = (insn.op, u32::try_from(insn.imm())) {
            u16::try_from(bytes / 4).into_iter().for_each(|slot| views.forget(&mut self.only, slot, 1));
        }
    }
}
