//! Owns: the beginning and the end of a branch of a PAR, and the wait for them, without a helper.
//! May use: `convention`, `cranelift-codegen`, `raddle-vm`.
//! Never: a step that cannot be taken back before it is certain that all of them can be taken.
//!
//! It is what `raddle-vm`'s `par` and `table` do, on one OS thread, and where nothing is out of the ordinary; else the
//! helper does all of it. The word in which a process counts is not compared with the memory's size: it stands in the
//! process's record, where the machine put it when it had compared it.

use super::CodeRoutine;
use crate::convention::SLOT;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Value, types};
use raddle_vm::native::{DEAD, LEVEL_BITS, LOCAL, NativeContext};
use raddle_vm::solo::RING;
use std::mem::offset_of;

const JOIN: i64 = 3;
/// No ALT.
const IDLE: i64 = 0;

impl CodeRoutine<'_, '_> {
    fn field(&mut self, place: Value, offset: usize) -> Value {
        self.ins.ins().load(types::I32, SLOT, place, offset as i32)
    }

    fn set_field(&mut self, place: Value, offset: usize, value: Value) {
        self.ins.ins().store(SLOT, value, place, offset as i32);
    }

    fn constant(&mut self, value: i64) -> Value {
        self.ins.ins().iconst(types::I32, value)
    }

    /// `fork`.
    pub(super) fn fork(&mut self, entry: Value) {
        let ring = self.only_with_ring();
        let layout = self.places.process;
        let local = self.context_field(offset_of!(NativeContext, local));
        let number = self.field(local, LOCAL.first);
        let mask = self.field(ring, RING.mask);
        // None free, or one for which the queue may have no place.
        let before = self.ins.ins().iadd_imm_s(number, -1);
        let none = self.ins.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, before, mask);
        self.divert_if(none);
        let count = self.field(local, LOCAL.count);
        let none = self.ins.ins().icmp_imm_s(IntCC::Equal, count, 0);
        self.divert_if(none);
        let child = self.process_of(number);
        // From here on all goes well.
        let next = self.field(child, layout.message);
        self.set_field(local, LOCAL.first, next);
        let count = self.ins.ins().iadd_imm_s(count, -1);
        self.set_field(local, LOCAL.count, count);
        let begun = self.ins.ins().load(types::I64, SLOT, local, LOCAL.processes as i32);
        let begun = self.ins.ins().iadd_imm_s(begun, 1);
        self.ins.ins().store(SLOT, begun, local, LOCAL.processes as i32);
        self.set_field(child, layout.ip, entry);
        let fp = self.state.fp;
        self.set_field(child, layout.fp, fp);
        let join = self.ins.ins().iadd(fp, self.bytes);
        self.set_field(child, layout.join, join);
        let idle = self.constant(IDLE);
        self.set_field(child, layout.alt, idle);
        let me = self.context_field(offset_of!(NativeContext, process));
        let start = self.field(me, layout.start);
        let level = self.ins.ins().band_imm_u(start, i64::from(LEVEL_BITS));
        let start = self.ins.ins().bor(level, entry);
        self.set_field(child, layout.start, start);
        let id = self.field(me, layout.id);
        self.set_field(child, layout.parent, id);
        self.queue(child);
        self.go_on();
    }

    /// `join`.
    pub(super) fn join(&mut self) {
        self.only_with_ring();
        let layout = self.places.process;
        let slot = self.slot();
        let count = self.field(slot, 0);
        let left = self.ins.ins().iadd_imm_s(count, -1);
        self.set_field(slot, 0, left);
        let (waits, done) = (self.ins.create_block(), self.ins.create_block());
        self.ins.ins().brif(left, waits, &[], done, &[]);
        self.begin_block(waits);
        let me = self.context_field(offset_of!(NativeContext, process));
        let behind = self.ins.ins().iadd_imm_s(self.at, 1);
        self.set_field(me, layout.ip, behind);
        let fp = self.state.fp;
        self.set_field(me, layout.fp, fp);
        let place = self.ins.ins().iadd(fp, self.bytes);
        let place = self.ins.ins().iadd_imm_s(place, JOIN);
        self.set_field(me, layout.wait, place);
        self.dispatch_next();
        self.begin_block(done);
        self.go_on();
    }

    /// `end`.
    pub(super) fn end(&mut self) {
        self.only_with_ring();
        let layout = self.places.process;
        let local = self.context_field(offset_of!(NativeContext, local));
        let count = self.field(local, LOCAL.count);
        let is_full = self.ins.ins().icmp_imm_u(IntCC::Equal, count, i64::from(LOCAL.count_max));
        self.divert_if(is_full);
        let me = self.context_field(offset_of!(NativeContext, process));
        let parent = self.field(me, layout.parent);
        let none = self.ins.ins().icmp_imm_s(IntCC::Equal, parent, 0);
        self.divert_if(none);
        let join = self.field(me, layout.join);
        let wide = self.ins.ins().uextend(types::I64, join);
        let word = self.ins.ins().iadd(self.state.base, wide);
        let counted = self.field(word, 0);
        let (last, others) = (self.ins.create_block(), self.ins.create_block());
        let left = self.ins.ins().iadd_imm_s(counted, -1);
        self.ins.ins().brif(left, others, &[], last, &[]);
        self.begin_block(last);
        let parent = self.process_of(parent);
        let wanted = self.ins.ins().bor_imm_s(join, JOIN);
        let wait = self.field(parent, layout.wait);
        let differs = self.ins.ins().icmp(IntCC::NotEqual, wait, wanted);
        self.divert_if(differs);
        let zero = self.constant(0);
        self.set_field(parent, layout.wait, zero);
        self.queue(parent);
        self.ins.ins().jump(others, &[]);
        self.ins.switch_to_block(others);
        // From here on all goes well.
        self.set_field(word, 0, left);
        let dead = self.constant(i64::from(DEAD));
        self.set_field(me, layout.start, dead);
        let zero = self.constant(0);
        self.set_field(me, layout.wait, zero);
        let next = self.field(local, LOCAL.first);
        self.set_field(me, layout.message, next);
        let id = self.field(me, layout.id);
        self.set_field(local, LOCAL.first, id);
        let count = self.ins.ins().iadd_imm_s(count, 1);
        self.set_field(local, LOCAL.count, count);
        self.dispatch_next();
    }
}
