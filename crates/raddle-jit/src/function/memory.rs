//! Owns: bytes in memory.
//! May use: `operands`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: an address that was not compared with the memory's size.
//!
//! What is written through an address may lie in this frame, where a register holds a slot: then the interpreter
//! writes it, and what is held is forgotten.

use super::{CHECKED, Fact, SLOT, Translation};
use crate::operands::ValueClass;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder as _, Type, Value, types};
use raddle_bytecode::effect::{Effect, Formula, Location, Width};
use raddle_bytecode::{Insn, Op};

impl Translation<'_, '_> {
    /// Translates an access to memory; false if it is none.
    pub(super) fn memory(&mut self, insn: Insn) -> bool {
        match insn.op.effect() {
            Effect::Set(Formula::Load(location, width)) => {
                let address = self.place(insn, location, width);
                self.load(insn.a, address, width);
            }
            Effect::Store(location, width) => {
                let address = self.place(insn, location, width);
                self.store(insn.a, address, width);
            }
            _ => return self.addresses(insn),
        }
        true
    }

    fn addresses(&mut self, insn: Insn) -> bool {
        match insn.op {
            Op::Elem => self.element_address(insn),
            Op::Flat => self.flat(insn),
            Op::CopyI => self.copy(insn),
            Op::Zero => self.clear(insn),
            _ => return false,
        }
        true
    }

    /// The address of what is accessed, as 64 bits, compared.
    fn place(&mut self, insn: Insn, location: Location, width: Width) -> Value {
        match location {
            Location::Offset => {
                let address = self.word_at(insn.b);
                let wide = self.ins.ins().uextend(types::I64, address);
                let place = self.ins.ins().iadd_imm_s(wide, i64::from(insn.c));
                if self.facts.insert(Fact::Bytes(address, insn.c, width.bytes())) {
                    self.within(place, width.bytes());
                }
                place
            }
            Location::Element => {
                let index = self.word_at(insn.c);
                let count = self.word_at(insn.b.wrapping_add(1));
                self.check_below(index, count);
                let address = self.word_at(insn.b);
                let wide = self.ins.ins().uextend(types::I64, address);
                let shift = i64::from(width.bytes().trailing_zeros());
                if self.facts.insert(Fact::Array(address, count, width.bytes())) {
                    self.array_within(wide, count, shift);
                }
                let wide_index = self.ins.ins().uextend(types::I64, index);
                let offset = self.ins.ins().ishl_imm_s(wide_index, shift);
                self.ins.ins().iadd(wide, offset)
            }
        }
    }

