//! Owns: what each instruction does to what is known.
//! May use: `State`, `Value`.
//! Never: a value that the instruction may not give.

use super::{Seer, State, Value};
use crate::machine::FLOOR;
use alloc::vec::Vec;
use raddle_bytecode::{Insn, Op};

/// Of a replicated PAR's instances so many are followed one by one.
const INSTANCES_MAX: u32 = 32;
/// What is taken of the heap without saying how much is at most that.
const BLOCK_BYTES: u32 = 1 << 20;

impl Seer<'_> {
    /// The state behind the instruction, if it has one; others go to `todo`.
    pub(super) fn step(
        &mut self,
        mut state: State,
        insn: Insn,
        todo: &mut Vec<State>,
        depth: u32,
    ) -> Option<State> {
        match insn.op {
            Op::Ret | Op::End | Op::Stop | Op::Trap => return self.leave(state, insn.op),
            Op::Call | Op::CallD => return self.call(state, insn),
            Op::Jump | Op::Jz | Op::Jnz | Op::Jeq | Op::Jne | Op::Jlt | Op::Jle => {
                return self.jump(state, insn, todo);
            }
            Op::JeqI | Op::JneI | Op::JltI | Op::JgeI | Op::AltE => return self.jump(state, insn, todo),
            Op::Repeat | Op::RepeatStep => return self.repeat(state, insn, todo),
            Op::Switch => return self.switch(state, insn, todo),
            Op::Fork => {
                let forked = state.at(target(&state, insn));
                self.fork(&mut state, forked, depth);
            }
            Op::ForkN => self.fork_many(&mut state, insn, depth)?,
            Op::Out | Op::OutM | Op::In | Op::InM => self.talk(&mut state, insn),
            Op::Claim => {
                let lock = state.slot(self.memory, insn.a);
                state.claims.push(lock);
            }
            Op::Unclaim => {
                if state.claims.pop().is_none() {
                    let lock = state.slot(self.memory, insn.a);
                    self.future.releases.insert(lock);
                }
            }
            Op::DisC | Op::DisCR => {
                self.future.guards.extend(state.slot(self.memory, insn.a).known());
                self.forget_slots(&mut state, insn.b, 6);
            }
            Op::EnC | Op::EnT | Op::DisT | Op::DisS | Op::DisTR | Op::DisSR => {
                self.forget_slots(&mut state, insn.b, 6);
            }
            Op::StrB | Op::StrH | Op::StrW | Op::StrL | Op::AstB | Op::AstH | Op::AstW | Op::AstL => {
                self.store(&mut state, insn);
            }
            Op::Copy | Op::CopyI | Op::Fill => self.copy(&mut state, insn),
            Op::Chk | Op::ChkI | Op::ChkSlice | Op::ChkCount => self.check(&mut state, insn),
            Op::Nop | Op::ChkSize | Op::ChkShift | Op::Join | Op::Resched | Op::Wait | Op::Unwatch => {}
            Op::Zero => self.zero(&mut state, insn),
            Op::JoinN | Op::Alt | Op::EnS | Op::AltW => self.forget_slots(&mut state, insn.a, 6),
            Op::Alloc | Op::AllocI | Op::Frame => self.alloc(&mut state, insn)?,
            Op::Free => {
                state.give_back(self.slot(&state, insn.a));
                self.set(&mut state, insn.a, Value::is(0));
            }
            Op::Inc | Op::Dec => {
                let counter = state.slot(self.memory, insn.b);
                self.forget(&mut state, counter, 4);
                self.set(&mut state, insn.a, Value::ANY);
            }
            _ => match self.result(&state, insn) {
                Some(value) => self.set(&mut state, insn.a, value),
                None => self.forget_slots(&mut state, insn.a, u32::from(insn.op.slots()[0])),
            },
        }
        Some(state)
    }

    fn slot(&self, state: &State, slot: u16) -> Value {
        state.slot(self.memory, slot)
    }

    fn give_up<T>(&mut self) -> Option<T> {
        self.future.unknown = true;
        None
    }

    /// Only a return has a state behind it: that of the caller.
    fn leave(&mut self, mut state: State, op: Op) -> Option<State> {
        if op != Op::Ret {
            return None;
        }
        let Some(token) = self.slot(&state, 0).known() else { return self.give_up() };
        let site = self.module.sites.get(token.checked_sub(1)? as usize)?;
        if self.module.code.get(site.at as usize)?.op == Op::CallD {
            let Some(fp) = self.slot(&state, 1).known() else { return self.give_up() };
            state.give_back(Value::is(state.fp));
            state.fp = fp;
        } else {
            state.fp = state.fp.wrapping_sub(4 * site.base);
        }
        state.at = site.at + 1;
        Some(state)
    }

    fn call(&mut self, mut state: State, insn: Insn) -> Option<State> {
        let site = self.module.sites.get(insn.imm() as usize)?;
        let caller = state.fp;
        if insn.op == Op::CallD {
            let Some(fp) = self.slot(&state, insn.a).known() else { return self.give_up() };
            state.fp = fp;
            self.set(&mut state, 1, Value::is(caller));
        } else {
            state.fp = state.fp.wrapping_add(4 * site.base);
        }
        self.set(&mut state, 0, Value::is(insn.imm() as u32 + 1));
        state.at = self.module.functions.get(site.callee as usize)?.first;
        Some(state)
    }

    fn jump(&mut self, mut state: State, insn: Insn, todo: &mut Vec<State>) -> Option<State> {
        let (a, b) = (self.slot(&state, insn.a).known(), self.slot(&state, insn.b).known());
        let constant = i32::from(insn.b as i16);
        let signed = |value: Option<u32>| value.map(|value| value as i32);
        let jumps = match insn.op {
            Op::Jump => Some(true),
            Op::Jz => a.map(|a| a == 0),
            Op::Jnz => a.map(|a| a != 0),
            Op::Jeq => a.zip(b).map(|(a, b)| a == b),
            Op::Jne => a.zip(b).map(|(a, b)| a != b),
            Op::Jlt => signed(a).zip(signed(b)).map(|(a, b)| a < b),
            Op::Jle => signed(a).zip(signed(b)).map(|(a, b)| a <= b),
            Op::JeqI => signed(a).map(|a| a == constant),
            Op::JneI => signed(a).map(|a| a != constant),
            Op::JltI => signed(a).map(|a| a < constant),
            Op::JgeI => signed(a).map(|a| a >= constant),
            _ => None,
        };
        match jumps {
            Some(true) => state.at = target(&state, insn),
            Some(false) => {}
            None => todo.push(state.at(target(&state, insn))),
        }
        Some(state)
    }

    fn repeat(&mut self, mut state: State, insn: Insn, todo: &mut Vec<State>) -> Option<State> {
        let step = if insn.op == Op::Repeat { Value::is(1) } else { self.slot(&state, insn.b + 1) };
        let index = self.slot(&state, insn.a).plus(step);
        let left = self.slot(&state, insn.b).minus(Value::is(1));
        self.set(&mut state, insn.a, index);
        self.set(&mut state, insn.b, left);
        match left.known() {
            Some(left) if left as i32 > 0 => state.at = target(&state, insn),
            Some(_) => {}
            None => todo.push(state.at(target(&state, insn))),
        }
        Some(state)
    }

    fn switch(&mut self, mut state: State, insn: Insn, todo: &mut Vec<State>) -> Option<State> {
        let last = insn.imm() as u32;
        let choice = self.slot(&state, insn.a);
        match choice.known() {
            Some(choice) => state.at += choice.min(last),
            None => {
                todo.extend((1..=last).map(|choice| state.at(state.at + choice)));
            }
        }
        Some(state)
    }

    fn fork_many(&mut self, state: &mut State, insn: Insn, depth: u32) -> Option<()> {
        let slot = |offset: u16| state.slot(self.memory, insn.a + offset);
        let (base, count, step) = (slot(1), slot(2), slot(3));
        let function = self.module.functions.get(insn.imm() as usize)?;
        self.forget_slots(state, insn.a, 6);
        let count = count.known().filter(|&count| count <= INSTANCES_MAX);
        for number in 0..count.unwrap_or(1) {
            let index = match (count, base.known(), step.known()) {
                (Some(_), Some(base), Some(step)) => Value::is(base.wrapping_add(number.wrapping_mul(step))),
                _ => Value::ANY,
            };
            let mut forked = state.clone();
            let Some(fp) = forked.take(4 * function.slots) else { return self.give_up() };
            (forked.at, forked.fp) = (function.first, fp);
            forked.put(fp, Value::is(0));
            forked.put(fp + 4, Value::is(state.fp));
            forked.put(fp + 8, index);
            self.fork(state, forked, depth);
        }
        Some(())
    }

    fn talk(&mut self, state: &mut State, insn: Insn) {
        let channel = self.slot(state, insn.a);
        let output = matches!(insn.op, Op::Out | Op::OutM);
        if channel == Value::ANY {
            self.future.unknown = true;
        } else if channel.hi >= FLOOR {
            self.future.ends.insert((channel, output));
        }
        match insn.op {
            Op::In => self.forget_slots(state, insn.b, u32::from(insn.c).div_ceil(4)),
            Op::InM => self.receive(state, insn),
            _ => {}
        }
    }

    /// Addresses of elements of so many bytes that the subscript can mean.
    fn element(&self, state: &State, insn: Insn, bytes: u32) -> Value {
        let (base, count) = (self.slot(state, insn.b), self.slot(state, insn.b + 1));
        if base == Value::ANY {
            return Value::ANY;
        }
        match self.slot(state, insn.c).at_most(count.hi.saturating_sub(1)).times(bytes) {
            Value::ANY => Value { lo: base.lo, hi: base.lo.max(u32::MAX - 1) },
            offset => base.plus(offset),
        }
    }

    fn field(&self, state: &State, insn: Insn) -> Value {
        match self.slot(state, insn.b) {
            Value::ANY => Value::ANY,
            at => at.plus(Value::is(u32::from(insn.c))),
        }
    }

    fn store(&mut self, state: &mut State, insn: Insn) {
        let (bytes, at) = match insn.op {
            Op::StrB => (1, self.field(state, insn)),
            Op::StrH => (2, self.field(state, insn)),
            Op::StrW => (4, self.field(state, insn)),
            Op::StrL => (8, self.field(state, insn)),
            Op::AstB => (1, self.element(state, insn, 1)),
            Op::AstH => (2, self.element(state, insn, 2)),
            Op::AstW => (4, self.element(state, insn, 4)),
            _ => (8, self.element(state, insn, 8)),
        };
        match at.known().filter(|at| bytes == 4 && at % 4 == 0) {
            Some(at) => {
                let value = self.slot(state, insn.a);
                self.put(state, at, value);
            }
            None => self.forget(state, at, bytes),
        }
    }

    fn copy(&mut self, state: &mut State, insn: Insn) {
        let (to, from) = (self.slot(state, insn.a), self.slot(state, insn.b));
        let bytes = match insn.op {
            Op::Copy => self.slot(state, insn.c),
            Op::CopyI => Value::is(u32::from(insn.c)),
            _ => from,
        };
        let whole = |value: Value| value.known().filter(|value| value % 4 == 0);
        let words = match (insn.op, whole(to), whole(from), whole(bytes)) {
            (Op::Copy | Op::CopyI, Some(to), Some(from), Some(bytes @ ..=256)) => (0..bytes)
                .step_by(4)
                .map(|at| (to.wrapping_add(at), state.peek(self.memory, from.wrapping_add(at))))
                .collect(),
            _ => Vec::new(),
        };
        self.forget(state, to, bytes.hi);
        for (at, value) in words {
            self.put(state, at, value);
        }
    }

    /// Whoever passes a check is what it checks.
    fn check(&mut self, state: &mut State, insn: Insn) {
        let value = self.slot(state, insn.a);
        let most = match insn.op {
            Op::Chk => self.slot(state, insn.b).hi.saturating_sub(1),
            Op::ChkI => (insn.imm() as u32).saturating_sub(1),
            Op::ChkCount => i32::MAX as u32,
            _ => {
                let all = self.slot(state, insn.c).hi;
                let count = self.slot(state, insn.b).at_most(all);
                state.put(state.slot_at(insn.b), count);
                all
            }
        };
        state.put(state.slot_at(insn.a), value.at_most(most));
    }

    fn zero(&mut self, state: &mut State, insn: Insn) {
        let (at, bytes) = (state.slot_at(insn.a), insn.imm() as u32);
        self.forget(state, Value::is(at), bytes);
        for offset in (0..bytes.min(256)).step_by(4) {
            self.put(state, at.wrapping_add(offset), Value::is(0));
        }
    }

    fn alloc(&mut self, state: &mut State, insn: Insn) -> Option<()> {
        let bytes = match insn.op {
            Op::Frame => 4 * self.module.functions.get(insn.imm() as usize)?.slots,
            Op::AllocI => insn.imm() as u32,
            _ => self.slot(state, insn.b).known().unwrap_or(BLOCK_BYTES),
        };
        let at = state.take(bytes);
        self.set(state, insn.a, at.map_or(Value::ANY, Value::is));
        Some(())
    }

    /// What an instruction computes into slot `a`, if it is one word of which something is known.
    fn result(&self, state: &State, insn: Insn) -> Option<Value> {
        let half = i32::from(insn.c as i16) as u32;
        let b = || self.slot(state, insn.b);
        let c = || self.slot(state, insn.c);
        Some(match insn.op {
            Op::Mov => b(),
            Op::Ldi => Value::is(insn.imm() as u32),
            Op::Addr => Value::is(state.fp.wrapping_add(insn.imm() as u32)),
            Op::Data => Value::is(self.data.wrapping_add(insn.imm() as u32)),
            Op::Add | Op::Plus => b().plus(c()),
            Op::AddI | Op::PlusI => b().plus(Value::is(half)),
            Op::Sub | Op::Minus => b().minus(c()),
            Op::Mul | Op::Times => match (b(), c()) {
                (Value { lo, hi }, other) if lo == hi => other.times(lo),
                (one, other) => other.known().map_or(Value::ANY, |other| one.times(other)),
            },
            Op::MulI => b().times(half),
            Op::LdrW => state.load(self.memory, self.field(state, insn)),
            Op::LdrB | Op::AldB => Value::below(256),
            Op::AldW => state.load(self.memory, self.element(state, insn, 4)),
            Op::Elem => self.element(state, insn, self.slot(state, insn.a).known()?),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::EqI | Op::LtI => {
                self.computed(state, insn, Value::below(2))
            }
            Op::Rem if c().known().is_some_and(|c| c as i32 > 0) && b().hi <= i32::MAX as u32 => {
                self.computed(state, insn, Value::below(c().lo))
            }
            Op::AndI if half as i32 >= 0 => self.computed(state, insn, Value { lo: 0, hi: half }),
            Op::ChkB => b().at_most(255),
            Op::ChkBool => b().at_most(1),
            op if op.slots()[0] == 1 => self.computed(state, insn, Value::ANY),
            _ => return None,
        })
    }

    /// The result of known operands; else what it is in any case.
    fn computed(&self, state: &State, insn: Insn, else_: Value) -> Value {
        let slots = insn.op.slots();
        let b = self.slot(state, insn.b).known().filter(|_| slots[1] == 1).map(|b| b as i32);
        let c = self.slot(state, insn.c).known().filter(|_| slots[2] == 1).map(|c| c as i32);
        let half = i32::from(insn.c as i16);
        let value = match (insn.op, b, c) {
            (Op::Div, Some(b), Some(c)) => b.checked_div(c),
            (Op::Rem, Some(b), Some(c)) => (c != 0).then(|| b.wrapping_rem(c)),
            (Op::Neg, Some(b), _) => b.checked_neg(),
            (Op::And, Some(b), Some(c)) => Some(b & c),
            (Op::Or, Some(b), Some(c)) => Some(b | c),
            (Op::Xor, Some(b), Some(c)) => Some(b ^ c),
            (Op::AndI, Some(b), _) => Some(b & half),
            (Op::Not, Some(b), _) => Some(!b),
            (Op::Shl, Some(b), Some(c)) => crate::arith::shl(b as u32, c as u32).map(|it| it as i32),
            (Op::Shr, Some(b), Some(c)) => crate::arith::shr(b as u32, c as u32).map(|it| it as i32),
            (Op::Eq, Some(b), Some(c)) => Some(i32::from(b == c)),
            (Op::Ne, Some(b), Some(c)) => Some(i32::from(b != c)),
            (Op::Lt, Some(b), Some(c)) => Some(i32::from(b < c)),
            (Op::Le, Some(b), Some(c)) => Some(i32::from(b <= c)),
            (Op::EqI, Some(b), _) => Some(i32::from(b == half)),
            (Op::LtI, Some(b), _) => Some(i32::from(b < half)),
            (Op::NotBool, Some(b), _) => Some(b ^ 1),
            (Op::WrapH | Op::ChkH, Some(b), _) => Some(i32::from(b as i16)),
            (Op::WrapB, Some(b), _) => Some(b & 255),
            (Op::Flat, Some(b), Some(c)) => {
                let outer = self.slot(state, insn.a).known().map(|a| a as i32);
                outer.and_then(|outer| outer.checked_mul(c)).and_then(|outer| outer.checked_add(b))
            }
            _ => None,
        };
        value.map_or(else_, |value| Value::is(value as u32))
    }
}

fn target(state: &State, insn: Insn) -> u32 {
    state.at.wrapping_add_signed(insn.distance())
}
