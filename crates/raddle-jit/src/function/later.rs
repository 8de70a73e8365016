//! Owns: checks that reals are finite, made later than where they stand.
//! May use: `blocks`, `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a step that cannot be made once more, while a check is to be made.
//!
//! A sum, a difference, a product, and a quotient of what is no finite number are none either. So where such a result
//! is checked, what it was made of need not be. A check opens a *window*, and from there on no other is made, until
//! something comes that others see: a store, a jump, a helper, fuel that is used. There is checked what was to be, but
//! for what has gone into a result that was to be checked, too. All ways out of a window lead to the instruction that
//! opened it, with what slots held there: the interpreter makes the rest of the window once more, and finds what is
//! wrong, if anything is, where it stands.

use super::Translation;
use crate::blocks::LEAVES_OUT;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, how, operands};
use cranelift_codegen::ir::{Block, Value};
use raddle_bytecode::effect::Effect;
use raddle_bytecode::{Insn, Op};

/// Checks that are to be made.
#[derive(Debug)]
pub(super) struct Window {
    /// The instruction that opened it.
    pub(super) at: u32,
    /// What was late there.
    pub(super) late: Vec<(usize, Value)>,
    /// Where its ways out lead, if there is one.
    pub(super) exit: Option<Block>,
    /// What is to be checked.
    pending: Vec<Value>,
    /// Results, with those two of which each was made that need no check if it is checked.
    made_of: Vec<(Value, [Value; 2])>,
}

/// No more is pending at once: each is kept in a register.
const PENDING_MAX: usize = 6;
/// Nor are more results remembered: each is looked for among them.
const RESULTS_MAX: usize = 48;

/// Whether it can be made once more: it changes registers alone.
fn is_repeatable(insn: Insn) -> bool {
    how(insn) == Doer::Inline
        && !matches!(insn.op.effect(), Effect::Store(..))
        && !matches!(insn.op, Op::CopyI | Op::Zero | Op::FnF | Op::FnD)
}

impl Translation<'_, '_> {
    /// A real is to be checked; gives whether that is left for later.
    pub(super) fn check_later(&mut self, value: Value) -> bool {
        if !LEAVES_OUT {
            return false;
        }
        if self.window.is_none() {
            let late = self.late_values();
            let (at, pending, made_of) = (self.at, Vec::new(), Vec::new());
            self.window = Some(Window { at, late, exit: None, pending, made_of });
        }
        let Some(window) = &mut self.window else { return false };
        let before = window.pending.len();
        if let Some(&(_, parts)) = window.made_of.iter().find(|(result, _)| *result == value) {
            window.pending.retain(|it| !parts.contains(it));
        }
        if !window.pending.contains(&value) {
            window.pending.push(value);
        }
        self.checks.left_out += (before + 1 - window.pending.len()) as u64;
        if window.pending.len() > PENDING_MAX || window.made_of.len() > RESULTS_MAX {
            self.close_window();
        }
        true
    }

    /// A result is made of these two, and is no finite number if one of them is none.
    pub(super) fn note_made_of(&mut self, result: Value, parts: [Value; 2]) {
        if let Some(window) = &mut self.window {
            window.made_of.push((result, parts));
        }
    }

    /// Before an instruction that may end the window.
    pub(super) fn close_window_for(&mut self, insn: Insn) {
        let writes_open = || operands(insn).writes().any(|it| self.views.all[self.views.at(it)].is_open);
        if self.window.is_some() && (!is_repeatable(insn) || writes_open()) && !makes(RangeMistake::Window) {
            self.close_window();
        }
    }

    /// Checks all that is to be checked.
    pub(super) fn close_window(&mut self) {
        let Some(window) = &mut self.window else { return };
        for value in std::mem::take(&mut window.pending) {
            let is_finite = self.is_finite(value);
            self.leave_unless(is_finite);
        }
        self.window = None;
        self.exit = None;
    }
}
