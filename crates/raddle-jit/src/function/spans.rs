//! Owns: between which numbers a value lies in all turns of a loop, found out before it in 64 bits.
//! May use: `mistakes`, `cranelift-codegen`.
//! Never: a value of which it is not known from what it is made.
//!
//! A value in a loop has a *span* if it is made, by additions, subtractions, products and quotients, of the loop's
//! index, of values that the loop does not make, and of what has a range. The lowest and the highest number that it can
//! be is made of theirs, before the loop; if these are words, so is the value in each turn, and nothing overflows.
//!
//! If one is no word, the value need not overflow: of parts that depend on each other the numbers are farther apart
//! than it can be. So the loop is made twice, and the second time without spans: with the checks in it, and all else as
//! the first time. There it goes on. Its values are others, of which nothing is known because of the first time.

use super::Translation;
use super::claims::{Claims, Limit, LoopClaim};
use super::loops::DEPTH;
use super::ranges::Range;
use crate::mistakes::{RangeMistake, makes};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder as _, Opcode, Value, ValueDef, types};

/// The lowest and the highest number, as 64 bits.
type Extremes = (Value, Value);

/// No more of them are found out before one loop.
const SPANS_MAX: usize = 16;

/// A value that is made of others, and these of others, no further: who looks at what a value is made of calls itself
/// for each. And it bounds what sums that are known to be words add up to: 2^62 is far from it.
const SPAN_DEPTH: u32 = 24;

/// A value that has a span, in the loop of that number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned {
    which: usize,
    /// Of how many values, one made of the other, it is made.
    depth: u32,
    /// What its span needs is compared before the loop.
    is_relied_on: bool,
}

fn is_span(guard: &LoopClaim) -> bool {
    matches!(guard, LoopClaim::Spans(_))
}

impl Translation<'_, '_> {
    /// Whether what is made of these two in the loop here has a span, so that it can be compared before the loop
    /// whether it is a word.
    pub(super) fn have_spans(&self, parts: [Value; 2]) -> bool {
        let Some((which, true)) = self.here else { return false };
        // A loop with spans is made twice: so it has to have no loops in it, in which nearly all of its time is spent.
        let is_again = self.loops[which].before.is_some() && !makes(RangeMistake::Again);
        if self.loops[which].has_inner || is_again {
            return false;
        }
        let Some(known) = &self.loops[which].known else { return false };
        let count = known.guards.iter().filter(|guard| is_span(guard)).count();
        count < SPANS_MAX && self.depth_above(which, &parts).is_some()
    }

    /// Whether the loop relies on spans.
    pub(super) fn has_spans(&self, which: usize) -> bool {
        self.loops[which].known.as_ref().is_some_and(|known| known.guards.iter().any(is_span))
    }

    /// Whether a sum of these two has a span, which is then compared before the loop.
    pub(super) fn is_spanned(&mut self, sum: Value, parts: [Value; 2]) -> bool {
        let have_spans = self.have_spans(parts);
        if have_spans {
            self.rely_on_span(sum, parts);
        }
        have_spans
    }

    /// How deep what is made of these is; none if one of them has no span, or it is too deep.
    fn depth_above(&self, which: usize, parts: &[Value]) -> Option<u32> {
        let of = |part: &Value| self.spans.get(part).filter(|spanned| spanned.which == which);
        let depth = 1 + parts.iter().filter_map(of).map(|spanned| spanned.depth).max().unwrap_or(0);
        (depth <= SPAN_DEPTH && parts.iter().all(|&part| self.has_span(which, part))).then_some(depth)
    }

    fn has_span(&self, which: usize, value: Value) -> bool {
        let Some(known) = &self.loops[which].known else { return false };
        self.made_range(value) != Range::WORD
            || self.spans.get(&value).is_some_and(|spanned| spanned.which == which)
            || self.linear_in(which, value).is_some()
            || self.tested(value).is_some()
            || self.is_outside(value, known.first_inside, DEPTH)
    }

    /// By how much a value is more than the index of that loop.
    fn linear_in(&self, which: usize, value: Value) -> Option<i32> {
        let &(of, more) = self.linear.get(&value)?;
        i32::try_from(more).ok().filter(|_| of == which)
    }

    /// Has it compared before the loop here that a value is a word, which is made of two that [have spans].
    ///
    /// [have spans]: Self::have_spans
    pub(super) fn rely_on_span(&mut self, value: Value, parts: [Value; 2]) {
        let Some((which, _)) = self.here else { return };
        let depth = self.depth_above(which, &parts).expect("they have been asked for");
        self.spans.insert(value, Spanned { which, depth, is_relied_on: false });
        self.rely_on_parts(which, value);
        self.rely_on(which, LoopClaim::Spans(value));
    }

    /// A value that is known to be a word is made of these two.
    pub(super) fn note_span(&mut self, value: Value, parts: [Value; 2]) {
        let Some((which, _)) = self.here else { return };
        if let Some(depth) = self.depth_above(which, &parts) {
            self.spans.entry(value).or_insert(Spanned { which, depth, is_relied_on: false });
        }
    }

