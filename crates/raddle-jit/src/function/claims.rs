//! Owns: what is compared each time a loop is entered, so that it need not be in the loop.
//! May use: `convention`, `mistakes`, `cranelift-codegen`.
//! Never: a way into a loop that relies on what does not hold.

use super::Translation;
use super::loops::{Counter, KnownLoop, Paced, Tested};
use crate::convention::SLOT;
use crate::mistakes::{RangeMistake, makes};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder as _, InstructionData, Value, ValueDef, types};
use std::collections::HashMap;

/// What a subscript is to be less than.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// That number, without sign.
    Number(i32),
    /// A count.
    Count(Value),
    /// The count of an array, by address and count, if all of it, of elements of so many bytes, lies in memory and
    /// elsewhere than the slots that have views.
    Plain(Value, Value, i64),
}

/// What the variable that a loop tests is less than.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    Number(i32),
    Value(Value),
}

/// What is compared before a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopClaim {
    /// That value, which in the loop stays the same, is the other one.
    Same(Value, Value),
    /// That value is less, without sign, which in the loop stays the same.
    Below(Value, Bound),
    /// That number is less, without sign.
    Number(i32, Bound),
    /// That value is no more, without sign.
    NoMore(Value, Bound),
    /// That value is less than the limit, with sign.
    Begins(Value, Limit),
    /// That value is no less than 0, with sign.
    NotNegative(Value),
    /// The index and so much more is less, without sign, as long as the limit is not reached.
    Linear(i64, Bound),
    /// The index and so much more is a number of 32 bits, as long as the limit is not reached.
    Fits(i32),
    /// The index is from that number up to that one, as long as the limit is not reached.
    Within(i32, i32),
    /// That value is a number of 32 bits, as long as the limit is not reached.
    Spans(Value),
}

/// What is being compared before a loop.
pub(super) struct Claims {
    pub(super) which: usize,
    pub(super) first_inside: u32,
    /// What was made here of values that are made in the loop: once, however many are made of it.
    made: HashMap<Value, Value>,
    /// If the loop only counts: where its index begins, and how many turns may be made before it is looked again.
    pub(super) turns: Option<(Value, Value)>,
    /// If the loop has a test: the index at its head, and with which it is entered, and what it is less than.
    pub(super) tested: Option<(Value, Value, Limit)>,
    /// Between which numbers values lie.
    pub(super) spans: HashMap<Value, (Value, Value)>,
    /// Whether all else holds.
    holds: Option<Value>,
}

impl Translation<'_, '_> {
    /// What has to be compared each time a loop is entered, now that it is known.
    pub(super) fn make_claims(&mut self) {
        for which in 0..self.loops.len() {
            let Some(known) = self.loops[which].known.take() else { continue };
            let KnownLoop { begins, claims: block, first_inside, counter, tested, guards, fill, .. } = known;
            self.ins.switch_to_block(block);
            let turns = counter.map(|counter| (counter.entered[0], self.turns(counter)));
            let is_known = |it: &Tested| it.index != it.begins;
            let tested = tested.filter(is_known);
            tested.into_iter().for_each(|tested| self.find_limit(tested));
            let tested = tested.map(|it| (it.index, it.begins, it.than));
            let (made, spans) = (HashMap::new(), HashMap::new());
            let mut claims = Claims { which, first_inside, made, turns, tested, spans, holds: None };
            // What lies between the numbers that the index can be is found out when all have said where it ends.
            let (last, guards): (Vec<_>, Vec<_>) =
                guards.into_iter().partition(|guard| matches!(guard, LoopClaim::Spans(_)));
            let is_believed = self.loops[which].before.is_some() && makes(RangeMistake::Again);
            let last = last.into_iter().filter(|_| !is_believed);
            guards.into_iter().chain(last).for_each(|guard| self.claim(&mut claims, guard));
            let head = self.loops[which].head;
            let mut ready = None;
            if let (Some(counter), Some((first, turns))) = (counter, claims.turns) {
                let limit = self.ins.ins().iadd(first, turns);
                self.ins.def_var(counter.limit, limit);
                let some = self.ins.ins().icmp_imm_s(IntCC::NotEqual, turns, 0);
                self.claim_that(&mut claims, some);
                ready = fill.map(|fill| self.prepare_fill(&mut claims, fill, limit));
            }
            let begins = ready.as_ref().map_or(begins, |fill| fill.begins);
            let otherwise = self.loops[which].again.and_then(|again| self.loops[again].before);
            self.enter_if(claims.holds, (begins, otherwise), head);
            ready.iter().for_each(|fill| self.write_fill(fill));
        }
    }

