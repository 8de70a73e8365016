//! Owns: communication of words without a helper, and the dispatch that follows a wait.
//! May use: `convention`, `cranelift-codegen`, `raddle-vm`.
//! Never: a step that cannot be taken back before it is certain that all of them can be taken.
//!
//! It is what `raddle-vm`'s `comm` and `solo` do, for a message of four bytes in a slot, on one OS thread, and where
//! nothing is out of the ordinary; else the helper does all of it.

use super::CodeRoutine;
use crate::convention::SLOT;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder as _, Value, types};
use raddle_vm::native::{FIRST_CHUNK_BITS, Helper, NativeContext};
use raddle_vm::solo::RING;
use std::mem::offset_of;

const OUTPUT: i64 = 1;
const INPUT: i64 = 2;
/// A word that is the value of a slot: `IN_SLOT` and 4.
const WORD_IN_SLOT: i64 = (1 << 31) | 4;
/// Addresses below are the host's.
const FLOOR: i64 = 64;
/// A channel's word from here on is no process that waits by itself.
const NO_PROCESS: i64 = 1 << 28;
/// Chunk k of the table of processes has two to the (this + k)th of them.
const FIRST_BITS: i64 = FIRST_CHUNK_BITS as i64;

impl CodeRoutine<'_, '_> {
    fn count(&mut self, place: usize) {
        let count = self.context_field(place);
        let more = self.ins.ins().iadd_imm_s(count, 1);
        self.ins.ins().store(SLOT, more, self.state.context, place as i32);
    }

