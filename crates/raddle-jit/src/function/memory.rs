//! Owns: bytes in memory.
//! May use: `blocks`, `convention`, `mistakes`, `operands`, `cranelift-codegen`, `raddle-bytecode`, `raddle-vm`.
//! Never: an address that was not compared with the memory's size.
//!
//! What is accessed by an address may lie in this frame, where a register holds a slot: then the interpreter does it,
//! and what is held is forgotten. An array is compared as a whole, which need not be done in a loop that does not
//! change it; only one that does not lie in memory and elsewhere than this frame is looked at by element.

use super::claims::Bound;
use super::ranges::Range;
use super::{CHECKED, Fact, Translation};
use crate::blocks::LEAVES_OUT;
use crate::convention::SLOT;
use crate::mistakes::{RangeMistake, makes};
use crate::operands::ValueClass;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, InstructionData, Opcode, Type, Value, types};
use raddle_bytecode::effect::{Effect, Formula, Location, Width};
use raddle_bytecode::{Insn, Op};
use raddle_vm::native::NativeContext;
use std::mem::offset_of;

impl Translation<'_, '_> {
    /// Translates an access to memory; false if it is none.
    pub(super) fn memory(&mut self, insn: Insn) -> bool {
        match insn.op.effect() {
            Effect::Set(Formula::Load(location, width)) => {
                let address = self.place(insn, location, width, !self.late_is_empty());
                self.load(insn.a, address, width);
            }
            Effect::Store(location, width) => {
                // What is stored may have to be loaded first.
                self.stored(insn.a, width);
                let made = self.checks.made;
                let address = self.place(insn, location, width, true);
                self.store(insn.a, address, width);
                if made == self.checks.made && location == Location::Element {
                    self.note_fill(insn, width);
                }
            }
            _ => return self.addresses(insn),
        }
        true
    }

