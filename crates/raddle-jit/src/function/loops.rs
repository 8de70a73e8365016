//! Owns: what is known in a loop: what does not change in it, and how far its index goes.
//! May use: `mistakes`, `settled`, `cranelift-codegen`, `cranelift-frontend`.
//! Never: a check left out for another reason than a comparison that is made each time the loop is entered.
//!
//! `docs/NATIVE.md` has the argument why each check that is left out holds.

use super::claims::{Bound, Limit, LoopClaim};
use super::fill::Fill;
use super::ranges::Range;
use super::shape::{Counts, Loop, Test, Than};
use super::{Fact, Translation};
use crate::mistakes::{RangeMistake, makes};
use crate::settled::Setting;
use cranelift_codegen::ir::{Block, InstBuilder as _, InstructionData, Value, ValueDef, types};
use cranelift_frontend::Variable;
use std::collections::HashMap;

/// What there is of a loop while it is translated.
#[derive(Debug)]
pub(super) struct KnownLoop {
    /// Where it is compared what the loop relies on, each time it is entered.
    pub(super) claims: Block,
    /// Its first turn.
    pub(super) begins: Block,
    /// Values with lower numbers are made outside: in the loop each stays the same.
    pub(super) first_inside: u32,
    constants: HashMap<usize, Value>,
    pub(super) counter: Option<Counter>,
    pub(super) tested: Option<Tested>,
    pub(super) guards: Vec<LoopClaim>,
    pub(super) fill: Option<Fill>,
}

/// The values of a loop with a test. At its head the index is no less than where the loop is entered, and less than the
/// limit, if it is so there, and if the step is not negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tested {
    /// The index with which the loop is entered.
    pub(super) begins: Value,
    /// The index at its head.
    pub(super) index: Value,
    pub(super) than: Limit,
    step: Option<Value>,
    pub(super) paced: Option<Paced>,
}

/// A loop with a test of which it is known how much its variable grows in a turn: so before it is found out up to which
/// number the fuel lasts, and nothing else is compared in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    /// The loop is left for a moment when the variable is not less.
    pub(super) limit: Variable,
    pub(super) step: Option<Value>,
    pub(super) by: i32,
    pub(super) cost: i32,
}

/// The values of a loop that only counts. Its index goes up by 1 from where it is entered, up to the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    /// The index, the count and the fuel with which it is entered.
    pub(super) entered: [Value; 3],
    /// The index in the loop, and what count and fuel are while it is so.
    pub(super) inside: [Value; 3],
    /// Index and count together, which stay the same.
    pub(super) sum: Value,
    /// The loop is left for a moment when the index is that.
    pub(super) limit: Variable,
    pub(super) cost: i32,
    /// Something in it uses fuel, which is then looked at in each turn.
    pub(super) burns: bool,
}

/// Values are looked for no deeper than that.
pub(super) const DEPTH: u32 = 8;

impl Translation<'_, '_> {
    /// What is known at the beginning of a block, because of the loop it is in.
    pub(super) fn begin_in_loop(&mut self, number: usize) {
        self.here = None;
        let head = self.innermost[number].filter(|&which| self.loops[which].head == number);
        head.into_iter().for_each(|which| self.begin_loop(which));
        self.ins.switch_to_block(self.entries[number]);
        head.into_iter().for_each(|which| {
            self.begin_count(which);
            self.begin_test(which);
        });
        let Some(which) = self.innermost[number] else { return };
        let this = &self.loops[which];
        let Some(known) = &this.known else { return };
        self.here = Some((which, this.certain[number - this.head]));
        let known_values = known.constants.iter().map(|(&view, &value)| (self.variables[view], value));
        let mut values: Vec<(Variable, Value)> = known_values.collect();
        if let (Some(counter), Some(counts)) = (known.counter, this.counts) {
            let variables = [self.variables[counts.index], self.variables[counts.count], self.fuel];
            let kept = if counts.burns { 2 } else { 3 };
            values.extend(variables.into_iter().zip(counter.inside).take(kept));
        }
        for (variable, value) in values {
            self.ins.def_var(variable, value);
        }
    }