    /// `output` of that value by a channel, or `input`: of a word that stands in the slot.
    pub(super) fn talk(&mut self, channel: Value, value: Option<Value>) {
        let (waits, takes) = (self.ins.create_block(), self.ins.create_block());
        self.only_with_ring();
        // Within memory, behind the host's, and at a multiple of four: else it is large.
        let behind_floor = self.ins.ins().iadd_imm_s(channel, -FLOOR);
        let words = self.ins.ins().rotr_imm_u(behind_floor, 2);
        let room = (i64::from(self.places.memory_bytes) - FLOOR) / 4;
        let outside = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, words, room);
        self.divert_if(outside);
        let wide = self.ins.ins().uextend(types::I64, channel);
        let word = self.ins.ins().iadd(self.state.base, wide);
        let seen = self.ins.ins().load(types::I32, SLOT, word, 0);
        self.ins.ins().brif(seen, takes, &[], waits, &[]);
        self.begin_block(takes);
        self.take((channel, word, seen), value);
        self.go_on();
        self.begin_block(waits);
        self.wait((channel, word), value.is_some());
    }

    /// The second to come: takes who waits in the word.
    fn take(&mut self, (channel, word, seen): (Value, Value, Value), value: Option<Value>) {
        if self.within.is_none() {
            let none = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, seen, NO_PROCESS);
            self.divert_if(none);
        }
        let other = self.process_of(seen);
        let layout = self.places.process;
        let other_way = if value.is_some() { INPUT } else { OUTPUT };
        let wanted = self.ins.ins().bor_imm_s(channel, other_way);
        let wait = self.ins.ins().load(types::I32, SLOT, other, layout.wait as i32);
        let differs = self.ins.ins().icmp(IntCC::NotEqual, wait, wanted);
        self.divert_if(differs);
        let length = self.ins.ins().load(types::I32, SLOT, other, layout.length as i32);
        let short = self.ins.ins().iconst(types::I32, WORD_IN_SLOT);
        let differs = self.ins.ins().icmp(IntCC::NotEqual, length, short);
        self.divert_if(differs);
        // From here on all goes well.
        let zero = self.ins.ins().iconst(types::I32, 0);
        self.ins.ins().store(SLOT, zero, other, layout.wait as i32);
        self.ins.ins().store(SLOT, zero, word, 0);
        let message = self.ins.ins().load(types::I32, SLOT, other, layout.message as i32);
        let message = self.ins.ins().uextend(types::I64, message);
        let place = self.ins.ins().iadd(self.state.base, message);
        match value {
            Some(value) => {
                self.ins.ins().store(SLOT, value, place, 0);
                self.count(offset_of!(NativeContext, messages));
            }
            None => {
                let value = self.ins.ins().load(types::I32, SLOT, place, 0);
                let slot = self.slot();
                self.ins.ins().store(SLOT, value, slot, 0);
            }
        }
        self.queue(other);
    }

    /// Puts a process behind all others. It has been queued by the scheduler before, and so there is room.
    pub(super) fn queue(&mut self, process: Value) {
        let ring = self.context_field(offset_of!(NativeContext, ring));
        let tail = self.ins.ins().load(types::I32, SLOT, ring, RING.tail as i32);
        let place = self.place_in_ring(ring, tail);
        self.ins.ins().store(SLOT, process, place, 0);
        let behind = self.ins.ins().iadd_imm_s(tail, 1);
        self.ins.ins().store(SLOT, behind, ring, RING.tail as i32);
    }

    fn place_in_ring(&mut self, ring: Value, number: Value) -> Value {
        let mask = self.ins.ins().load(types::I32, SLOT, ring, RING.mask as i32);
        let places = self.ins.ins().load(types::I64, SLOT, ring, RING.places as i32);
        let place = self.ins.ins().band(number, mask);
        let place = self.ins.ins().uextend(types::I64, place);
        let offset = self.ins.ins().ishl_imm_s(place, 3);
        self.ins.ins().iadd(places, offset)
    }

    /// Where the record of the process of that number, which is small, lies. Most are in the first chunk, which is
    /// always there; in a piece the others are left to what is shared.
    pub(super) fn process_of(&mut self, number: Value) -> Value {
        let size = self.places.process.size as i64;
        if self.within.is_some() {
            let is_far =
                self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, number, 1 << FIRST_BITS);
            self.divert_if(is_far);
            let chunks = self.context_field(offset_of!(NativeContext, chunks));
            return self.near_process(chunks, number);
        }
        let (near, far, found) = (self.ins.create_block(), self.ins.create_block(), self.ins.create_block());
        self.ins.set_cold_block(far);
        let other = self.ins.append_block_param(found, types::I64);
        let chunks = self.context_field(offset_of!(NativeContext, chunks));
        let is_far = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, number, 1 << FIRST_BITS);
        self.ins.ins().brif(is_far, far, &[], near, &[]);
        self.begin_block(near);
        let place = self.near_process(chunks, number);
        self.ins.ins().jump(found, &[BlockArg::Value(place)]);
        self.begin_block(far);
        // It may come from the program's memory, as that of who opened a block of forks.
        let none = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, number, NO_PROCESS);
        self.divert_if(none);
        let number = self.ins.ins().iadd_imm_s(number, 1 << FIRST_BITS);
        let zeros = self.ins.ins().clz(number);
        let most = self.ins.ins().iconst(types::I32, 31);
        let highest = self.ins.ins().isub(most, zeros);
        let chunk = self.ins.ins().iadd_imm_s(highest, -FIRST_BITS);
        let chunk = self.ins.ins().uextend(types::I64, chunk);
        let offset = self.ins.ins().ishl_imm_s(chunk, 3);
        let chunk = self.ins.ins().iadd(chunks, offset);
        let chunk = self.ins.ins().load(types::I64, SLOT, chunk, 0);
        let missing = self.ins.ins().icmp_imm_s(IntCC::Equal, chunk, 0);
        self.divert_if(missing);
        let one = self.ins.ins().iconst(types::I32, 1);
        let bit = self.ins.ins().ishl(one, highest);
        let place = self.ins.ins().bxor(number, bit);
        let place = self.ins.ins().uextend(types::I64, place);
        let offset = self.ins.ins().imul_imm_s(place, size);
        let place = self.ins.ins().iadd(chunk, offset);
        self.ins.ins().jump(found, &[BlockArg::Value(place)]);
        self.ins.switch_to_block(found);
        other
    }

    fn near_process(&mut self, chunks: Value, number: Value) -> Value {
        let wide = self.ins.ins().uextend(types::I64, number);
        let offset = self.ins.ins().imul_imm_s(wide, self.places.process.size as i64);
        let chunk = self.ins.ins().load(types::I64, SLOT, chunks, 0);
        self.ins.ins().iadd(chunk, offset)
    }

    /// The first to come: notes what it wants, and the next one runs.
    fn wait(&mut self, (channel, word): (Value, Value), outputs: bool) {
        let layout = self.places.process;
        let me = self.context_field(offset_of!(NativeContext, process));
        let at = self.ins.ins().iadd_imm_s(self.at, 1);
        let message = self.ins.ins().iadd(self.state.fp, self.bytes);
        let length = self.ins.ins().iconst(types::I32, WORD_IN_SLOT);
        let way = if outputs { OUTPUT } else { INPUT };
        let end = self.ins.ins().bor_imm_s(channel, way);
        let fp = self.state.fp;
        let fields = [
            (layout.ip, at),
            (layout.fp, fp),
            (layout.message, message),
            (layout.length, length),
            (layout.wait, end),
        ];
        for (place, value) in fields {
            self.ins.ins().store(SLOT, value, me, place as i32);
        }
        let id = self.ins.ins().load(types::I32, SLOT, me, layout.id as i32);
        self.ins.ins().store(SLOT, id, word, 0);
        if outputs {
            self.count(offset_of!(NativeContext, messages));
        }
        self.dispatch_next();
    }

    /// The process has saved itself: the first in the queue runs, if there is somebody, and it is not time to look
    /// around.
    pub(super) fn dispatch_next(&mut self) {
        let by_helper = self.ins.create_block();
        self.ins.set_cold_block(by_helper);
        let otherwise = std::mem::replace(&mut self.otherwise, by_helper);
        let ring = self.context_field(offset_of!(NativeContext, ring));
        let head = self.ins.ins().load(types::I32, SLOT, ring, RING.head as i32);
        let tail = self.ins.ins().load(types::I32, SLOT, ring, RING.tail as i32);
        let is_empty = self.ins.ins().icmp(IntCC::Equal, head, tail);
        self.divert_if(is_empty);
        let place = self.place_in_ring(ring, head);
        let process = self.ins.ins().load(types::I64, SLOT, place, 0);
        let keyboard = self.context_field(offset_of!(NativeContext, keyboard));
        let is_keyboard = self.ins.ins().icmp(IntCC::Equal, process, keyboard);
        self.divert_if(is_keyboard);
        let poll = self.ins.ins().load(types::I32, SLOT, ring, RING.until_poll as i32);
        let poll = self.ins.ins().iadd_imm_s(poll, -1);
        let looks = self.ins.ins().icmp_imm_s(IntCC::Equal, poll, 0);
        self.divert_if(looks);
        self.ins.ins().store(SLOT, poll, ring, RING.until_poll as i32);
        self.ins.ins().store(SLOT, process, self.state.context, offset_of!(NativeContext, process) as i32);
        let head = self.ins.ins().iadd_imm_s(head, 1);
        self.ins.ins().store(SLOT, head, ring, RING.head as i32);
        let count = self.ins.ins().isub(tail, head);
        let left = self.ins.ins().load(types::I32, SLOT, ring, RING.left as i32);
        let left = self.ins.ins().umin(left, count);
        self.ins.ins().store(SLOT, left, ring, RING.left as i32);
        self.count(offset_of!(NativeContext, dispatches));
        let fuel = self.state.fuel;
        self.ins.ins().store(SLOT, fuel, self.state.context, offset_of!(NativeContext, fuel_before) as i32);
        let layout = self.places.process;
        let at = self.ins.ins().load(types::I32, SLOT, process, layout.ip as i32);
        let fp = self.ins.ins().load(types::I32, SLOT, process, layout.fp as i32);
        let [ip, fp] = [at, fp].map(|it| self.ins.ins().uextend(types::I64, it));
        let offset = self.ins.ins().ishl_imm_s(ip, 3);
        let codes = self.places.codes.value(self.ins);
        let place = self.ins.ins().iadd(codes, offset);
        let code = self.ins.ins().load(types::I64, SLOT, place, 0);
        let frame = self.ins.ins().iadd(self.state.base, fp);
        let args = [self.state.context, frame, fuel, at];
        self.ins.ins().return_call_indirect(self.code_signature, code, &args);
        self.begin_block(by_helper);
        self.leave_by(Helper::Next);
        self.otherwise = otherwise;
    }
}