    /// A subscript: leaves unless it is less than the count.
    pub(super) fn check_below(&mut self, index: Value, count: Value) {
        if self.facts.insert(Fact::Below(index, count)) {
            let outside = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, count);
            self.leave_if(outside);
        }
    }

    /// The whole array lies in memory: what is compared is the same for all its elements.
    fn array_within(&mut self, address: Value, count: Value, shift: i64) {
        let count = self.ins.ins().uextend(types::I64, count);
        let bytes = self.ins.ins().ishl_imm_s(count, shift);
        let end = self.ins.ins().iadd(address, bytes);
        let limit = i64::from(self.common.memory_bytes);
        let beyond = self.ins.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, end, limit);
        self.leave_if(beyond);
    }

    /// Leaves unless so many bytes lie there.
    fn within(&mut self, place: Value, bytes: u32) {
        let last = i64::from(self.common.memory_bytes) - i64::from(bytes);
        let beyond = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThan, place, last);
        self.leave_if(beyond);
    }

    fn load(&mut self, slot: u16, place: Value, width: Width) {
        let at = self.ins.ins().iadd(self.base, place);
        match width {
            Width::Byte => {
                let value = self.ins.ins().uload8(types::I32, CHECKED, at, 0);
                self.set_word(slot, value);
            }
            Width::Half => {
                let value = self.ins.ins().sload16(types::I32, CHECKED, at, 0);
                self.set_word(slot, value);
            }
            Width::Word | Width::Long => {
                let class = if width == Width::Word { ValueClass::Word } else { ValueClass::Long };
                let ty = self.type_in((slot, class));
                let value = self.ins.ins().load(ty, CHECKED, at, 0);
                self.write((slot, class), value);
            }
        }
    }

    /// What the slot is in a register.
    fn type_in(&self, operand: (u16, ValueClass)) -> Type {
        let view = self.views.all[self.views.at(operand)];
        super::type_of(view.is_wide, view.is_real)
    }

    fn store(&mut self, slot: u16, place: Value, width: Width) {
        let value = match width {
            Width::Byte | Width::Half => self.word_at(slot),
            Width::Word => self.read_as_held((slot, ValueClass::Word)),
            Width::Long => self.read_as_held((slot, ValueClass::Long)),
        };
        self.leave_if_named(place, width.bytes());
        let at = self.ins.ins().iadd(self.base, place);
        match width {
            Width::Byte => self.ins.ins().istore8(CHECKED, value, at, 0),
            Width::Half => self.ins.ins().istore16(CHECKED, value, at, 0),
            Width::Word | Width::Long => self.ins.ins().store(CHECKED, value, at, 0),
        };
    }

    /// What stands in a slot, as whatever a register has it.
    fn read_as_held(&mut self, operand: (u16, ValueClass)) -> Value {
        self.read(operand);
        let view = self.views.at(operand);
        self.ins.use_var(self.variables[view])
    }

    /// Leaves if a word of the frame that any view has is among those bytes.
    fn leave_if_named(&mut self, place: Value, bytes: u32) {
        let address = self.ins.ins().ireduce(types::I32, place);
        let offset = self.ins.ins().isub(address, self.fp);
        // From the first place whose last byte is in the frame to the last one whose first byte is.
        let more = i64::from(bytes) - 1;
        let reach = self.ins.ins().iadd_imm_s(offset, more);
        let frame_bytes = i64::from(4 * self.function.slots);
        let inside = self.ins.ins().icmp_imm_s(IntCC::UnsignedLessThan, reach, frame_bytes + more);
        let (close, further) = (self.ins.create_block(), self.ins.create_block());
        self.ins.set_cold_block(close);
        self.ins.ins().brif(inside, close, &[], further, &[]);
        self.ins.switch_to_block(close);
        // What lies before the frame and behind it is the caller's, or nobody's: no view's.
        let wide = self.ins.ins().sextend(types::I64, offset);
        let first = self.ins.ins().sshr_imm_s(wide, 2);
        let names = self.ins.ins().iconst(types::I64, self.names as i64);
        let entry = self.ins.ins().iadd(names, first);
        let mut named = self.ins.ins().uload8(types::I32, SLOT, entry, 0);
        if bytes > 1 {
            let behind = self.ins.ins().iadd_imm_s(wide, more);
            let last = self.ins.ins().sshr_imm_s(behind, 2);
            let entry = self.ins.ins().iadd(names, last);
            let also = self.ins.ins().uload8(types::I32, SLOT, entry, 0);
            named = self.ins.ins().bor(named, also);
        }
        if bytes > 4 {
            let entry = self.ins.ins().iadd(names, first);
            let also = self.ins.ins().uload8(types::I32, SLOT, entry, 1);
            named = self.ins.ins().bor(named, also);
        }
        let at = self.ins.ins().iconst(types::I32, i64::from(self.at));
        self.ins.ins().brif(named, self.slow, &[BlockArg::Value(at)], further, &[]);
        self.ins.switch_to_block(further);
    }

    fn element_address(&mut self, insn: Insn) {
        let index = self.word_at(insn.c);
        let count = self.word_at(insn.b.wrapping_add(1));
        self.check_below(index, count);
        let (size, address) = (self.word_at(insn.a), self.word_at(insn.b));
        let [index, size, address] = [index, size, address].map(|it| self.ins.ins().uextend(types::I64, it));
        let offset = self.ins.ins().imul(index, size);
        // Neither the product nor the sum may have more than 32 bits.
        let sum = self.ins.ins().iadd(offset, address);
        let high = self.ins.ins().ushr_imm_s(sum, 32);
        self.leave_if(high);
        let high = self.ins.ins().ushr_imm_s(offset, 32);
        self.leave_if(high);
        let value = self.ins.ins().ireduce(types::I32, sum);
        self.set_word(insn.a, value);
    }

    fn flat(&mut self, insn: Insn) {
        let (inner, size) = (self.word_at(insn.b), self.word_at(insn.c));
        self.check_below(inner, size);
        let outer = self.word_at(insn.a);
        let [inner, size, outer] = [inner, size, outer].map(|it| self.ins.ins().uextend(types::I64, it));
        let product = self.ins.ins().imul(outer, size);
        let sum = self.ins.ins().iadd(product, inner);
        self.leave_if_word(IntCC::UnsignedGreaterThan, sum, i64::from(i32::MAX));
        let value = self.ins.ins().ireduce(types::I32, sum);
        self.set_word(insn.a, value);
    }

    /// A few words of the frame.
    fn clear(&mut self, insn: Insn) {
        let words = insn.imm() as u32 / 4;
        let zero = self.ins.ins().iconst(types::I32, 0);
        for word in 0..words as i32 {
            self.ins.ins().store(SLOT, zero, self.frame, 4 * (i32::from(insn.a) + word));
        }
        self.views.forget(&mut self.held, insn.a, words);
        self.spend(words as i32 / 4, self.at + 1);
    }

    /// A few words. They may overlap, so all are loaded first.
    fn copy(&mut self, insn: Insn) {
        let (to, from) = (self.word_at(insn.a), self.word_at(insn.b));
        let [to, from] = [to, from].map(|it| self.ins.ins().uextend(types::I64, it));
        self.within(to, u32::from(insn.c));
        self.within(from, u32::from(insn.c));
        let [to, from] = [to, from].map(|it| self.ins.ins().iadd(self.base, it));
        let words: Vec<Value> = (0..i32::from(insn.c) / 4)
            .map(|word| self.ins.ins().load(types::I32, CHECKED, from, 4 * word))
            .collect();
        for (number, word) in words.into_iter().enumerate() {
            self.ins.ins().store(CHECKED, word, to, 4 * number as i32);
        }
        self.held.clear();
        self.spend(i32::from(insn.c) / 16, self.at + 1);
    }
}
