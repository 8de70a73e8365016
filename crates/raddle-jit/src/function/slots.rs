//! Owns: slots of the frame in registers: how they are read and written, and when memory is told.
//! May use: `blocks`, `convention`, `mistakes`, `operands`, `views`, `cranelift-codegen`.
//! Never: a slot in memory that differs from its register, unless it is late.

use super::{Translation, class_type, type_of};
use crate::blocks::LEAVES_OUT;
use crate::convention::SLOT;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Operand, ValueClass};
use crate::views::ViewSet;
use cranelift_codegen::ir::{InstBuilder as _, MemFlagsData, Type, Value};

/// Each way out stores all that is late; so it must not be very much.
const LATE_MAX: usize = 16;

impl Translation<'_, '_> {
    /// What is late and is to be in memory where that block begins, for who comes to it, or jumps back to it.
    pub(super) fn early(&self, number: usize, is_back: bool) -> Vec<usize> {
        let live = if is_back { self.live.inside(number) } else { self.live.at_block(number) };
        let is_live = |view: &usize| self.views.is_among(live, *view);
        self.late.beyond(&self.late_at[number]).filter(is_live).collect()
    }

    pub(super) fn load_view(&mut self, view: usize) -> Value {
        let view = self.views.all[view];
        let ty = type_of(view.is_wide, view.is_real);
        self.ins.ins().load(ty, SLOT, self.frame, 4 * i32::from(view.slot))
    }

    /// Puts a view that is late into memory.
    pub(super) fn store_view(&mut self, view: usize) {
        self.close_window();
        let value = self.ins.use_var(self.variables[view]);
        self.ins.ins().store(SLOT, value, self.frame, 4 * i32::from(self.views.all[view].slot));
        self.late.remove(view);
        self.exit = None;
    }

    /// Puts all that is late into memory.
    pub(super) fn store_late(&mut self) {
        let late: Vec<usize> = self.late.all_of().collect();
        late.into_iter().for_each(|view| self.store_view(view));
    }

    /// Puts into memory what is late and shares a slot with that view.
    pub(super) fn store_overlapping(&mut self, view: usize) {
        let late: Vec<usize> = self.views.overlapping(view).filter(|&other| self.late.has(other)).collect();
        late.into_iter().for_each(|view| self.store_view(view));
    }

    /// A view is written: what is late and shares a slot with it goes into memory, if it has another slot, at which one
    /// may look before that is written.
    fn overwrite(&mut self, view: usize) {
        let words = self.views.words_of(view);
        let live = self.live.before(self.at + 1);
        let is_left = |other: usize| {
            let mut others = self.views.words_of(other).into_iter();
            !makes(RangeMistake::Half)
                && others.any(|word| !words.contains(&word) && (live.has(word) || !LEAVES_OUT))
        };
        let late = self.views.overlapping(view).filter(|&other| self.late.has(other));
        let (left, covered): (Vec<usize>, Vec<usize>) = late.partition(|&other| is_left(other));
        left.into_iter().for_each(|view| self.store_view(view));
        if !covered.is_empty() {
            covered.into_iter().for_each(|view| self.late.remove(view));
            self.exit = None;
        }
    }

    /// What stands in a slot.
    pub(super) fn read(&mut self, operand: Operand) -> Value {
        let value = self.read_as_held(operand);
        self.cast(value, class_type(operand.1))
    }

    /// What stands in a slot, as whatever a register has it.
    pub(super) fn read_as_held(&mut self, operand: Operand) -> Value {
        let view = self.views.at(operand);
        let variable = self.variables[view];
        if self.views.all[view].is_open {
            self.store_overlapping(view);
            return self.load_view(view);
        }
        if !self.held.has(view) {
            self.store_overlapping(view);
            let value = self.load_view(view);
            self.ins.def_var(variable, value);
            self.held.add(view);
        }
        // As it was called first, so that facts about it are found.
        let value = self.ins.use_var(variable);
        self.ins.func.dfg.resolve_aliases(value)
    }

    /// Puts a value into a slot.
    pub(super) fn write(&mut self, operand: Operand, value: Value) {
        let view = self.views.at(operand);
        let kind = self.views.all[view];
        let value = self.cast(value, type_of(kind.is_wide, kind.is_real));
        self.overwrite(view);
        let live = self.live.before(self.at + 1);
        let is_live = |view: &usize| self.views.is_among(live, *view);
        let late: Vec<usize> = self.late.all_of().filter(is_live).collect();
        if late.len() >= LATE_MAX {
            late.into_iter().for_each(|view| self.store_view(view));
        }
        self.exit = None;
        self.views.write(operand, &mut self.held);
        if kind.is_open {
            self.ins.ins().store(SLOT, value, self.frame, 4 * i32::from(kind.slot));
            return;
        }
        self.ins.def_var(self.variables[view], value);
        self.late.add(view);
    }

    /// The same bits as another type.
    pub(super) fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.ins.func.dfg.value_type(value) == ty {
            return value;
        }
        self.ins.ins().bitcast(ty, MemFlagsData::new(), value)
    }

    pub(super) fn word_at(&mut self, slot: u16) -> Value {
        self.read((slot, ValueClass::Word))
    }

    pub(super) fn set_word(&mut self, slot: u16, value: Value) {
        self.write((slot, ValueClass::Word), value);
    }

    /// What is late and looked at by who finds out what is wrong with this instruction, with its values.
    pub(super) fn late_values(&mut self) -> Vec<(usize, Value)> {
        let insn = self.common.module.code[self.at as usize];
        let live = self.live.for_report(self.views, (self.at, insn), &self.unproven);
        self.late_among(&live)
    }

    /// The same of this instruction, or one behind it in the block.
    pub(super) fn late_values_for_window(&mut self) -> Vec<(usize, Value)> {
        let live = self.live.for_reports_from(self.at).clone();
        self.late_among(&live)
    }

    fn late_among(&mut self, live: &ViewSet) -> Vec<(usize, Value)> {
        let is_live = |view: &usize| self.views.is_among(live, *view);
        let late: Vec<usize> = self.late.all_of().filter(is_live).collect();
        late.into_iter().map(|view| (view, self.ins.use_var(self.variables[view]))).collect()
    }
}
