//! Owns: what the effect of each instruction does to an abstract state.
//! May use: `memory`, `raddle-bytecode`.
//! Never: a wildcard over effects or an instruction by its name: what is new must be thought of here.

use super::{AbstractInterpreter, AbstractState, Interval};
use crate::memory::FLOOR;
use alloc::vec::Vec;
use raddle_bytecode::effect::{Bound, Effect, Location, Operand, Width};
use raddle_bytecode::{FOREIGN, Insn};

/// Of a replicated PAR's instances so many are interpreted one by one.
const INSTANCES_MAX: u32 = 32;
/// What is taken of the heap without saying how much is at most that.
const BLOCK_BYTES: u32 = 1 << 20;

/// The words of a barrier.
const BARRIER_BYTES: u32 = 12;

impl AbstractInterpreter<'_> {
    /// The state behind the instruction, if it has one; others go to `todo`.
    pub(super) fn step(
        &mut self,
        mut state: AbstractState,
        insn: Insn,
        todo: &mut Vec<AbstractState>,
        depth: u32,
    ) -> Option<AbstractState> {
        match insn.op.effect() {
            Effect::Nothing | Effect::Sleep | Effect::Yield => {}
            Effect::Set(formula) => self.assign(&mut state, insn, formula),
            Effect::CallHost => self.call_host(&mut state, insn)?,
            Effect::Check(bound) => self.check(&mut state, insn, bound),
            Effect::Clear => self.clear(&mut state, insn),
            Effect::Store(location, width) => self.store(&mut state, insn, location, width),
            Effect::Copy(count) => self.copy(&mut state, insn, count),
            Effect::Fill => self.fill(&mut state, insn),
            Effect::Count => self.count(&mut state, insn),
            Effect::Allocate(size) => {
                let bytes = self.allocated(&state, insn, size);
                self.allocate(&mut state, insn, bytes);
            }
            Effect::NewFrame => self.new_frame(&mut state, insn)?,
            Effect::Free => self.free(&mut state, insn),
            Effect::Jump => state.at = target(&state, insn),
            Effect::JumpIf(comparison, operand) => {
                let jumps =
                    self.slot(&state, insn.a).compare(comparison, self.jump_operand(&state, insn, operand));
                branch(&mut state, insn, jumps, todo);
            }
            Effect::Repeat => self.repeat(&mut state, insn, Interval::exactly(1), todo),
            Effect::RepeatStep => {
                let step = self.slot(&state, insn.b + 1);
                self.repeat(&mut state, insn, step, todo);
            }
            Effect::Switch => self.switch(&mut state, insn, todo),
            Effect::Call | Effect::CallAt => return self.call(state, insn),
            Effect::Return => return self.return_from(state),
            Effect::End | Effect::Fault => return None,
            Effect::Fork => {
                let forked = state.at(target(&state, insn));
                self.fork(&mut state, forked, depth);
            }
            Effect::ForkMany => self.fork_many(&mut state, insn, depth)?,
            Effect::Spawn => self.spawn(&mut state, insn, depth)?,
            Effect::Send(_) => self.use_end(&state, insn, true),
            Effect::LetGo => self.use_end(&state, insn, false),
            Effect::Receive(message) => {
                self.use_end(&state, insn, false);
                self.receive(&mut state, insn, message);
            }
            Effect::Join | Effect::JoinMany | Effect::JoinForked | Effect::AltOpen | Effect::AltWait => {
                self.forget_slots(&mut state, insn.a, u32::from(insn.op.slots()[0]));
            }
            Effect::AltClose => {
                self.forget_slots(&mut state, insn.a, u32::from(insn.op.slots()[0]));
                branch(&mut state, insn, None, todo);
            }
            Effect::AltGuard => self.forget_slots(&mut state, insn.b, u32::from(insn.op.slots()[1])),
            Effect::AltChannel => {
                self.summary.guards.extend(self.slot(&state, insn.a).known());
                self.forget_slots(&mut state, insn.b, u32::from(insn.op.slots()[1]));
            }
            Effect::Sync | Effect::Resign => self.use_barrier(&mut state, insn, true),
            Effect::Enroll => self.use_barrier(&mut state, insn, false),
            Effect::Claim => state.claims.push(state.slot(self.memory, insn.a)),
            Effect::Unclaim => self.unclaim(&mut state, insn),
        }
        Some(state)
    }

    fn new_frame(&mut self, state: &mut AbstractState, insn: Insn) -> Option<()> {
        let slots = self.module.functions.get(insn.imm() as usize)?.slots;
        self.allocate(state, insn, 4 * slots);
        Some(())
    }

    /// Nobody knows what a foreign routine does.
    fn call_host(&mut self, state: &mut AbstractState, insn: Insn) -> Option<()> {
        self.forget_slots(state, insn.a, u32::from(insn.op.slots()[0]));
        if insn.imm() >= FOREIGN { self.give_up() } else { Some(()) }
    }

    fn use_barrier(&mut self, state: &mut AbstractState, insn: Insn, comes: bool) {
        let barrier = self.slot(state, insn.a);
        if comes {
            self.summary.barriers.insert(barrier);
        }
        self.forget(state, barrier, BARRIER_BYTES);
    }

    pub(super) fn slot(&self, state: &AbstractState, slot: u16) -> Interval {
        state.slot(self.memory, slot)
    }

    fn unclaim(&mut self, state: &mut AbstractState, insn: Insn) {
        if state.claims.pop().is_none() {
            let lock = self.slot(state, insn.a);
            self.summary.releases.insert(lock);
        }
    }

    fn free(&mut self, state: &mut AbstractState, insn: Insn) {
        state.give_back(self.slot(state, insn.a));
        self.set(state, insn.a, Interval::exactly(0));
    }

    fn give_up<T>(&mut self) -> Option<T> {
        self.summary.unknown = true;
        None
    }

    /// The state of the caller.
    fn return_from(&mut self, mut state: AbstractState) -> Option<AbstractState> {
        let Some(token) = self.slot(&state, 0).known() else { return self.give_up() };
        let site = self.module.sites.get(token.checked_sub(1)? as usize)?;
        if self.module.code.get(site.at as usize)?.op.effect() == Effect::CallAt {
            let Some(fp) = self.slot(&state, 1).known() else { return self.give_up() };
            state.give_back(Interval::exactly(state.fp));
            state.fp = fp;
        } else {
            state.fp = state.fp.wrapping_sub(4 * site.base);
        }
        state.at = site.at + 1;
        Some(state)
    }

    fn call(&mut self, mut state: AbstractState, insn: Insn) -> Option<AbstractState> {
        let site = self.module.sites.get(insn.imm() as usize)?;
        let caller = state.fp;
        if insn.op.effect() == Effect::CallAt {
            let Some(fp) = self.slot(&state, insn.a).known() else { return self.give_up() };
            state.fp = fp;
            self.set(&mut state, 1, Interval::exactly(caller));
        } else {
            state.fp = state.fp.wrapping_add(4 * site.base);
        }
        self.set(&mut state, 0, Interval::exactly(insn.imm() as u32 + 1));
        state.at = self.module.functions.get(site.callee as usize)?.first;
        Some(state)
    }

    fn repeat(
        &mut self,
        state: &mut AbstractState,
        insn: Insn,
        step: Interval,
        todo: &mut Vec<AbstractState>,
    ) {
        let index = self.slot(state, insn.a).plus(step);
        self.set(state, insn.a, index);
        let left = self.slot(state, insn.b).minus(Interval::exactly(1));
        self.set(state, insn.b, left);
        branch(state, insn, left.known().map(|left| left as i32 > 0), todo);
    }

    fn switch(&mut self, state: &mut AbstractState, insn: Insn, todo: &mut Vec<AbstractState>) {
        let last = insn.imm() as u32;
        match self.slot(state, insn.a).known() {
            Some(choice) => state.at += choice.min(last),
            None => todo.extend((1..=last).map(|choice| state.at(state.at + choice))),
        }
    }

    fn fork_many(&mut self, state: &mut AbstractState, insn: Insn, depth: u32) -> Option<()> {
        let slot = |offset: u16| state.slot(self.memory, insn.a + offset);
        let (base, count, step) = (slot(1), slot(2), slot(3));
        let function = self.module.functions.get(insn.imm() as usize)?;
        self.forget_slots(state, insn.a, 6);
        let count = count.known().filter(|&count| count <= INSTANCES_MAX);
        for number in 0..count.unwrap_or(1) {
            let index = match (count, base.known(), step.known()) {
                (Some(_), Some(base), Some(step)) => {
                    Interval::exactly(base.wrapping_add(number.wrapping_mul(step)))
                }
                _ => Interval::TOP,
            };
            let mut forked = state.clone();
            let Some(fp) = forked.take(4 * function.slots) else { return self.give_up() };
            (forked.at, forked.fp) = (function.first, fp);
            forked.put(fp, Interval::exactly(0));
            forked.put(fp + 4, Interval::exactly(state.fp));
            forked.put(fp + 8, index);
            self.fork(state, forked, depth);
        }
        Some(())
    }

    fn spawn(&mut self, state: &mut AbstractState, insn: Insn, depth: u32) -> Option<()> {
        let function = self.module.functions.get(insn.imm() as usize)?;
        let (frame, block) = (self.slot(state, insn.a), self.slot(state, insn.a + 1));
        let Some(fp) = frame.known() else { return self.give_up() };
        self.forget(state, block, 4);
        let mut forked = state.clone();
        (forked.at, forked.fp) = (function.first, fp);
        self.fork(state, forked, depth);
        Some(())
    }

    fn use_end(&mut self, state: &AbstractState, insn: Insn, output: bool) {
        let channel = self.slot(state, insn.a);
        if channel == Interval::TOP {
            self.summary.unknown = true;
        } else if channel.hi >= FLOOR {
            self.summary.ends.insert((channel, output));
        } else if let Some(port) = channel.known() {
            self.summary.ports.insert((port, output));
        }
    }

    fn store(&mut self, state: &mut AbstractState, insn: Insn, location: Location, width: Width) {
        let at = self.address(state, insn, location, width);
        match at.known().filter(|at| width == Width::Word && at % 4 == 0) {
            Some(at) => {
                let value = self.slot(state, insn.a);
                self.put(state, at, value);
            }
            None => self.forget(state, at, width.bytes()),
        }
    }

    fn copy(&mut self, state: &mut AbstractState, insn: Insn, count: Operand) {
        let (to, from) = (self.slot(state, insn.a), self.slot(state, insn.b));
        let bytes = match count {
            Operand::Slot => self.slot(state, insn.c),
            Operand::Imm => Interval::exactly(u32::from(insn.c)),
            Operand::Zero => Interval::exactly(0),
        };
        let whole = |value: Interval| value.known().filter(|value| value % 4 == 0);
        let words: Vec<(u32, Interval)> = match (whole(to), whole(from), whole(bytes)) {
            (Some(to), Some(from), Some(bytes @ ..=256)) => (0..bytes)
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

    fn fill(&mut self, state: &mut AbstractState, insn: Insn) {
        let (to, bytes) = (self.slot(state, insn.a), self.slot(state, insn.b));
        self.forget(state, to, bytes.hi);
    }

    fn count(&mut self, state: &mut AbstractState, insn: Insn) {
        let counter = self.slot(state, insn.b);
        self.forget(state, counter, 4);
        self.set(state, insn.a, Interval::TOP);
    }

    /// Behind a check its operands are within their bounds.
    fn check(&mut self, state: &mut AbstractState, insn: Insn, bound: Bound) {
        let value = self.slot(state, insn.a);
        let most = match bound {
            Bound::Below(Operand::Slot) => self.slot(state, insn.b).hi.saturating_sub(1),
            Bound::Below(Operand::Imm) => (insn.imm() as u32).saturating_sub(1),
            Bound::Below(Operand::Zero) => 0,
            Bound::NotNegative => i32::MAX as u32,
            Bound::Slice => {
                let all = self.slot(state, insn.c).hi;
                let count = self.slot(state, insn.b).at_most(all);
                state.put(state.slot_at(insn.b), count);
                all
            }
        };
        state.put(state.slot_at(insn.a), value.at_most(most));
    }

    fn clear(&mut self, state: &mut AbstractState, insn: Insn) {
        let (at, bytes) = (state.slot_at(insn.a), insn.imm() as u32);
        self.forget(state, Interval::exactly(at), bytes);
        for offset in (0..bytes.min(256) & !3).step_by(4) {
            self.put(state, at.wrapping_add(offset), Interval::exactly(0));
        }
    }

    fn allocated(&self, state: &AbstractState, insn: Insn, size: Operand) -> u32 {
        match size {
            Operand::Slot => self.slot(state, insn.b).known().unwrap_or(BLOCK_BYTES),
            Operand::Imm => insn.imm() as u32,
            Operand::Zero => 0,
        }
    }

    fn allocate(&mut self, state: &mut AbstractState, insn: Insn, bytes: u32) {
        let at = state.take(bytes);
        self.set(state, insn.a, at.map_or(Interval::TOP, Interval::exactly));
    }

    fn jump_operand(&self, state: &AbstractState, insn: Insn, operand: Operand) -> Interval {
        match operand {
            Operand::Slot => self.slot(state, insn.b),
            Operand::Imm => Interval::exactly(i32::from(insn.b as i16) as u32),
            Operand::Zero => Interval::exactly(0),
        }
    }
}

/// Goes to the label or on, or, if it is not known which, both.
fn branch(state: &mut AbstractState, insn: Insn, jumps: Option<bool>, todo: &mut Vec<AbstractState>) {
    match jumps {
        Some(true) => state.at = target(state, insn),
        Some(false) => {}
        None => todo.push(state.at(target(state, insn))),
    }
}

fn target(state: &AbstractState, insn: Insn) -> u32 {
    state.at.wrapping_add_signed(insn.distance())
}
