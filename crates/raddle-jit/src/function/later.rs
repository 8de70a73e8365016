//! Owns: checks that reals are finite, and that sums of words fit, made later than where they stand.
//! May use: `blocks`, `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: a step that cannot be made once more, while a check is to be made.
//!
//! A sum, a difference, a product, and a quotient of what is no finite number are none either. So where such a result
//! is checked, what it was made of need not be. A check opens a *window*, and from there on no other is made, until
//! something comes that others see: a store, a jump, a helper, fuel that is used. There is checked what was to be, but
//! for what has gone into a result that was to be checked, too. Where something is wrong it is found out what of it
//! stands first, out of the way, and the interpreter does that: so of the slots nothing is kept for it but what that
//! reads. The ways out of what stands in a window, and is checked there, lead to the instruction that opened it, with
//! what slots held there: the interpreter makes the rest of the window once more, and finds what is wrong, if anything
//! is, where it stands.

use super::exits::WayOut;
use super::ranges::Range;
use super::{Translation, cold_block};
use crate::blocks::LEAVES_OUT;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, how, operands, spends_fuel};
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
    /// Where the ways out of what stands in it, and is checked there, lead, if there is one.
    pub(super) exit: Option<Block>,
    /// What is to be checked.
    pending: Vec<Value>,
    /// Sums of words of which it is to be checked that they fit.
    sums: Vec<Sum>,
    /// Results, with those two of which each was made that need no check if it is checked.
    made_of: Vec<(Value, [Value; 2])>,
    /// All that is left for later, in order.
    checks: Vec<LaterCheck>,
}

/// A check that is left for later.
#[derive(Debug)]
struct LaterCheck {
    at: u32,
    /// What is late and read there.
    late: Vec<(usize, Value)>,
    what: Checked,
}

#[derive(Clone, Copy, Debug)]
enum Checked {
    /// That value is finite.
    Finite(Value),
    /// It fits.
    Fits(Sum),
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
    how(insn) == Doer::Inline && !matches!(insn.op.effect(), Effect::Store(..)) && !spends_fuel(insn)
}

impl Translation<'_, '_> {
    /// A real is to be checked; gives whether that is left for later.
    pub(super) fn check_later(&mut self, value: Value) -> bool {
        if !LEAVES_OUT {
            return false;
        }
        self.open_window();
        let late = self.late_values();
        let Some(window) = &mut self.window else { return false };
        window.checks.push(LaterCheck { at: self.at, late, what: Checked::Finite(value) });
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
            let late = self.late_values_for_window();
            let (at, pending, sums, made_of) = (self.at, Vec::new(), Vec::new(), Vec::new());
            let checks = Vec::new();
            self.window = Some(Window { at, late, exit: None, pending, sums, made_of, checks });
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
        let late = self.late_values();
        let value = self.unchecked(op, left, right);
        let Some(window) = &mut self.window else { return value };
        let sum = Sum { op, parts: [left, right], value };
        window.sums.push(sum);
        window.checks.push(LaterCheck { at: self.at, late, what: Checked::Fits(sum) });
        if window.sums.len() >= SUMS_MAX {
            self.close_window();
        }
        value
    }

    /// All sums fit if all that they are made of are small, and not below 0: that is one comparison. Where they are not
    /// each sum is looked at. Gives whether one does not fit, if that is not known.
    fn any_overflow(&mut self, sums: &[Sum]) -> Option<Value> {
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
            return None;
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
        self.checks.left_out += sums.len() as u64 - 1;
        Some(overflows)
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
        let Some(window) = self.window.take() else { return };
        self.exit = None;
        let find = cold_block(&mut self.ins);
        let mut is_used = false;
        let overflows = if window.sums.is_empty() { None } else { self.any_overflow(&window.sums) };
        let mut leave = |this: &mut Self, is_wrong: Value| {
            this.checks.made += 1;
            let further = this.ins.create_block();
            this.ins.ins().brif(is_wrong, find, &[], further, &[]);
            this.begin_block(further);
            is_used = true;
        };
        overflows.into_iter().for_each(|is_wrong| leave(self, is_wrong));
        for &value in &window.pending {
            let is_wrong = self.is_no_finite_number(value);
            leave(self, is_wrong);
        }
        if is_used && let Some(further) = self.ins.current_block() {
            self.begin_block(find);
            self.find_wrong(window.checks);
            self.ins.switch_to_block(further);
        }
    }

    /// Something is wrong: leaves where the first of it is. The checks before it hold, so all that it was made of is
    /// what it seems, and the interpreter need only look at what it reads.
    fn find_wrong(&mut self, checks: Vec<LaterCheck>) {
        let last = checks.len() - 1;
        for (number, LaterCheck { at, late, what }) in checks.into_iter().enumerate() {
            if number < last && makes(RangeMistake::Last) {
                continue;
            }
            let exit = cold_block(&mut self.ins);
            if number == last {
                self.ins.ins().jump(exit, &[]);
                self.make_exit(Some(WayOut { exit, at, late }));
                return;
            }
            let is_wrong = match what {
                Checked::Finite(value) => self.is_no_finite_number(value),
                Checked::Fits(Sum { op, parts, .. }) => self.with_overflow(op, parts[0], parts[1]).1,
            };
            let further = cold_block(&mut self.ins);
            self.ins.ins().brif(is_wrong, exit, &[], further, &[]);
            self.make_exit(Some(WayOut { exit, at, late }));
            self.begin_block(further);
        }
    }
}
