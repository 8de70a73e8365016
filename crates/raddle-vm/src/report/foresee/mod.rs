//! Owns: which ends of channels a process may still use, and which locks it has to give back.
//! May use: the program's code; memory, while nothing runs.
//! Never: a claim that is not certain: what it leaves out, the process cannot do.
//!
//! For the report of a deadlock: whoever waits at a channel waits for one of those who may still use the other end. So
//! each process is followed from where it stands through all ways that its code can take, with the values that its
//! frame holds: `c[(i + 1) \ 5]` is one channel for one instance. A word is an interval of numbers (`Value`); what it
//! gets by a message is not known, and a subscript is, after its check, within its array. Where too many states come
//! to one place they become one, which holds all of them, and at the next occasion what differs is given up.
//!
//! A frame, or memory from the heap, that the process will take lies behind the machine's memory. Whoever it will
//! fork is followed as a part of it; what that one writes the process does not know afterwards. An address that is not
//! known at all is one of a MOBILE's, which came in a message: it is taken to lie in no frame.
//!
//! A process whose steps become too many, or that uses a channel of which nothing is known, may use all ends
//! (`Future::unknown`).

mod state;
mod step;
mod value;

use crate::machine::Machine;
use crate::memory::Memory;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use raddle_bytecode::{Insn, Module, Op};
use state::State;
pub(super) use value::Value;

/// So many states of one place are told apart.
const STATES_MAX: usize = 48;
/// So many processes are followed into PARs of PARs.
const DEPTH_MAX: u32 = 12;
/// So many steps are gone for one process.
const STEPS_MAX: u32 = 50_000;
/// More addresses that are written than this are not told apart.
const WRITES_MAX: usize = 2048;

/// What a process waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waits {
    /// The end of what this instruction does.
    For(Insn),
    /// A lock.
    ForLock(u32),
}

/// What a process may still do.
#[derive(Default, Debug)]
pub(super) struct Future {
    /// Ends that it may use: channels, and whether to output.
    pub(super) ends: BTreeSet<(Value, bool)>,
    /// Locks that it has and will give back.
    releases: BTreeSet<Value>,
    /// Guards of ALTs, by channel.
    pub(super) guards: BTreeSet<u32>,
    /// What it may write, from where to where.
    pub(super) writes: BTreeSet<(u32, u32)>,
    /// It may do anything.
    pub(super) unknown: bool,
}

