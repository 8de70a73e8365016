//! Owns: the abstract interpreter: which ends of channels a process may still use, which locks it has to give back.
//! May use: `machine`, `memory`, `raddle-bytecode`.
//! Never: a claim that is not certain: what it leaves out, the process cannot do.
//!
//! For the report of a deadlock: whoever waits at a channel waits for one of those who may still use the other end. So
//! the code of each process is interpreted from where it stands, along all paths, with the values that its frame
//! holds: `c[(i + 1) \ 5]` is one channel for one instance. A word is an interval of numbers; what comes in a message
//! is any word, and a subscript is, after its check, within its array. Where too many states come to one place they are
//! joined to one that holds all of them. When another one comes there, what differs is widened to any word, so that a
//! fixpoint is soon reached. What an instruction does is taken from its effect in the table of instructions.
//!
//! A frame, or memory from the heap, that the process will take lies behind the machine's memory. Whoever it will
//! fork is interpreted as a part of it; what that one writes is not known afterwards. An address that is not
//! known at all is one of a MOBILE's, which came in a message: it is taken to lie in no frame.
//!
//! A process whose steps become too many, or that uses a channel of which nothing is known, may use all ends
//! (`Summary::unknown`).
//!
//! It uses the program's code; memory, while nothing runs.

mod formula;
mod interval;
mod state;
mod step;

use crate::machine::Machine;
use crate::memory::Memory;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
pub(super) use interval::Interval;
use raddle_bytecode::effect::{Effect, Message};
use raddle_bytecode::{Insn, Module};
use state::AbstractState;

/// So many states of one place are told apart.
const STATES_MAX: usize = 48;
/// So deep are PARs within PARs interpreted.
const DEPTH_MAX: u32 = 12;
/// So many instructions are interpreted for one process.
const STEPS_MAX: u32 = 50_000;
/// To keep so many words of a state costs as much as a step: it is 20 bytes each, for 48 states of each place.
const WORDS_PER_STEP: u32 = 16;
/// More ranges that are written than this become one.
const WRITES_MAX: usize = 2048;

/// What a process waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pending {
    /// That this instruction is done.
    Instruction(Insn),
    /// A lock, which it then has.
    Lock(u32),
    /// Nothing: it can run.
    Nothing,
}

/// All that a process may still do.
#[derive(Default, Debug)]
pub(super) struct Summary {
    /// Ends that it may use: channels, and whether to output.
    pub(super) ends: BTreeSet<(Interval, bool)>,
    /// Channels of the host that it may use, and whether it outputs there.
    pub(super) ports: BTreeSet<(u32, bool)>,
    /// Locks that it has and will give back.
    releases: BTreeSet<Interval>,
    /// Barriers that it may come to, or leave.
    barriers: BTreeSet<Interval>,
    /// Guards of ALTs, by channel.
    pub(super) guards: BTreeSet<u32>,
    /// What it may write, from where to where.
    pub(super) writes: BTreeSet<(u32, u32)>,
    /// It may do anything.
    pub(super) unknown: bool,
}

impl Summary {
    /// Whether it has that lock.
    pub(super) fn has(&self, lock: u32) -> bool {
        self.releases.iter().any(|value| value.contains(lock))
    }

    /// Whether it may come to that barrier, or leave it.
    pub(super) fn comes_to(&self, barrier: u32) -> bool {
        self.barriers.iter().any(|value| value.contains(barrier))
    }

    fn note_write(&mut self, lo: u32, hi: u32) {
        self.writes.insert((lo & !3, hi | 3));
        if self.writes.len() > WRITES_MAX {
            let hi = self.writes.iter().map(|&(_, hi)| hi).max().unwrap_or(u32::MAX);
            let lo = self.writes.first().map_or(0, |&(lo, _)| lo);
            self.writes = [(lo, hi)].into();
        }
    }
}

/// The states that came to one place.
#[derive(Default)]
struct Visited {
    states: BTreeSet<AbstractState>,
    /// Their join, once they were too many.
    joined: Option<AbstractState>,
}

/// Interprets the code of processes that wait.
pub(super) struct AbstractInterpreter<'m> {
    module: &'m Module,
    memory: &'m Memory,
    data: u32,
    /// Which instructions can be jumped to.
    targets: Vec<bool>,
    /// Steps left, for all processes together and for the one that is followed.
    all_steps: u32,
    steps: u32,
    summary: Summary,
}

