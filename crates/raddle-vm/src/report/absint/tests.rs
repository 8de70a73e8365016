//! Owns: the test that the abstract interpreter leaves out nothing that the machine does, instruction by instruction.
//! May use: `machine`, `memory`, `scheduler`, `solo`, `table`, `raddle-bytecode`.
//! Never: a list of instructions: it takes each of the table.
//!
//! An instruction whose row in the table names the wrong effect fails here: memory changes of which the abstract
//! interpreter says that it keeps its value.

use super::*;
use crate::solo::{self, Event, Failure, Until, World};
use crate::table::WorkerLocal;
use raddle_bytecode::{Function, Op, Site, Trap, Watched, verify};

const SLOTS: u32 = 24;
const ROUNDS: u64 = 400;
/// Where a piece of memory lies that addresses lead to: the constant data.
const DATA_BYTES: u32 = 256;

struct Nowhere;

impl World for Nowhere {
    fn now(&mut self) -> u64 {
        7
    }

    fn wait(&mut self, _: Until, _: bool) -> Event {
        Event::Quit
    }

    fn output(&mut self, _: crate::Port, _: &[u8]) {}

    fn call(&mut self, _: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        Some(words.map(|word| word ^ 1))
    }
}

/// xorshift64*, Vigna 2016.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(limit)) as u32
    }

    /// A word that may be a flag, a count, an address in the data or in the frame, or anything.
    fn word(&mut self, data: u32) -> u32 {
        match self.below(6) {
            0 => self.below(2),
            1 => self.below(12),
            2 => data + 4 * self.below(DATA_BYTES / 4),
            3 => data + self.below(DATA_BYTES),
            4 => (self.below(16) as i32 - 8) as u32,
            _ => self.below(u32::MAX),
        }
    }
}

/// The instruction, then places to stop at: in the same function and in one that can be called.
fn program(random: &mut Random, op: Op) -> Option<Module> {
    let slot = |random: &mut Random| 2 + random.below(SLOTS - 12) as u16;
    let mut insn = Insn::new(op, slot(random), slot(random), slot(random));
    if op.form().jumps() {
        insn = insn.to(random.below(4) as i32);
    } else if op.form().has_imm() {
        insn = Insn::with_imm(op, insn.a, random.below(20) as i32);
    }
    let mut module = Module {
        data: vec![0; DATA_BYTES as usize],
        pool: vec![3; 20],
        watched: vec![Watched::default(); 20],
        ..Module::default()
    };
    if op.effect().calls() {
        insn = Insn::with_imm(op, insn.a, 0);
        module.sites.push(Site { callee: 1, base: SLOTS, at: 0 });
    }
    if op.effect() == Effect::Switch {
        insn = Insn::with_imm(op, insn.a, 3);
    }
    let stops = [Insn::new(Op::Stop, 0, 0, 0); 6];
    module.code = core::iter::once(insn).chain(stops).chain(stops).collect();
    let function = |first, count, slots| Function { name: 0, first, count, slots };
    module.functions = vec![function(0, 7, 2 * SLOTS), function(7, 6, SLOTS)];
    verify(module.clone()).is_ok().then_some(module)
}

fn machine(module: &Module, words: &[u32]) -> Machine<()> {
    let verified = verify(module.clone()).expect("it was accepted before");
    let machine: Machine<()> =
        Machine::new(verified, 1 << 14, &mut WorkerLocal::default()).expect("there is room");
    let fp = machine.main().fp.get();
    for (number, &word) in words.iter().enumerate() {
        let at = match number as u32 {
            slot @ ..SLOTS => fp + 4 * slot,
            other => machine.data + 4 * (other - SLOTS),
        };
        machine.memory.store_w(at, word).expect("it is memory");
    }
    machine
}

/// All states that may follow.
fn interpreted(before: &Machine<()>) -> (Vec<AbstractState>, bool) {
    let mut interpreter = AbstractInterpreter::new(before, 1000);
    interpreter.steps = 1000;
    let from = AbstractState::new(1, before.main().fp.get(), before.memory.bytes());
    let mut states = Vec::new();
    let insn = before.program().module().code[0];
    let next = interpreter.step(from, insn, &mut states, DEPTH_MAX);
    states.extend(next);
    (states, interpreter.summary.unknown)
}

/// Words that may differ. The abstract interpreter has other addresses for fresh memory; what has been given back is
/// the heap's, where no process looks any more; the words of channels and locks are the machine's, which the abstract
/// interpreter knows by their addresses only.
fn may_differ(before: &Machine<()>, insn: Insn, at: u32) -> bool {
    let fp = before.main().fp.get();
    let own = fp + 4 * u32::from(insn.a);
    match insn.op.effect() {
        Effect::Allocate(_) | Effect::NewFrame => at == own,
        Effect::Free | Effect::JoinMany => !(fp..fp + 4 * SLOTS).contains(&at),
        Effect::Send(_)
        | Effect::Receive(_)
        | Effect::AltGuard
        | Effect::AltChannel
        | Effect::Claim
        | Effect::Unclaim => before.memory.load_w(own) == Some(at),
        _ => false,
    }
}

/// Runs one instruction both ways. Whether it went on.
fn check(random: &mut Random, op: Op) -> bool {
    let Some(module) = program(random, op) else { return false };
    let data = crate::memory::FLOOR;
    let mut words: Vec<u32> = (0..SLOTS + DATA_BYTES / 4).map(|_| random.word(data)).collect();
    (words[0], words[1]) = (0, 0);
    let (before, after) = (machine(&module, &words), machine(&module, &words));
    assert_eq!(before.data, data);
    let fault = match solo::run(&after, Nowhere, &mut WorkerLocal::default(), 0) {
        Err(Failure::Fault(fault)) if fault.trap == Trap::Stop && fault.at > 0 => fault,
        _ => return false,
    };
    let (states, unknown) = interpreted(&before);
    let (fp, insn) = (before.main().fp.get(), module.code[0]);
    let frame = (fp..fp + 4 * SLOTS).step_by(4);
    let memory: Vec<u32> = frame.chain((data..data + DATA_BYTES).step_by(4)).collect();
    let missing = |state: &AbstractState| {
        let wrong = |at: &&u32| {
            let now = after.memory.load_w(**at).expect("it is memory");
            !state.peek(&before.memory, **at).contains(now) && !may_differ(&before, insn, **at)
        };
        memory.iter().find(wrong).copied()
    };
    let there: Vec<_> = states.iter().filter(|state| state.at == fault.at).map(missing).collect();
    assert!(
        unknown || there.contains(&None),
        "{insn:?} came to {}, which no state allows: {there:?} of {states:?}",
        fault.at
    );
    true
}

#[test]
fn whatever_an_instruction_does_the_abstract_interpreter_allows() {
    for &op in Op::ALL {
        let mut random = Random(op as u64 + 1);
        let went_on = (0..ROUNDS).filter(|_| check(&mut random, op)).count();
        // These end, stop or wait with nobody else there; all others must have gone on, or nothing was tested.
        let effect = op.effect();
        let ends = matches!(effect, Effect::End | Effect::Fault | Effect::Return);
        let stays = ends || matches!(effect, Effect::AltWait | Effect::LetGo) || effect.waits().is_some();
        assert!(went_on > 0 || stays, "{op:?} never went on");
    }
}
