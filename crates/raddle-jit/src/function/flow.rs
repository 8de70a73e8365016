//! Owns: jumps, calls and returns, helpers, fuel, and the ways out.
//! May use: `blocks`, `convention`, `operands`, `routine`, `cranelift-codegen`, `raddle-bytecode`,
//! `raddle-vm`.
//! Never: a way on with what a helper may have changed still held.

use super::loops::{Counter, Paced};
use super::{Common, ReturnRecord, Translation, cold_block};
use crate::blocks::target;
use crate::convention::SLOT;
use crate::operands::{Doer, how, spends_fuel};
use crate::routine::{RoutinePlaces, RoutineState, SharedCode, Within, leave_to, make_within};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, BlockCall, InstBuilder as _, JumpTableData, Value, types};
use raddle_bytecode::{Insn, Op};
use raddle_vm::native::Helper;
use std::mem::{offset_of, size_of};

/// What a routine costs; as the interpreter has it.
const ROUTINE_COST: i32 = 64;

impl Translation<'_, '_> {
    /// The fuel goes down; where it is used up the process stands at that instruction, and leaves.
    pub(super) fn spend(&mut self, cost: i32, at: u32) {
        if cost == 0 {
            return;
        }
        debug_assert!(self.may_spend(), "what spends fuel is known to");
        let left = self.fuel_less(cost);
        let (further, used_up) = (self.ins.create_block(), self.ins.create_block());
        self.ins.set_cold_block(used_up);
        let is_used_up = self.ins.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, left, 0);
        self.ins.ins().brif(is_used_up, used_up, &[], further, &[]);
        self.begin_block(used_up);
        let late = self.late.clone();
        self.store_late();
        self.late = late;
        let at = self.ins.ins().iconst(types::I32, i64::from(at));
        let frame = self.frame;
        self.ins.ins().jump(self.dry, &[frame, at].map(BlockArg::Value));
        self.begin_block(further);
    }

    fn fuel_less(&mut self, cost: i32) -> Value {
        let fuel = self.ins.use_var(self.fuel);
        let left = self.ins.ins().iadd_imm_s(fuel, i64::from(-cost));
        self.ins.def_var(self.fuel, left);
        left
    }

    fn may_spend(&self) -> bool {
        let insn = self.common.module.code[self.at as usize];
        how(insn) == Doer::Jump || spends_fuel(insn)
    }

    /// The instruction is a routine's, and nearly done. Where the fuel is used up the interpreter does it once more.
    pub(super) fn routine_cost(&mut self) {
        debug_assert!(self.may_spend(), "what spends fuel is known to");
        let fuel = self.ins.use_var(self.fuel);
        self.leave_if_word(IntCC::SignedLessThanOrEqual, fuel, i64::from(ROUTINE_COST));
        self.fuel_less(ROUTINE_COST);
    }

    /// An instruction that a helper does, at which the process may wait, or which has nothing behind it: what comes
    /// behind it is entered from there.
    pub(super) fn leave_by(&mut self, helper: Helper) {
        let at = self.ins.ins().iconst(types::I32, i64::from(self.at));
        self.door(helper, self.frame, at);
    }

    /// A communication of a word.
    pub(super) fn talk(&mut self, insn: Insn) {
        let channel = self.word_at(insn.a);
        if insn.op == Op::Out {
            let value = self.word_at(insn.b);
            self.share(SharedCode::Output, insn.b, &[channel, value]);
        } else {
            self.share(SharedCode::Input, insn.b, &[channel]);
        }
    }

    /// An instruction that is about that slot, which other code does if the process has to wait, or anything is out of
    /// the ordinary.
    pub(super) fn share(&mut self, which: SharedCode, slot: u16, words: &[Value]) {
        let about = self.state_for(slot);
        let Common { codes, doors, memory_bytes, process, .. } = *self.common;
        let places = RoutinePlaces { codes, doors, memory_bytes, process };
        make_within(&mut self.ins, about, (which, words), places);
        self.held.clear();
    }

    /// The end of a process.
    pub(super) fn end(&mut self) {
        let about = self.state_for(0);
        leave_to(&mut self.ins, about, (SharedCode::End, &[]));
        self.ended = true;
    }

    fn state_for(&mut self, slot: u16) -> (RoutineState, Within) {
        let fuel = self.ins.use_var(self.fuel);
        let &mut Translation { context, frame, base, fp, at, .. } = self;
        (RoutineState { context, frame, base, fp, fuel }, Within { at, slot, shared: self.common.shared })
    }

    /// The code ends with the helper, that instruction and that frame.
    pub(super) fn door(&mut self, helper: Helper, frame: Value, at: Value) {
        let fuel = self.ins.use_var(self.fuel);
        let place = self.common.doors.plus(helper as usize * size_of::<usize>()).value(&mut self.ins);
        let code = self.ins.ins().load(types::I64, SLOT, place, 0);
        self.ins.ins().return_call_indirect(self.code_signature, code, &[self.context, frame, fuel, at]);
        self.ended = true;
    }

    /// The code goes on at an instruction of this function that is in another piece.
    pub(super) fn jump_to_piece(&mut self, at: u32) {
        self.store_late();
        let place = self.common.codes.plus(at as usize * size_of::<usize>()).value(&mut self.ins);
        let code = self.ins.ins().load(types::I64, SLOT, place, 0);
        let at = self.ins.ins().iconst(types::I32, i64::from(at));
        let fuel = self.ins.use_var(self.fuel);
        self.ins.ins().return_call_indirect(self.code_signature, code, &[self.context, self.frame, fuel, at]);
        self.ended = true;
    }

    /// The blocks to which all that is out of the ordinary leads.
    pub(super) fn ways_out(&mut self) {
        let at = self.ins.append_block_param(self.slow, types::I32);
        self.ins.switch_to_block(self.slow);
        self.door(Helper::Slow, self.frame, at);
        let frame = self.ins.append_block_param(self.dry, types::I64);
        let at = self.ins.append_block_param(self.dry, types::I32);
        self.ins.switch_to_block(self.dry);
        self.door(Helper::Dry, frame, at);
    }

    pub(super) fn jump(&mut self, insn: Insn) {
        match insn.op {
            Op::Jump => self.jump_there(insn),
            Op::Switch => self.switch(insn),
            Op::Repeat | Op::RepeatStep => self.repeat(insn),
            // In such a loop it is the only jump back.
            _ => match self.pace_here().filter(|_| target(self.at, insn) <= self.at) {
                Some(pace) => self.test_paced(insn, pace),
                None => {
                    let condition = self.condition(insn);
                    self.jump_if(condition, insn);
                }
            },
        }
        self.make_landings();
        self.ended = true;
    }

    /// Jumps; a jump back costs.
    fn jump_there(&mut self, insn: Insn) {
        let to = target(self.at, insn);
        if to <= self.at {
            self.spend(-insn.distance(), to);
        }
        let block = self.blocks.at(to);
        if self.piece.has[block] && self.blocks.is_first_test(&self.common.module.code, self.number, block) {
            return self.test_first(block);
        }
        self.enter_block(block, to <= self.at && !self.tests_first);
    }

    /// The test of a loop is made here, too, and leads into it as from outside.
    fn test_first(&mut self, block: usize) {
        self.enter_live(block);
        let (at, block) = (self.at, &self.blocks.all[block]);
        self.tests_first = true;
        for at in block.first..block.behind {
            self.at = at;
            self.translate(self.common.module.code[at as usize]);
        }
        (self.tests_first, self.at) = (false, at);
        self.enter_live(self.number);
    }

    fn jump_if(&mut self, condition: Value, insn: Insn) {
        let to = target(self.at, insn);
        let next = self.blocks.at(self.at + 1);
        let falls = self.way_to(next);
        if to <= self.at {
            let back = self.ins.create_block();
            // This way round the way back stands behind the jump, and a turn jumps once.
            let goes_on = self.ins.ins().icmp_imm_s(IntCC::Equal, condition, 0);
            self.ins.ins().brif(goes_on, falls, &[], back, &[]);
            let (held, late) = (self.held.clone(), self.late.clone());
            self.begin_block(back);
            self.jump_there(insn);
            (self.held, self.late) = (held, late);
        } else {
            let number = self.blocks.at(to);
            let jumps = self.way_to(number);
            self.ins.ins().brif(condition, jumps, &[], falls, &[]);
        }
    }

    fn condition(&mut self, insn: Insn) -> Value {
        let left = self.word_at(insn.a);
        let half = i64::from(insn.b as i16);
        let relation = match insn.op {
            Op::Jz => return self.ins.ins().icmp_imm_s(IntCC::Equal, left, 0),
            Op::Jnz => return self.ins.ins().icmp_imm_s(IntCC::NotEqual, left, 0),
            Op::JeqI => return self.ins.ins().icmp_imm_s(IntCC::Equal, left, half),
            Op::JneI => return self.ins.ins().icmp_imm_s(IntCC::NotEqual, left, half),
            Op::JltI => return self.ins.ins().icmp_imm_s(IntCC::SignedLessThan, left, half),
            Op::JgeI => return self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, half),
            Op::Jeq => IntCC::Equal,
            Op::Jne => IntCC::NotEqual,
            Op::Jlt => IntCC::SignedLessThan,
            _ => IntCC::SignedLessThanOrEqual,
        };
        let right = self.word_at(insn.b);
        self.ins.ins().icmp(relation, left, right)
    }

    /// The end of a turn of a loop that only counts: while the limit is not reached nothing else need be looked at.
    fn repeat_counting(&mut self, insn: Insn, counter: Counter) {
        let to = target(self.at, insn);
        let head = self.blocks.at(to);
        let [index, _, fuel] = counter.inside;
        let next = self.ins.ins().iadd_imm_s(index, 1);
        self.set_word(insn.a, next);
        let left = self.ins.ins().isub(counter.sum, next);
        self.set_word(insn.b, left);
        let limit = self.ins.use_var(counter.limit);
        let is_reached = self.ins.ins().icmp(IntCC::Equal, next, limit);
        let looks = self.begin_way_back(is_reached);
        let (held, late) = (self.held.clone(), self.late.clone());
        if counter.burns {
            self.spend(counter.cost, to);
        } else {
            let fuel_left = self.ins.ins().iadd_imm_s(fuel, i64::from(-counter.cost));
            self.ins.def_var(self.fuel, fuel_left);
        }
        self.enter_block(head, true);
        (self.held, self.late) = (held, late);
        self.begin_block(looks);
        if !counter.burns {
            // Of the next index, so that this one is in no register any more, and the next one can be in its.
            let [first, _, fuel] = counter.entered;
            let turns = self.ins.ins().isub(next, first);
            let used = self.ins.ins().imul_imm_s(turns, i64::from(counter.cost));
            let left = self.ins.ins().isub(fuel, used);
            let fuel = self.ins.ins().iadd_imm_s(left, i64::from(counter.cost));
            self.ins.def_var(self.fuel, fuel);
        }
        let condition = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThan, left, 0);
        self.look_again(condition, (counter.cost, to));
    }

    /// To the next turn, but if the limit is reached; gives the block where it is looked why.
    fn begin_way_back(&mut self, is_reached: Value) -> Block {
        // This way round the way back stands behind the jump, and behind that what is behind the loop: so a turn jumps
        // once, and where nothing is to be done on the way back, both are one jump.
        let (back, looks) = (self.ins.create_block(), self.ins.create_block());
        self.ins.ins().brif(is_reached, looks, &[], back, &[]);
        self.begin_block(back);
        looks
    }

    /// The limit of a loop is reached: if there is another turn, fuel is looked at, and the loop entered from outside.
    fn look_again(&mut self, condition: Value, (cost, to): (i32, u32)) {
        let next_block = self.blocks.at(self.at + 1);
        let (falls, again) = (self.way_to(next_block), cold_block(&mut self.ins));
        self.ins.ins().brif(condition, again, &[], falls, &[]);
        let (held, late) = (self.held.clone(), self.late.clone());
        self.begin_block(again);
        self.spend(cost, to);
        self.enter_block(self.blocks.at(to), false);
        (self.held, self.late) = (held, late);
    }

    /// The end of a turn of a loop with a test: while the limit is not reached the fuel lasts.
    fn test_paced(&mut self, insn: Insn, pace: Paced) {
        let to = target(self.at, insn);
        let variable = self.word_at(insn.a);
        let limit = self.ins.use_var(pace.limit);
        let is_reached = self.ins.ins().icmp(IntCC::SignedGreaterThanOrEqual, variable, limit);
        let looks = self.begin_way_back(is_reached);
        let (held, late) = (self.held.clone(), self.late.clone());
        self.fuel_less(pace.cost);
        self.enter_block(self.blocks.at(to), true);
        (self.held, self.late) = (held, late);
        self.begin_block(looks);
        let condition = self.condition(insn);
        self.look_again(condition, (pace.cost, to));
    }

    fn repeat(&mut self, insn: Insn) {
        // In such a loop it is the only jump back.
        if let Some(counter) = self.counter_here().filter(|_| target(self.at, insn) <= self.at) {
            return self.repeat_counting(insn, counter);
        }
        let index = self.word_at(insn.a);
        let next = if insn.op == Op::Repeat {
            self.ins.ins().iadd_imm_s(index, 1)
        } else {
            let step = self.word_at(insn.b.wrapping_add(1));
            self.ins.ins().iadd(index, step)
        };
        self.set_word(insn.a, next);
        let count = self.word_at(insn.b);
        let left = self.ins.ins().iadd_imm_s(count, -1);
        self.set_word(insn.b, left);
        let condition = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThan, left, 0);
        self.jump_if(condition, insn);
    }

    fn switch(&mut self, insn: Insn) {
        let index = self.word_at(insn.a);
        let ways: Vec<Block> = (0..=insn.imm() as u32)
            .map(|number| {
                let block = self.blocks.at(self.at + 1 + number);
                self.way_to(block)
            })
            .collect();
        let pool = &mut self.ins.func.dfg.value_lists;
        let calls: Vec<BlockCall> = ways.iter().map(|&way| BlockCall::new(way, [], pool)).collect();
        let Some((&others, table)) = calls.split_last() else { return };
        let table = self.ins.create_jump_table(JumpTableData::new(others, table));
        self.ins.ins().br_table(index, table);
    }

    pub(super) fn call(&mut self, insn: Insn) {
        let site = self.common.sites[insn.imm() as usize];
        let token = self.ins.ins().iconst(types::I32, i64::from(insn.imm()) + 1);
        let frame = self.ins.ins().iadd_imm_s(self.frame, i64::from(site.base_bytes));
        self.ins.ins().store(SLOT, token, frame, 0);
        let left = self.fuel_less(site.call_cost);
        let further = self.ins.create_block();
        let entry = self.ins.ins().iconst(types::I32, i64::from(site.entry));
        let used_up = self.ins.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, left, 0);
        self.ins.ins().brif(used_up, self.dry, &[frame, entry].map(BlockArg::Value), further, &[]);
        self.begin_block(further);
        let code = self.common.codes.plus(site.entry as usize * size_of::<usize>()).value(&mut self.ins);
        let code = self.ins.ins().load(types::I64, SLOT, code, 0);
        self.ins.ins().return_call_indirect(self.code_signature, code, &[self.context, frame, left, entry]);
        self.ended = true;
    }

    /// A return: to the call whose number and 1 stand in slot 0; 0 there is the end of the process.
    pub(super) fn give_back(&mut self) {
        debug_assert!(matches!(how(self.common.module.code[self.at as usize]), Doer::Return));
        let token = self.ins.ins().load(types::I32, SLOT, self.frame, 0);
        let (returns, ends) = (self.ins.create_block(), self.ins.create_block());
        self.ins.ins().brif(token, returns, &[], ends, &[]);
        self.begin_block(ends);
        self.leave_by(Helper::End);
        self.begin_block(returns);
        let number = self.ins.ins().iadd_imm_s(token, -1);
        let count = self.common.sites.len() as i64;
        self.leave_if_word(IntCC::UnsignedGreaterThanOrEqual, number, count);
        let wide = self.ins.ins().uextend(types::I64, number);
        let offset = self.ins.ins().imul_imm_s(wide, size_of::<ReturnRecord>() as i64);
        let records = self.common.returns.value(&mut self.ins);
        let record = self.ins.ins().iadd(records, offset);
        let code = self.ins.ins().load(types::I64, SLOT, record, offset_of!(ReturnRecord, code) as i32);
        let mut load = |ty, place: usize| self.ins.ins().load(ty, SLOT.with_readonly(), record, place as i32);
        let base_bytes = load(types::I32, offset_of!(ReturnRecord, base_bytes));
        let fp_max = load(types::I32, offset_of!(ReturnRecord, caller_fp_max));
        let cost = load(types::I32, offset_of!(ReturnRecord, cost));
        let back = load(types::I32, offset_of!(ReturnRecord, back));
        self.leave_if_word(IntCC::Equal, code, 0);
        let fp = self.ins.ins().isub(self.fp, base_bytes);
        let outside = self.ins.ins().icmp(IntCC::UnsignedGreaterThan, fp, fp_max);
        self.leave_if(outside);
        let offset = self.ins.ins().uextend(types::I64, fp);
        let frame = self.ins.ins().iadd(self.base, offset);
        let fuel = self.ins.use_var(self.fuel);
        let left = self.ins.ins().isub(fuel, cost);
        self.ins.def_var(self.fuel, left);
        let further = self.ins.create_block();
        let used_up = self.ins.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, left, 0);
        self.ins.ins().brif(used_up, self.dry, &[frame, back].map(BlockArg::Value), further, &[]);
        self.begin_block(further);
        self.ins.ins().return_call_indirect(self.code_signature, code, &[self.context, frame, left, back]);
        self.ended = true;
    }
}