    /// Up to which number the variable that a loop tests may grow before count and fuel are looked at.
    fn find_limit(&mut self, tested: Tested) {
        let Some(Paced { limit, step, by, cost }) = tested.paced else { return };
        let fuel = self.ins.use_var(self.fuel);
        let turns = self.turns_by_fuel(fuel, cost);
        let turns = self.ins.ins().sextend(types::I64, turns);
        let begins = self.ins.ins().sextend(types::I64, tested.begins);
        let way = match step {
            Some(step) => {
                let step = self.ins.ins().sextend(types::I64, step);
                self.ins.ins().imul(turns, step)
            }
            None => self.ins.ins().imul_imm_s(turns, i64::from(by)),
        };
        let lasts = self.ins.ins().iadd(begins, way);
        let than = match tested.than {
            Limit::Number(number) => self.ins.ins().iconst(types::I64, i64::from(number)),
            Limit::Value(value) => self.ins.ins().sextend(types::I64, value),
        };
        let least = if makes(RangeMistake::Fuel) { than } else { self.ins.ins().smin(lasts, than) };
        // With a step below 0 it may be less than any word.
        let lowest = self.ins.ins().iconst(types::I64, i64::from(i32::MIN));
        let least = self.ins.ins().smax(least, lowest);
        let least = self.ins.ins().ireduce(types::I32, least);
        self.ins.def_var(limit, least);
    }