    /// Before the loop.
    fn begin_loop(&mut self, which: usize) {
        let Loop { head, parent, counts, before, .. } = self.loops[which];
        let Some(before) = before.or(self.before_loops[head]) else {
            unreachable!("a head has a place before it")
        };
        self.ins.switch_to_block(before);
        let (mut constants, mut guards) = (HashMap::new(), Vec::new());
        for (view, is_read) in self.loops[which].constants.clone() {
            let outer = parent.and_then(|it| self.loops[it].known.as_ref()?.constants.get(&view).copied());
            let value = outer.unwrap_or_else(|| self.settled_value(view, is_read, &mut guards));
            constants.insert(view, value);
        }
        let counter = counts.map(|Counts { index, count, cost, burns }| {
            let entered =
                [self.variables[index], self.variables[count], self.fuel].map(|it| self.value_of(it));
            let sum = self.ins.ins().iadd(entered[0], entered[1]);
            let limit = self.ins.declare_var(types::I32);
            Counter { entered, inside: entered, sum, limit, cost, burns }
        });
        let tested = self.loops[which].tests.map(|tests| {
            let begins = self.value_of(self.variables[tests.index]);
            Tested { begins, index: begins, than: Limit::Number(0), step: None, paced: None }
        });
        let claims = self.ins.create_block();
        self.ins.ins().jump(claims, &[]);
        self.ins.seal_block(claims);
        let first_inside = self.ins.func.dfg.num_values() as u32;
        self.loops[which].known = Some(KnownLoop {
            begins: self.entries[head],
            claims,
            first_inside,
            constants,
            counter,
            tested,
            guards,
            fill: None,
        });
    }

    /// What a view has before a loop that does not change it. Where the function sets it to one thing alone, that is
    /// compared, and then known.
    fn settled_value(&mut self, view: usize, is_read: bool, guards: &mut Vec<LoopClaim>) -> Value {
        let value = self.value_of(self.variables[view]);
        let is_word = self.ins.func.dfg.value_type(value) == types::I32;
        let Some(setting) = self.plan.settled.get(view).filter(|_| is_read && is_word) else { return value };
        let settled = match setting {
            Setting::Number(number) if self.constant_of(value) == Some(number) => return value,
            Setting::Number(number) => self.ins.ins().iconst(types::I32, i64::from(number as u32)),
            Setting::InFrame(offset) => self.frame_address(offset),
        };
        if !makes(RangeMistake::Settled) {
            guards.push(LoopClaim::Same(value, settled));
        }
        settled
    }

    /// At the head of a loop that only counts: count and fuel follow from the index.
    fn begin_count(&mut self, which: usize) {
        let Some(Counts { index, .. }) = self.loops[which].counts else { return };
        let index = self.value_of(self.variables[index]);
        let Some(counter) = self.loops[which].known.as_mut().and_then(|known| known.counter.as_mut()) else {
            return;
        };
        let (sum, cost, [first, _, fuel]) = (counter.sum, counter.cost, counter.entered);
        counter.inside[0] = index;
        let count = self.ins.ins().isub(sum, index);
        let turns = self.ins.ins().isub(index, first);
        let used = self.ins.ins().imul_imm_s(turns, i64::from(cost));
        let fuel = self.ins.ins().isub(fuel, used);
        if let Some(counter) = self.loops[which].known.as_mut().and_then(|known| known.counter.as_mut()) {
            counter.inside = [index, count, fuel];
        }
        self.linear.insert(index, (which, 0));
        if let (Some((from, to)), Some(known)) = (self.loops[which].seems, &mut self.loops[which].known) {
            if !makes(RangeMistake::Guess) {
                known.guards.push(LoopClaim::Within(from, to));
            }
            self.note_range(index, Range::new(from.into(), to.into()));
        }
    }