impl<'m> AbstractInterpreter<'m> {
    /// It goes so many steps at most.
    pub(super) fn new<L: Default>(machine: &'m Machine<L>, steps: u32) -> AbstractInterpreter<'m> {
        let module = machine.program().module();
        let mut targets = vec![false; module.code.len()];
        for (at, insn) in module.code.iter().enumerate().filter(|(_, insn)| insn.op.form().jumps()) {
            if let Some(target) = targets.get_mut((at + 1).wrapping_add_signed(insn.distance() as isize)) {
                *target = true;
            }
        }
        let summary = Summary::default();
        AbstractInterpreter {
            module,
            memory: &machine.memory,
            data: machine.data,
            targets,
            all_steps: steps,
            steps: 0,
            summary,
        }
    }

    /// What the process does that goes on there, in that frame, when its wait is over. The ranges of memory in
    /// `written` are others' till then.
    pub(super) fn summary_of(
        &mut self,
        at: u32,
        fp: u32,
        pending: Pending,
        written: &BTreeSet<(u32, u32)>,
    ) -> Summary {
        self.summary = Summary::default();
        self.steps = STEPS_MAX;
        let mut from = AbstractState::new(at, fp, self.memory.bytes());
        for &(lo, hi) in written {
            from.forget(lo, hi);
            self.summary.note_write(lo, hi);
        }
        self.resume(&mut from, pending);
        self.explore(from, DEPTH_MAX);
        core::mem::take(&mut self.summary)
    }

    fn explore(&mut self, from: AbstractState, depth: u32) {
        let mut seen: BTreeMap<(u32, u32), Visited> = BTreeMap::new();
        let mut todo = vec![from];
        while let Some(state) = todo.pop() {
            let mut now = Some(state);
            while let Some(state) = now {
                if self.summary.unknown {
                    return;
                }
                now = self.advance(state, &mut seen, &mut todo, depth);
            }
        }
    }

    /// One instruction; the states on its other paths go to `todo`.
    fn advance(
        &mut self,
        state: AbstractState,
        seen: &mut BTreeMap<(u32, u32), Visited>,
        todo: &mut Vec<AbstractState>,
        depth: u32,
    ) -> Option<AbstractState> {
        if self.steps == 0 || self.all_steps == 0 {
            self.summary.unknown = true;
            return None;
        }
        let (at, mut state) = (state.at, state);
        let is_target = self.targets.get(at as usize).copied().unwrap_or(false);
        let jumps = self.module.code.get(at as usize).is_some_and(|insn| insn.op.form().jumps());
        // Where ways meet or part the state is kept, and joined: that costs as much time and memory as it has words.
        let kept = if is_target || jumps { state.count_words() / WORDS_PER_STEP } else { 0 };
        self.steps = self.steps.saturating_sub(1 + kept);
        self.all_steps = self.all_steps.saturating_sub(1 + kept);
        if is_target {
            let here = seen.entry((at, state.fp)).or_default();
            state = self.visit(here, state)?;
        }
        let insn = self.module.code.get(at as usize).copied()?;
        state.at = at + 1;
        self.step(state, insn, todo, depth)
    }

    /// The state to go on with; `None` if nothing new has come.
    fn visit(&mut self, here: &mut Visited, state: AbstractState) -> Option<AbstractState> {
        if here.joined.is_none() {
            if here.states.contains(&state) {
                return None;
            }
            here.states.insert(state.clone());
            if here.states.len() <= STATES_MAX {
                return Some(state);
            }
            let mut joined = Some(state);
            for other in &here.states {
                joined = joined.and_then(|joined| joined.join(other, self.memory, false));
            }
            self.summary.unknown |= joined.is_none();
            here.states.clear();
            here.joined.clone_from(&joined);
            return joined;
        }
        let before = here.joined.take()?;
        let Some(widened) = before.join(&state, self.memory, true) else {
            self.summary.unknown = true;
            return None;
        };
        here.joined = Some(widened.clone());
        (widened != before).then_some(widened)
    }

    /// A process that this one forks is interpreted to its end; what it writes is not known here any more.
    fn fork(&mut self, state: &mut AbstractState, forked: AbstractState, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            self.summary.unknown = true;
            return;
        };
        let before = core::mem::take(&mut self.summary.writes);
        self.explore(forked, depth);
        let written = core::mem::replace(&mut self.summary.writes, before);
        // What it has in memory of its own is gone with it.
        let fresh = state.fresh;
        for (lo, hi) in written.into_iter().filter(|&(lo, _)| lo < fresh) {
            state.forget(lo, hi);
            self.summary.note_write(lo, hi);
        }
    }

    fn put(&mut self, state: &mut AbstractState, at: u32, value: Interval) {
        self.summary.note_write(at, at);
        state.put(at, value);
    }

    fn set(&mut self, state: &mut AbstractState, slot: u16, value: Interval) {
        let at = state.slot_at(slot);
        self.put(state, at, value);
    }

    /// So many bytes from one of these addresses on are written.
    fn forget(&mut self, state: &mut AbstractState, at: Interval, bytes: u32) {
        if at == Interval::TOP || bytes == 0 {
            return;
        }
        let hi = at.hi.saturating_add(bytes - 1);
        self.summary.note_write(at.lo, hi);
        state.forget(at.lo, hi);
    }

    fn forget_slots(&mut self, state: &mut AbstractState, slot: u16, count: u32) {
        let at = state.slot_at(slot);
        self.forget(state, Interval::exactly(at), 4 * count);
    }

    /// Its wait is over.
    fn resume(&mut self, state: &mut AbstractState, pending: Pending) {
        match pending {
            Pending::Lock(lock) => state.claims.push(Interval::exactly(lock)),
            Pending::Nothing => {}
            Pending::Instruction(insn) => {
                if let Effect::Receive(message) = insn.op.effect() {
                    self.receive(state, insn, message);
                }
            }
        }
    }

    fn receive(&mut self, state: &mut AbstractState, insn: Insn, message: Message) {
        match message {
            Message::Frame => self.forget_slots(state, insn.b, u32::from(insn.c).div_ceil(4)),
            Message::Memory => {
                let (to, bytes) = (state.slot(self.memory, insn.b), state.slot(self.memory, insn.c));
                self.forget(state, to, bytes.hi);
            }
        }
    }
}

#[cfg(test)]
mod tests;