    fn claim(&mut self, claims: &mut Claims, guard: LoopClaim) {
        match (guard, claims.turns) {
            (LoopClaim::Same(value, other), _) => {
                let is_same = self.ins.ins().icmp(IntCC::Equal, value, other);
                self.claim_that(claims, is_same);
            }
            (LoopClaim::Below(index, bound), _) => {
                let index = self.made_here(claims, index);
                let bound = self.bound_here(claims, bound);
                let is_below = self.ins.ins().icmp(IntCC::UnsignedLessThan, index, bound);
                self.claim_that(claims, is_below);
            }
            (LoopClaim::Number(number, bound), _) => {
                let bound = self.bound_here(claims, bound);
                let is_above =
                    self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, bound, i64::from(number));
                self.claim_that(claims, is_above);
            }
            (LoopClaim::NoMore(value, bound), _) => {
                let value = self.made_here(claims, value);
                let bound = self.bound_here(claims, bound);
                let is_no_more = self.ins.ins().icmp(IntCC::UnsignedLessThanOrEqual, value, bound);
                self.claim_that(claims, is_no_more);
            }
            (LoopClaim::Begins(value, limit), _) => {
                let is_less = match limit {
                    Limit::Number(number) => {
                        self.ins.ins().icmp_imm_s(IntCC::SignedLessThan, value, i64::from(number))
                    }
                    Limit::Value(limit) => self.ins.ins().icmp(IntCC::SignedLessThan, value, limit),
                };
                self.claim_that(claims, is_less);
            }
            (LoopClaim::NotNegative(value), _) => self.claim_that_not_negative(claims, value),
            (LoopClaim::Spans(value), _) => self.claim_span(claims, value),
            (LoopClaim::Linear(offset, bound), Some((first, _))) => {
                let bound = self.bound_here(claims, bound);
                let offset = if makes(RangeMistake::Offset) { 0 } else { offset };
                let first = self.ins.ins().iadd_imm_s(first, i64::from(offset as i32));
                let is_below = self.ins.ins().icmp(IntCC::UnsignedLessThan, first, bound);
                let room = self.ins.ins().isub(bound, first);
                self.no_more_turns(claims, room, is_below);
            }
            (LoopClaim::Fits(more), Some((first, _))) => {
                let more_up = if makes(RangeMistake::Edge) { 0 } else { more.max(0) };
                let highest = i64::from(i32::MAX) - i64::from(more_up) - 1;
                let lowest = i64::from(i32::MIN) - i64::from(more.min(0));
                self.stay_within(claims, first, (lowest, highest));
            }
            (LoopClaim::Within(from, to), Some((first, _))) => {
                self.stay_within(claims, first, (i64::from(from), i64::from(to)));
            }
            _ => unreachable!("only a loop that counts has such"),
        }
    }

    pub(super) fn claim_that(&mut self, claims: &mut Claims, condition: Value) {
        claims.holds = Some(match claims.holds {
            Some(holds) => self.ins.ins().band(holds, condition),
            None => condition,
        });
    }

    fn claim_that_not_negative(&mut self, claims: &mut Claims, value: Value) {
        let is_not = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, value, 0);
        self.claim_that(claims, is_not);
    }

    /// As many turns as the count and the fuel allow for certain, and one at least: after it, it is looked again.
    fn turns(&mut self, counter: Counter) -> Value {
        let [_, count, fuel] = counter.entered;
        let one = self.ins.ins().iconst(types::I32, 1);
        let count = if makes(RangeMistake::Sign) { count } else { self.ins.ins().smax(count, one) };
        if counter.burns {
            return count;
        }
        let burnt = self.turns_by_fuel(fuel, counter.cost);
        if makes(RangeMistake::Fuel) { count } else { self.ins.ins().umin(count, burnt) }
    }

    /// As many turns as the fuel allows for certain, and one at least.
    fn turns_by_fuel(&mut self, fuel: Value, cost: i32) -> Value {
        // Divided by the cost, and no more than that.
        let part = (1 << 32) / i64::from(cost.max(1));
        let fuel = self.ins.ins().sextend(types::I64, fuel);
        let burnt = self.ins.ins().imul_imm_s(fuel, part);
        let burnt = self.ins.ins().sshr_imm_s(burnt, 32);
        let burnt = self.ins.ins().ireduce(types::I32, burnt);
        let one = self.ins.ins().iconst(types::I32, 1);
        self.ins.ins().smax(burnt, one)
    }

    /// No more turns than there is room for, and none if there is not.
    fn no_more_turns(&mut self, claims: &mut Claims, room: Value, is_room: Value) {
        let Some((_, turns)) = &mut claims.turns else { return };
        let zero = self.ins.ins().iconst(types::I32, 0);
        let room = self.ins.ins().select(is_room, room, zero);
        *turns = self.ins.ins().umin(*turns, room);
    }

    /// The index begins no lower, and no turn is made with a higher one.
    fn stay_within(&mut self, claims: &mut Claims, first: Value, (lowest, highest): (i64, i64)) {
        let is_low = self.ins.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, first, highest);
        let is_high = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, first, lowest);
        let behind = self.ins.ins().iconst(types::I32, i64::from((highest + 1) as u32));
        let room = self.ins.ins().isub(behind, first);
        let is_within = self.ins.ins().band(is_low, is_high);
        self.no_more_turns(claims, room, is_within);
    }

    fn bound_here(&mut self, claims: &mut Claims, bound: Bound) -> Value {
        match bound {
            Bound::Number(number) => self.ins.ins().iconst(types::I32, i64::from(number as u32)),
            Bound::Count(count) => self.made_here(claims, count),
            Bound::Plain(address, count, bytes) => {
                let [address, count] = [address, count].map(|it| self.made_here(claims, it));
                self.plain_count((address, count), bytes)
            }
        }
    }

    /// The same value, made here.
    pub(super) fn made_here(&mut self, claims: &mut Claims, value: Value) -> Value {
        let value = self.ins.func.dfg.resolve_aliases(value);
        if value.as_u32() < claims.first_inside {
            return value;
        }
        if let Some(&made) = claims.made.get(&value) {
            return made;
        }
        let ValueDef::Result(inst, _) = self.ins.func.dfg.value_def(value) else {
            unreachable!("it is made of values from outside")
        };
        let data = self.ins.func.dfg.insts[inst];
        let args = self.ins.func.dfg.inst_args(inst).to_vec();
        let args: Vec<Value> = args.into_iter().map(|arg| self.made_here(claims, arg)).collect();
        let ty = self.ins.func.dfg.value_type(value);
        let (made, dfg) = match (data, &args[..]) {
            (InstructionData::UnaryImm { opcode, imm }, []) => self.ins.ins().UnaryImm(opcode, ty, imm),
            (InstructionData::Unary { opcode, .. }, &[one]) => self.ins.ins().Unary(opcode, ty, one),
            (InstructionData::Binary { opcode, .. }, &[one, other]) => {
                self.ins.ins().Binary(opcode, ty, one, other)
            }
            _ => unreachable!("it can be made anywhere"),
        };
        let made = dfg.first_result(made);
        claims.made.insert(value, made);
        made
    }

    /// Into the loop, at the first block, if that holds. If not, at the second; or else the interpreter does the
    /// instruction at its head, and goes on from there.
    fn enter_if(&mut self, holds: Option<Value>, (begins, otherwise): (Block, Option<Block>), head: usize) {
        let Some(holds) = holds else {
            self.ins.ins().jump(begins, &[]);
            return;
        };
        let fails = self.ins.create_block();
        self.ins.set_cold_block(fails);
        // This way round: see `leave_unless`.
        let is_wrong = self.ins.ins().icmp_imm_s(IntCC::Equal, holds, 0);
        self.ins.ins().brif(is_wrong, fails, &[], begins, &[]);
        self.begin_block(fails);
        if let Some(otherwise) = otherwise {
            self.ins.ins().jump(otherwise, &[]);
            return;
        }
        let late: Vec<usize> = self.late_at[head].all_of().collect();
        for view in late {
            let value = self.ins.use_var(self.variables[view]);
            self.ins.ins().store(SLOT, value, self.frame, 4 * i32::from(self.views.all[view].slot));
        }
        let at = self.ins.ins().iconst(types::I32, i64::from(self.blocks.all[head].first));
        self.ins.ins().jump(self.slow, &[BlockArg::Value(at)]);
    }
}