    /// At the head of a loop that goes on while a variable is less than something: there it is, if it is so where the
    /// loop is entered, and no less than there.
    fn begin_test(&mut self, which: usize) {
        let Some(Test { index, than, step, by, cost }) = self.loops[which].tests else { return };
        let index = self.value_of(self.variables[index]);
        let Some(known) = self.loops[which].known.as_mut() else { return };
        let constant = |view: usize| known.constants.get(&view).copied();
        let step = match step.map(constant) {
            Some(None) => return,
            step => step.flatten(),
        };
        let than = match than {
            Than::Number(number) => Limit::Number(number),
            Than::View(view) => match constant(view) {
                Some(value) => Limit::Value(value),
                None => return,
            },
        };
        let pace = |cost| Paced { limit: self.ins.declare_var(types::I32), step, by, cost };
        let paced = cost.map(pace);
        known.tested = known.tested.map(|tested| Tested { index, than, step, paced, ..tested });
    }

    /// The variable that the loop here tests, if that is its value at the head.
    pub(super) fn tested(&self, value: Value) -> Option<Tested> {
        let (which, _) = self.here?;
        self.loops[which]
            .known
            .as_ref()?
            .tested
            .filter(|tested| tested.index == value && tested.begins != value)
    }

    pub(super) fn rely_on_test(&mut self, which: usize, tested: Tested) {
        let Some(known) = &mut self.loops[which].known else { return };
        let begins = LoopClaim::Begins(tested.begins, tested.than);
        for guard in [begins]
            .into_iter()
            .chain(tested.step.filter(|_| !makes(RangeMistake::Step)).map(LoopClaim::NotNegative))
        {
            if !known.guards.contains(&guard) {
                known.guards.push(guard);
            }
        }
    }

    /// Whether that block is the head of a loop of which something is known.
    pub(super) fn is_known_head(&self, number: usize) -> bool {
        self.loops.iter().any(|it| it.head == number)
    }

    /// The pace of the loop whose test is here.
    pub(super) fn pace_here(&self) -> Option<Paced> {
        let (which, _) = self.here.filter(|_| !self.tests_first)?;
        self.loops[which].known.as_ref()?.tested.filter(|tested| tested.index != tested.begins)?.paced
    }

    fn value_of(&mut self, variable: Variable) -> Value {
        let value = self.ins.use_var(variable);
        self.ins.func.dfg.resolve_aliases(value)
    }

    /// The counter of the loop whose `repeat` comes here.
    pub(super) fn counter_here(&self) -> Option<Counter> {
        let (which, _) = self.here?;
        self.loops[which].known.as_ref()?.counter
    }

    /// Whether what is compared before the loop shows that the subscript is less. Where it may, it will be compared.
    pub(super) fn is_proved_below(&mut self, index: Value, bound: Bound) -> bool {
        let range = self.range(index);
        let bound = match bound {
            Bound::Count(count) => self.constant_of(count).map_or(bound, Bound::Number),
            _ => bound,
        };
        if let Bound::Number(count) = bound
            && range.low >= 0
            && (range.high < i64::from(count) || count < 0)
        {
            self.checks.left_out += 1;
            return true;
        }
        if let Bound::Count(count) = bound
            && range.low >= 0
            && range.high < self.range(count).low
        {
            self.checks.left_out += 1;
            return true;
        }
        let Some((which, is_certain)) = self.here else { return false };
        let Some(known) = &self.loops[which].known else { return false };
        let first = known.first_inside;
        let stays = |value| self.is_outside(value, first, DEPTH);
        let bound_stays = match bound {
            Bound::Number(_) => true,
            Bound::Count(count) => stays(count),
            Bound::Plain(address, count, _) => stays(address) && stays(count),
        };
        let tested = self.tested(index);
        let guard = match (self.linear.get(&index), tested.map(|tested| tested.than)) {
            _ if !bound_stays => return false,
            (Some(&(of, offset)), _) if of == which => LoopClaim::Linear(offset, bound),
            _ if stays(index) => LoopClaim::Below(index, bound),
            (_, Some(Limit::Number(number))) => LoopClaim::Number(number.max(1) - 1, bound),
            (_, Some(Limit::Value(value))) => LoopClaim::NoMore(value, bound),
            _ if range.low >= 0 && range != Range::WORD => LoopClaim::Number(range.high as i32, bound),
            _ => return false,
        };
        // What comes seldom is no reason to leave the loop to the interpreter.
        let is_likely = is_certain || self.loops[which].certain_together.contains(&self.at);
        if !is_likely && !known.guards.contains(&guard) {
            return false;
        }
        self.rely_on(which, guard);
        if let Some(tested) = tested {
            self.rely_on_test(which, tested);
            self.compare_before(which, LoopClaim::NotNegative(tested.begins));
        }
        true
    }