    fn late_is_empty(&self) -> bool {
        self.late.count() == 0
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

    /// Where what is accessed lies for the processor: compared; and whether a register holds it, if that `matters`.
    fn place(&mut self, insn: Insn, location: Location, width: Width, matters: bool) -> Value {
        let bytes = width.bytes();
        match location {
            Location::Offset => {
                let address = self.word_at(insn.b);
                if self.row_at(address).is_some_and(|size| u32::from(insn.c) + bytes <= size) {
                    self.checks.left_out += 2;
                    let row = self.pointer(address);
                    return self.ins.ins().iadd_imm_s(row, i64::from(insn.c));
                }
                self.is_unproven();
                let wide = self.ins.ins().uextend(types::I64, address);
                let place = self.ins.ins().iadd_imm_s(wide, i64::from(insn.c));
                if self.facts.insert(Fact::Bytes(address, insn.c, bytes)) {
                    self.within(place, bytes);
                }
                if matters && self.facts.insert(Fact::Apart(address, insn.c, bytes)) {
                    self.leave_if_named(place, self.fp, bytes);
                }
                self.ins.ins().iadd(self.base, place)
            }
            Location::Element => {
                let index = self.word_at(insn.c);
                let count = self.word_at(insn.b.wrapping_add(1));
                let address = self.word_at(insn.b);
                if self.is_in_row(address, count, bytes) {
                    self.check_below(index, count);
                } else if self.facts.insert(Fact::Element(
                    address,
                    index,
                    self.told_apart(address, count),
                    bytes,
                )) && !self.is_proved_below(index, Bound::Plain(address, count, i64::from(bytes)))
                {
                    self.is_unproven();
                    self.element((address, count, bytes), index);
                }
                self.note_below(index, count);
                let array = self.pointer(address);
                let index = self.ins.ins().uextend(types::I64, index);
                let offset = self.ins.ins().ishl_imm_s(index, i64::from(bytes.trailing_zeros()));
                self.ins.ins().iadd(array, offset)
            }
        }
    }

    /// An address in the frame. What lies there is known without a comparison: the frame lies in memory.
    pub(super) fn frame_address(&mut self, offset: i32) -> Value {
        let value = self.ins.ins().iadd_imm_s(self.fp, i64::from(offset));
        let size = 4 * u64::from(self.function.slots);
        if let Some(inside) = u32::try_from(offset).ok().filter(|&it| LEAVES_OUT && u64::from(it) < size) {
            let is_free = |slot: &u32| u16::try_from(*slot).is_ok_and(|slot| !self.views.name(slot));
            let behind = self.views.behind();
            let free = (inside / 4..behind).take_while(is_free).count() as u32;
            let end = if inside / 4 + free >= behind { size } else { 4 * u64::from(inside / 4 + free) };
            let room = u32::try_from(end.saturating_sub(inside.into())).unwrap_or(u32::MAX);
            self.frames.insert(value, (offset, room));
        }
        value
    }

    /// An address for the processor.
    pub(super) fn pointer(&mut self, address: Value) -> Value {
        if let Some(&(offset, _)) = self.frames.get(&address) {
            return self.ins.ins().iadd_imm_s(self.frame, i64::from(offset));
        }
        self.pointers.get(&address).copied().unwrap_or_else(|| {
            let wide = self.ins.ins().uextend(types::I64, address);
            self.ins.ins().iadd(self.base, wide)
        })
    }

    /// How many bytes behind an address lie in memory and elsewhere than the slots that have views.
    fn row_at(&self, address: Value) -> Option<u32> {
        self.frames.get(&address).map(|&(_, room)| room).or_else(|| self.rows.get(&address).copied())
    }

    /// By what the fact about an element is told from that about one of another view of the array.
    fn told_apart(&self, address: Value, count: Value) -> Value {
        if makes(RangeMistake::OtherCount) { address } else { count }
    }

    /// One comparison for three: the subscript is less than the count if the array lies in memory and elsewhere than
    /// the slots that have views, and else than 0. That number is the same as long as the array is. Otherwise the
    /// element is looked at.
    fn element(&mut self, (address, count, bytes): (Value, Value, u32), index: Value) {
        // However many places look at it.
        let made = self.checks.made + 1;
        let shift = i64::from(bytes.trailing_zeros());
        let wide = self.ins.ins().uextend(types::I64, address);
        let plain_count = self.plain_count((address, count), i64::from(bytes));
        let is_near = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, plain_count);
        let (further, near) = (self.ins.create_block(), self.ins.create_block());
        self.ins.set_cold_block(near);
        self.ins.ins().brif(is_near, near, &[], further, &[]);
        self.begin_block(near);
        // Loaded anew, so that none of what follows is computed before, and kept in a register for it.
        let base =
            self.ins.ins().load(types::I64, SLOT, self.context, offset_of!(NativeContext, base) as i32);
        let fp = self.ins.ins().isub(self.frame, base);
        let fp = self.ins.ins().ireduce(types::I32, fp);
        let exit = self.exit.take();
        let outside = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, count);
        self.leave_if(outside);
        let wide_index = self.ins.ins().uextend(types::I64, index);
        let offset = self.ins.ins().ishl_imm_s(wide_index, shift);
        let place = self.ins.ins().iadd(wide, offset);
        self.within(place, bytes);
        self.leave_if_named(place, fp, bytes);
        self.exit = exit;
        self.ins.ins().jump(further, &[]);
        self.begin_block(further);
        self.checks.made = made;
    }

    /// How many elements an array has if it lies in memory and elsewhere than the slots that have views; else 0.
    pub(super) fn plain_count(&mut self, (address, count): (Value, Value), bytes: i64) -> Value {
        let wide = self.ins.ins().uextend(types::I64, address);
        let wide_count = self.ins.ins().uextend(types::I64, count);
        let size = self.ins.ins().imul_imm_s(wide_count, bytes);
        let end = self.ins.ins().iadd(wide, size);
        let limit = i64::from(self.common.memory_bytes);
        let is_within = self.ins.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, end, limit);
        let fp = self.ins.ins().uextend(types::I64, self.fp);
        let is_before = self.ins.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, fp);
        let behind = self.ins.ins().iadd_imm_s(fp, 4 * i64::from(self.views.behind()));
        let is_behind = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, wide, behind);
        // Or from its first word in the frame to its end none is held.
        let from = self.ins.ins().isub(address, self.fp);
        let word = self.ins.ins().ushr_imm_u(from, 2);
        let last = self.ins.ins().iconst(types::I32, i64::from(self.views.behind()));
        let word = self.ins.ins().umin(word, last);
        let word = self.ins.ins().uextend(types::I64, word);
        let gap = self.ins.ins().ishl_imm_s(word, 2);
        let gaps = self.plan.gaps.value(&mut self.ins);
        let gap = self.ins.ins().iadd(gaps, gap);
        let gap = self.ins.ins().load(types::I32, SLOT.with_readonly().with_can_move(), gap, 0);
        let gap = self.ins.ins().uextend(types::I64, gap);
        let from = self.ins.ins().uextend(types::I64, from);
        let reach = self.ins.ins().iadd(from, size);
        let is_between = self.ins.ins().icmp(IntCC::UnsignedLessThanOrEqual, reach, gap);
        let is_frames = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, wide, fp);
        let is_between = self.ins.ins().band(is_between, is_frames);
        let is_apart = self.ins.ins().bor(is_before, is_behind);
        let is_apart = self.ins.ins().bor(is_apart, is_between);
        let is_plain = self.ins.ins().band(is_within, is_apart);
        let zero = self.ins.ins().iconst(types::I32, 0);
        self.ins.ins().select(is_plain, count, zero)
    }

    /// Whether so many elements fit into the row of an array that was found at that address.
    fn is_in_row(&self, address: Value, count: Value, bytes: u32) -> bool {
        let row = self.row_at(address);
        let count = self.constant_of(count).and_then(|count| u32::try_from(count).ok());
        let fits = |(size, count): (u32, u32)| count.checked_mul(bytes).is_some_and(|all| all <= size);
        row.zip(count).is_some_and(fits)
    }

    /// The constant that a value is.
    pub(super) fn constant_of(&self, value: Value) -> Option<i32> {
        let dfg = &self.ins.func.dfg;
        match dfg.insts[dfg.value_def(value).inst()?] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as i32),
            _ => None,
        }
    }

    /// A subscript: leaves unless it is less than the count.
    pub(super) fn check_below(&mut self, index: Value, count: Value) {
        if !self.is_below(index, count) {
            let outside = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, count);
            self.leave_if(outside);
        }
        self.note_below(index, count);
    }

    /// Leaves unless so many bytes lie there.
    fn within(&mut self, place: Value, bytes: u32) {
        let last = i64::from(self.common.memory_bytes) - i64::from(bytes);
        let beyond = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThan, place, last);
        self.leave_if(beyond);
    }

    fn load(&mut self, slot: u16, at: Value, width: Width) {
        match width {
            Width::Byte => {
                let value = self.ins.ins().uload8(types::I32, CHECKED, at, 0);
                self.note_range(value, Range::BYTE);
                self.set_word(slot, value);
            }
            Width::Half => {
                let value = self.ins.ins().sload16(types::I32, CHECKED, at, 0);
                self.note_range(value, Range::HALF);
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

    /// What a store has to write.
    pub(super) fn stored(&mut self, slot: u16, width: Width) -> Value {
        match width {
            Width::Byte | Width::Half => self.word_at(slot),
            Width::Word => self.read_as_held((slot, ValueClass::Word)),
            Width::Long => self.read_as_held((slot, ValueClass::Long)),
        }
    }

    fn store(&mut self, slot: u16, at: Value, width: Width) {
        let value = self.stored(slot, width);
        match width {
            Width::Byte => {
                // As a byte a constant is part of the instruction.
                let byte = self.ins.ins().ireduce(types::I8, value);
                self.ins.ins().store(CHECKED, byte, at, 0)
            }
            Width::Half => self.ins.ins().istore16(CHECKED, value, at, 0),
            Width::Word | Width::Long => self.ins.ins().store(CHECKED, value, at, 0),
        };
    }

    /// Leaves if a word of the frame that any view has is among those bytes.
    fn leave_if_named(&mut self, place: Value, fp: Value, bytes: u32) {
        let address = self.ins.ins().ireduce(types::I32, place);
        let offset = self.ins.ins().isub(address, fp);
        // From the first place whose last byte is in the frame to the last one whose first byte is.
        let more = i64::from(bytes) - 1;
        let reach = self.ins.ins().iadd_imm_s(offset, more);
        let frame_bytes = i64::from(4 * self.function.slots);
        let inside = self.ins.ins().icmp_imm_s(IntCC::UnsignedLessThan, reach, frame_bytes + more);
        let (close, further) = (self.ins.create_block(), self.ins.create_block());
        self.ins.set_cold_block(close);
        self.ins.ins().brif(inside, close, &[], further, &[]);
        self.begin_block(close);
        // What lies before the frame and behind it is the caller's, or nobody's: no view's.
        let wide = self.ins.ins().sextend(types::I64, offset);
        let first = self.ins.ins().sshr_imm_s(wide, 2);
        let names = self.plan.names.value(&mut self.ins);
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
        let before = self.exit.take();
        let (exit, late) = self.exit();
        self.ins.ins().brif(named, exit, &[], further, &[]);
        self.make_exit(late);
        self.exit = before;
        self.begin_block(further);
    }

    fn element_address(&mut self, insn: Insn) {
        let index = self.word_at(insn.c);
        let count = self.word_at(insn.b.wrapping_add(1));
        let (size, address) = (self.word_at(insn.a), self.word_at(insn.b));
        if let Some(size) = self.constant_of(size).and_then(|size| u32::try_from(size).ok()) {
            return self.row(insn.a, (address, count, size), index);
        }
        self.check_below(index, count);
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

    /// The address of an element that is an array itself, where all lies in memory and elsewhere than the slots that
    /// have views: then so do its elements.
    fn row(&mut self, slot: u16, (address, count, size): (Value, Value, u32), index: Value) {
        let fact = Fact::Element(address, index, self.told_apart(address, count), size);
        if self.is_in_row(address, count, size) {
            self.check_below(index, count);
        } else if self.facts.insert(fact)
            && !self.is_proved_below(index, Bound::Plain(address, count, i64::from(size)))
        {
            self.is_unproven();
            let plain_count = self.plain_count((address, count), i64::from(size));
            let is_outside = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, plain_count);
            self.leave_if(is_outside);
        }
        self.note_below(index, count);
        // Within memory, and so no more than 32 bits.
        let offset = self.ins.ins().imul_imm_s(index, i64::from(size));
        let value = self.ins.ins().iadd(address, offset);
        let array = self.pointer(address);
        let wide = self.ins.ins().uextend(types::I64, index);
        let offset = self.ins.ins().imul_imm_s(wide, i64::from(size));
        let pointer = self.ins.ins().iadd(array, offset);
        self.pointers.insert(value, pointer);
        self.set_word(slot, value);
        self.rows.insert(value, size);
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
        self.store_late();
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
        self.store_late();
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