impl Future {
    /// Whether it has that lock.
    pub(super) fn has(&self, lock: u32) -> bool {
        self.releases.iter().any(|value| value.holds(lock))
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

/// What came to one place.
#[derive(Default)]
struct Seen {
    states: BTreeSet<State>,
    all: Option<State>,
}

/// Follows processes.
pub(super) struct Seer<'m> {
    module: &'m Module,
    memory: &'m Memory,
    data: u32,
    /// Which instructions can be jumped to.
    targets: Vec<bool>,
    /// Steps left, for all processes together and for the one that is followed.
    all_steps: u32,
    steps: u32,
    future: Future,
}

impl<'m> Seer<'m> {
    /// It goes so many steps at most.
    pub(super) fn new<L: Default>(machine: &'m Machine<L>, steps: u32) -> Seer<'m> {
        let module = machine.program().module();
        let mut targets = vec![false; module.code.len()];
        for (at, insn) in module.code.iter().enumerate().filter(|(_, insn)| insn.op.form().jumps()) {
            if let Some(target) = targets.get_mut((at + 1).wrapping_add_signed(insn.distance() as isize)) {
                *target = true;
            }
        }
        let future = Future::default();
        Seer {
            module,
            memory: &machine.memory,
            data: machine.data,
            targets,
            all_steps: steps,
            steps: 0,
            future,
        }
    }

    /// What the process does that goes on there, in that frame, when its wait is over. The stretches of memory in
    /// `written` are others' till then.
    pub(super) fn follow(
        &mut self,
        at: u32,
        fp: u32,
        waits: Waits,
        written: &BTreeSet<(u32, u32)>,
    ) -> Future {
        self.future = Future::default();
        self.steps = STEPS_MAX;
        let mut from = State::new(at, fp, self.memory.bytes());
        for &(lo, hi) in written {
            from.forget(lo, hi);
            self.future.note_write(lo, hi);
        }
        self.resume(&mut from, waits);
        self.explore(from, DEPTH_MAX);
        core::mem::take(&mut self.future)
    }

    fn explore(&mut self, from: State, depth: u32) {
        let mut seen: BTreeMap<(u32, u32), Seen> = BTreeMap::new();
        let mut todo = vec![from];
        while let Some(state) = todo.pop() {
            let mut now = Some(state);
            while let Some(state) = now {
                if self.future.unknown {
                    return;
                }
                now = self.advance(state, &mut seen, &mut todo, depth);
            }
        }
    }

    /// One step; the other ways that it can take go to `todo`.
    fn advance(
        &mut self,
        state: State,
        seen: &mut BTreeMap<(u32, u32), Seen>,
        todo: &mut Vec<State>,
        depth: u32,
    ) -> Option<State> {
        if self.steps == 0 || self.all_steps == 0 {
            self.future.unknown = true;
            return None;
        }
        self.steps -= 1;
        self.all_steps -= 1;
        let (at, mut state) = (state.at, state);
        if self.targets.get(at as usize).copied().unwrap_or(false) {
            let here = seen.entry((at, state.fp)).or_default();
            state = self.visit(here, state)?;
        }
        let insn = self.module.code.get(at as usize).copied()?;
        state.at = at + 1;
        self.step(state, insn, todo, depth)
    }

    /// The state to go on with; `None` if nothing new has come.
    fn visit(&mut self, here: &mut Seen, state: State) -> Option<State> {
        if here.all.is_none() {
            if here.states.contains(&state) {
                return None;
            }
            here.states.insert(state.clone());
            if here.states.len() <= STATES_MAX {
                return Some(state);
            }
            let mut all = Some(state);
            for other in &here.states {
                all = all.and_then(|all| all.or(other, self.memory, false));
            }
            self.future.unknown |= all.is_none();
            here.states.clear();
            here.all.clone_from(&all);
            return all;
        }
        let before = here.all.take()?;
        let Some(wide) = before.or(&state, self.memory, true) else {
            self.future.unknown = true;
            return None;
        };
        here.all = Some(wide.clone());
        (wide != before).then_some(wide)
    }

    /// A process that this one forks is followed to its end; what it writes is not known here any more.
    fn fork(&mut self, state: &mut State, forked: State, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            self.future.unknown = true;
            return;
        };
        let before = core::mem::take(&mut self.future.writes);
        self.explore(forked, depth);
        let written = core::mem::replace(&mut self.future.writes, before);
        // What it has in memory of its own is gone with it.
        let fresh = state.fresh;
        for (lo, hi) in written.into_iter().filter(|&(lo, _)| lo < fresh) {
            state.forget(lo, hi);
            self.future.note_write(lo, hi);
        }
    }

    fn put(&mut self, state: &mut State, at: u32, value: Value) {
        self.future.note_write(at, at);
        state.put(at, value);
    }

    fn set(&mut self, state: &mut State, slot: u16, value: Value) {
        let at = state.slot_at(slot);
        self.put(state, at, value);
    }

    /// So many bytes from one of these addresses on are written.
    fn forget(&mut self, state: &mut State, at: Value, bytes: u32) {
        if at == Value::ANY || bytes == 0 {
            return;
        }
        let hi = at.hi.saturating_add(bytes - 1);
        self.future.note_write(at.lo, hi);
        state.forget(at.lo, hi);
    }

    fn forget_slots(&mut self, state: &mut State, slot: u16, count: u32) {
        let at = state.slot_at(slot);
        self.forget(state, Value::is(at), 4 * count);
    }

    /// Its wait is over.
    fn resume(&mut self, state: &mut State, waits: Waits) {
        match waits {
            Waits::For(insn) if insn.op == Op::In => {
                self.forget_slots(state, insn.b, u32::from(insn.c).div_ceil(4));
            }
            Waits::For(insn) if insn.op == Op::InM => self.receive(state, insn),
            Waits::For(_) => {}
            Waits::ForLock(lock) => state.claims.push(Value::is(lock)),
        }
    }

    fn receive(&mut self, state: &mut State, insn: Insn) {
        let (to, bytes) = (state.slot(self.memory, insn.b), state.slot(self.memory, insn.c));
        self.forget(state, to, bytes.hi);
    }
}