    /// Whether that value is the index of the loop here and so much more, and their sum fits 32 bits in all of it: then
    /// that is compared before the loop.
    pub(super) fn is_proved_to_fit(&mut self, value: Value, more: i32) -> bool {
        let Some((which, _)) = self.here else { return false };
        match self.linear.get(&value) {
            Some(&(of, 0)) if of == which => {
                self.rely_on(which, LoopClaim::Fits(more));
                true
            }
            _ => self.tested(value).is_some_and(|tested| {
                let fits = match tested.than {
                    Limit::Number(number) => i64::from(number) - 1 + i64::from(more) <= i64::from(i32::MAX),
                    Limit::Value(_) => more <= 1,
                };
                if fits && more >= 0 {
                    self.checks.left_out += 1;
                    self.rely_on_test(which, tested);
                }
                fits && more >= 0
            }),
        }
    }

    /// That value is the other and so much more.
    pub(super) fn note_sum(&mut self, value: Value, other: Value, more: i64) {
        if let Some(&(which, offset)) = self.linear.get(&other) {
            self.linear.insert(value, (which, offset + more));
        }
    }

    pub(super) fn rely_on(&mut self, which: usize, guard: LoopClaim) {
        self.checks.left_out += 1;
        self.compare_before(which, guard);
    }

    pub(super) fn compare_before(&mut self, which: usize, guard: LoopClaim) {
        let Some(known) = &mut self.loops[which].known else { return };
        if !known.guards.contains(&guard) {
            known.guards.push(guard);
        }
    }

    /// Whether a value is made outside the loop, or of such values by instructions that may stand anywhere.
    pub(super) fn is_outside(&self, value: Value, first: u32, depth: u32) -> bool {
        let dfg = &self.ins.func.dfg;
        let value = dfg.resolve_aliases(value);
        if value.as_u32() < first {
            return true;
        }
        let ValueDef::Result(inst, _) = dfg.value_def(value) else { return false };
        let is_movable = matches!(
            dfg.insts[inst],
            InstructionData::UnaryImm { .. } | InstructionData::Unary { .. } | InstructionData::Binary { .. }
        ) && !dfg.insts[inst].opcode().can_trap();
        depth > 0
            && is_movable
            && dfg.inst_results(inst).len() == 1
            && dfg.inst_args(inst).iter().all(|&arg| self.is_outside(arg, first, depth - 1))
    }

    /// Whether a comparison has shown it, or does before the loop.
    pub(super) fn is_below(&mut self, index: Value, count: Value) -> bool {
        // Each place has a value of its own for the same constant.
        let fact =
            self.constant_of(count).map_or(Fact::Below(index, count), |it| Fact::BelowNumber(index, it));
        !self.facts.insert(fact) || self.is_proved_below(index, Bound::Count(count))
    }
}
