//! Owns: checks that reals are finite, and that sums of words fit, made later than where they stand.
//! May use: `blocks`, `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a step that cannot be made once more, while a check is to be made.
//!
//! A sum, a difference, a product, and a quotient of what is no finite number are none either. So where such a result
//! is checked, what it was made of need not be. A check opens a *window*, and from there on no other is made, until
//! something comes that others see: a store, a jump, a helper, fuel that is used. There is checked what was to be, but
//! for what has gone into a result that was to be checked, too. All ways out of a window lead to the instruction that
//! opened it, with what slots held there: the interpreter makes the rest of the window once more, and finds what is
//! wrong, if anything is, where it stands.

use super::ranges::Range;
use super::{Translation, cold_block};
use crate::blocks::LEAVES_OUT;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, how, operands};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder as _, Value, types};
use raddle_bytecode::effect::Effect;
use raddle_bytecode::{Insn, Op};
use std::collections::HashMap;

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
    /// Sums of words of which it is to be checked that they fit.
    sums: Vec<Sum>,
    /// Results, with those two of which each was made that need no check if it is checked.
    made_of: Vec<(Value, [Value; 2])>,
}

/// A sum, or a difference.
#[derive(Clone, Copy, Debug)]
struct Sum {
    op: Op,
    parts: [Value; 2],
    value: Value,
}

/// No more sums are to be checked at once.
const SUMS_MAX: usize = 12;
/// So far behind the first one it is looked for another.
const AHEAD: usize = 16;

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
        self.open_window();
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

    fn open_window(&mut self) {
        if self.window.is_none() {
            let late = self.late_values();
            let (at, pending, sums, made_of) = (self.at, Vec::new(), Vec::new(), Vec::new());
            self.window = Some(Window { at, late, exit: None, pending, sums, made_of });
        }
    }

    /// Whether a sum here is checked together with others: another one comes before the window would have to end.
    pub(super) fn sums_are_checked_later(&self, op: Op) -> bool {
        if !LEAVES_OUT || !matches!(op, Op::Add | Op::Sub) {
            return false;
        }
        if self.window.as_ref().is_some_and(|window| !window.sums.is_empty()) {
            return true;
        }
        let code = &self.common.module.code[self.at as usize + 1..];
        let ahead = code.iter().take(AHEAD).take_while(|insn| is_repeatable(**insn));
        ahead.into_iter().any(|insn| matches!(insn.op, Op::Add | Op::Sub))
    }

    /// A sum that is checked when the window ends.
    pub(super) fn sum_checked_later(&mut self, op: Op, left: Value, right: Value) -> Value {
        self.open_window();
        let value = self.unchecked(op, left, right);
        let Some(window) = &mut self.window else { return value };
        window.sums.push(Sum { op, parts: [left, right], value });
        if window.sums.len() >= SUMS_MAX {
            self.close_window();
        }
        value
    }

    /// All sums fit if all that they are made of are small, and not below 0: that is one comparison. Where they are not
    /// each sum is looked at.
    fn check_sums(&mut self, sums: &[Sum]) {
        let mut parts_of: HashMap<Value, i64> = HashMap::new();
        let (mut leaves, mut most) = (Vec::new(), 1);
        for sum in sums {
            let mut count = 0;
            for part in sum.parts {
                let of_sum = parts_of.get(&part).copied();
                if of_sum.is_none() && !leaves.contains(&part) {
                    leaves.push(part);
                }
                count += of_sum.unwrap_or(1);
            }
            parts_of.insert(sum.value, count);
            most = most.max(count);
        }
        // So many of such parts are together less than two to the power of 31: they are no more than `1 << SUMS_MAX`.
        let bits =
            if makes(RangeMistake::Parts) { 31 } else { 31 - i64::from((most as u64 - 1).ilog2() + 1) };
        let small = Range::new(1 - (1 << bits), (1 << bits) - 1);
        leaves.retain(|&leaf| !self.range(leaf).is_within(small));
        let Some((&first, others)) = leaves.split_first() else {
            self.checks.left_out += sums.len() as u64;
            return;
        };
        let (further, slow) = (self.ins.create_block(), cold_block(&mut self.ins));
        let all = others.iter().fold(first, |all, &leaf| self.ins.ins().bor(all, leaf));
        let is_large = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, all, 1 << bits);
        let none = self.ins.ins().iconst(types::I8, 0);
        // The way out is behind both, not in the slow one: see `leave_unless`.
        let overflows = self.ins.append_block_param(further, types::I8);
        self.ins.ins().brif(is_large, slow, &[], further, &[BlockArg::Value(none)]);
        self.begin_block(slow);
        let flags: Vec<Value> =
            sums.iter().map(|sum| self.with_overflow(sum.op, sum.parts[0], sum.parts[1]).1).collect();
        let any = flags[1..].iter().fold(flags[0], |any, &flag| self.ins.ins().bor(any, flag));
        self.ins.ins().jump(further, &[BlockArg::Value(any)]);
        self.begin_block(further);
        self.leave_if(overflows);
        self.checks.left_out += sums.len() as u64 - 1;
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
        let sums = std::mem::take(&mut window.sums);
        if !sums.is_empty() {
            self.check_sums(&sums);
        }
        let Some(window) = &mut self.window else { return };
        for value in std::mem::take(&mut window.pending) {
            self.leave_unless_finite(value);
        }
        self.window = None;
        self.exit = None;
    }
}