    /// Has it compared what the span of that value needs.
    fn rely_on_parts(&mut self, which: usize, value: Value) {
        if let Some(more) = self.linear_in(which, value) {
            self.compare_before(which, LoopClaim::Fits(more));
        } else if let Some(tested) = self.tested(value) {
            self.rely_on_test(which, tested);
        } else if let Some(spanned) = self.spans.get_mut(&value).filter(|spanned| spanned.which == which)
            && !std::mem::replace(&mut spanned.is_relied_on, true)
            && let ValueDef::Result(inst, _) = self.ins.func.dfg.value_def(value)
        {
            for part in self.ins.func.dfg.inst_args(inst).to_vec() {
                let part = self.ins.func.dfg.resolve_aliases(part);
                self.rely_on_parts(which, part);
            }
        }
    }

    /// Before the loop: that a value is a word in each turn.
    pub(super) fn claim_span(&mut self, claims: &mut Claims, value: Value) {
        let (low, high) = self.span(claims, value);
        let is_high = self.ins.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, low, Range::WORD.low);
        let is_low = self.ins.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, high, Range::WORD.high);
        self.claim_that(claims, is_high);
        self.claim_that(claims, is_low);
    }

    /// Between which numbers that value lies in all turns that may be made.
    fn span(&mut self, claims: &mut Claims, value: Value) -> Extremes {
        let value = self.ins.func.dfg.resolve_aliases(value);
        if let Some(&span) = claims.spans.get(&value) {
            return span;
        }
        let span = self.make_span(claims, value);
        claims.spans.insert(value, span);
        span
    }

    fn make_span(&mut self, claims: &mut Claims, value: Value) -> Extremes {
        let which = claims.which;
        if let Some(constant) = self.constant_of(value) {
            return self.span_of_range(Range::new(constant.into(), constant.into()));
        }
        if let (Some(more), Some((first, turns))) = (self.linear_in(which, value), claims.turns) {
            let first = self.ins.ins().sextend(types::I64, first);
            let turns = self.ins.ins().uextend(types::I64, turns);
            let last = self.ins.ins().iadd(first, turns);
            let low = self.ins.ins().iadd_imm_s(first, i64::from(more));
            return (low, self.ins.ins().iadd_imm_s(last, i64::from(more) - 1));
        }
        if let Some((begins, than)) =
            claims.tested.filter(|&(index, ..)| index == value).map(|it| (it.1, it.2))
        {
            let low = self.ins.ins().sextend(types::I64, begins);
            let behind = match than {
                Limit::Number(number) => self.ins.ins().iconst(types::I64, i64::from(number)),
                Limit::Value(limit) => self.ins.ins().sextend(types::I64, limit),
            };
            return (low, self.ins.ins().iadd_imm_s(behind, -1));
        }
        if self.spans.get(&value).is_some_and(|spanned| spanned.which == which) {
            return self.span_of_result(claims, value);
        }
        if self.is_outside(value, claims.first_inside, DEPTH) {
            let made = self.made_here(claims, value);
            let wide = self.ins.ins().sextend(types::I64, made);
            return (wide, wide);
        }
        self.span_of_range(self.made_range(value))
    }

    fn span_of_range(&mut self, range: Range) -> Extremes {
        (self.ins.ins().iconst(types::I64, range.low), self.ins.ins().iconst(types::I64, range.high))
    }

    /// Of what is made of values that have spans. They are words, so nothing goes beyond 64 bits.
    fn span_of_result(&mut self, claims: &mut Claims, value: Value) -> Extremes {
        let ValueDef::Result(inst, _) = self.ins.func.dfg.value_def(value) else {
            unreachable!("an instruction has made it")
        };
        let opcode = self.ins.func.dfg.insts[inst].opcode();
        let &[left, right] = self.ins.func.dfg.inst_args(inst) else { unreachable!("of two values") };
        let one = self.span(claims, left);
        if let (Opcode::Sdiv | Opcode::Udiv, Some(divisor)) = (opcode, self.constant_of(right)) {
            // It is no farther from 0 than this shift has it.
            let places = i64::from(divisor.max(1).ilog2());
            let zero = self.ins.ins().iconst(types::I64, 0);
            let (low, high) = (self.ins.ins().smin(one.0, zero), self.ins.ins().smax(one.1, zero));
            return (low, self.ins.ins().sshr_imm_s(high, places));
        }
        let other = self.span(claims, right);
        match opcode {
            Opcode::Iadd => (self.ins.ins().iadd(one.0, other.0), self.ins.ins().iadd(one.1, other.1)),
            Opcode::Isub => (self.ins.ins().isub(one.0, other.1), self.ins.ins().isub(one.1, other.0)),
            _ => self.span_of_product(one, other),
        }
    }

    fn span_of_product(&mut self, (a, b): Extremes, (c, d): Extremes) -> Extremes {
        if makes(RangeMistake::Product) {
            return (self.ins.ins().imul(a, c), self.ins.ins().imul(b, d));
        }
        let first = self.ins.ins().imul(a, c);
        // What stays the same in the loop has one number for both.
        let others = [(a != b, b, c), (c != d, a, d), (a != b && c != d, b, d)];
        others.into_iter().filter(|other| other.0).fold((first, first), |(low, high), (_, one, other)| {
            let product = self.ins.ins().imul(one, other);
            (self.ins.ins().smin(low, product), self.ins.ins().smax(high, product))
        })
    }
}
