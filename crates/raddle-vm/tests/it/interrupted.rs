//! Owns: the test that a machine comes to look at the world again soon, whatever its bytecode does.
//! May use: `random`.
//! Never: real time. What counts is how much was done between two looks: instructions, words of memory in those on
//! blocks, bytes that are written, processes that are begun.
//!
//! `RADDLE_FUZZ_ROUNDS=1000000` makes it a long run; each round's seed is its number.

use crate::hostile::rounds;
use crate::random::{Dice, acceptable, instruction};
use raddle_bytecode::build::{Code, FunctionId, ModuleBuilder};
use raddle_bytecode::{Insn, Module, Op, verify};
use raddle_vm::solo::{self, Event, Failure, Until, World};
use raddle_vm::{Machine, Port, WorkerLocal};

/// So much may be done between two looks: a few milliseconds of work.
const STEPS_MAX: u64 = 1 << 22;
const MEMORY_BYTES: u32 = 1 << 27;
/// Of memory for what is copied; two such blocks are there, each of which takes a third more.
const BLOCK_BYTES: i32 = 24 << 20;

/// Somebody outside who wants the end when so much has been done.
struct Outsider {
    wants_end_at: u64,
    steps: u64,
    looked_at: u64,
    /// The most that was done between two looks.
    most: u64,
    ended_at: Option<u64>,
    now: u64,
}

impl Outsider {
    fn who_wants_the_end_at(steps: u64) -> Outsider {
        Outsider { wants_end_at: steps, steps: 0, looked_at: 0, most: 0, ended_at: None, now: 0 }
    }
}

impl World for &mut Outsider {
    const COUNTED: bool = true;

    fn worked(&mut self, steps: u64) {
        self.steps += steps;
        self.most = self.most.max(self.steps - self.looked_at);
    }

    fn now(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn wait(&mut self, until: Until, _: bool) -> Event {
        self.looked_at = self.steps;
        if let Until::At(time) = until {
            self.now = self.now.max(time);
            // Somebody waits for time again and again: that is no work.
            self.steps += 1;
        }
        if self.steps < self.wants_end_at {
            return if until == Until::Ever { Event::NoMoreKeys } else { Event::Nothing };
        }
        self.ended_at = Some(self.steps);
        Event::Quit
    }

    fn output(&mut self, _: Port, _: &[u8]) {}

    fn call(&mut self, _: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        Some(words)
    }
}

/// Slots of `main`: two blocks, their size, some bytes, the screen, a channel, its address, what goes over it.
const ONE: u16 = 6;
const OTHER: u16 = 7;
const ALL: u16 = 8;
const SOME: u16 = 9;
const SCREEN: u16 = 10;
const CHANNEL: u16 = 11;
const END: u16 = 12;
const SCRATCH: u16 = 14;

/// A number of up to so many bits, small ones as often as large ones.
fn upto(dice: &mut Dice, bits: u64) -> u64 {
    let bits = dice.below(bits);
    dice.below(1 << bits)
}

struct Functions {
    replica: FunctionId,
    long: FunctionId,
    deep: FunctionId,
}

fn straight(code: &mut Code, count: u64) {
    (0..count).for_each(|_| code.plus_i(SCRATCH, SCRATCH, 1));
}

/// Something that takes long, or does much for one instruction.
fn deed(code: &mut Code, dice: &mut Dice, functions: &Functions) {
    match dice.below(18) {
        kind @ 0..=5 => block_deed(code, dice, kind),
        kind => other_deed(code, dice, functions, kind),
    }
}

/// An instruction on many bytes.
fn block_deed(code: &mut Code, dice: &mut Dice, kind: u64) {
    let size = if dice.below(2) == 0 { ALL } else { SOME };
    match kind {
        0 => code.copy(ONE, OTHER, size),
        // They overlap, either way.
        1 => code.copy(ONE, ONE, size),
        2 => {
            code.plus_i(SCRATCH, ONE, 8);
            code.copy(SCRATCH, ONE, SOME);
            code.copy(ONE, SCRATCH, SOME);
        }
        3 => code.fill(ONE, size, SCRATCH),
        4 => {
            code.mov(SCRATCH, size);
            code.cmp(SCRATCH, ONE, OTHER);
        }
        _ => code.output_m(SCREEN, ONE, SOME),
    }
}

fn other_deed(code: &mut Code, dice: &mut Dice, functions: &Functions, kind: u64) {
    match kind {
        6 => {
            code.ldi(21, 0);
            code.ldi(22, dice.below(3000) as i32);
            code.ldi(23, 1);
            code.forkn(20, functions.replica.0 as i32);
            code.joinn(20);
        }
        7 => straight(code, dice.below(40)),
        8 => code.call(functions.long, 40),
        9 => {
            code.ldi(42, dice.below(200) as i32);
            code.call(functions.deep, 40);
        }
        10 => {
            code.push(Insn::new(Op::RemD, 30, 32, 34));
            code.push(Insn::with_imm(Op::Long, 30, dice.below(28) as i32));
        }
        11 => {
            code.alloc_i(SCRATCH, 1 << dice.below(20));
            code.free(SCRATCH);
        }
        12 => {
            let branch = code.label();
            code.par(15, 1);
            code.fork(15, branch);
            code.output_m(END, ONE, SOME);
            code.join(15);
            let over = code.label();
            code.jump(over);
            code.bind(branch);
            code.input_m(END, OTHER, SOME);
            code.end();
            code.bind(over);
        }
        13 => {
            let again = code.label();
            code.ldi(24, 0);
            code.ldi(25, dice.below(100_000) as i32);
            code.bind(again);
            straight(code, dice.below(30));
            code.repeat(24, 25, again);
        }
        14 => {
            code.time(SCRATCH);
            code.wait(SCRATCH);
        }
        15 => code.resched(),
        16 => {
            code.push(Insn::with_imm(Op::Host, 30, 7));
            code.push(Insn::new(Op::FnD, 30, 32, dice.below(17) as u16));
        }
        _ => {
            let insn = instruction(dice);
            if !insn.op.effect().calls() && !insn.op.form().jumps() {
                code.push(insn);
            }
        }
    }
}

/// A program that never ends, unless by a run-time error.
fn endless(dice: &mut Dice) -> Module {
    let mut module = ModuleBuilder::new();
    let main = module.declare("main");
    let functions = Functions {
        replica: module.declare("replica"),
        long: module.declare("long"),
        deep: module.declare("deep"),
    };
    let mut code = module.function();
    code.zero(CHANNEL, 4);
    code.addr(END, i32::from(CHANNEL) * 4);
    code.alloc_i(ONE, BLOCK_BYTES);
    code.alloc_i(OTHER, BLOCK_BYTES);
    code.ldi(ALL, BLOCK_BYTES);
    code.ldi(SOME, upto(dice, 22) as i32);
    code.ldi(SCREEN, 20);
    let again = code.label();
    code.bind(again);
    (0..=dice.below(6)).for_each(|_| deed(&mut code, dice, &functions));
    code.jump(again);
    module.define(main, code, 64);
    let mut code = module.function();
    let again = code.label();
    code.ldi(6, dice.below(1000) as i32);
    code.bind(again);
    code.resched();
    code.repeat(5, 6, again);
    code.end();
    module.define(functions.replica, code, 8);
    let mut code = module.function();
    straight(&mut code, upto(dice, 16));
    code.ret();
    module.define(functions.long, code, 16);
    let mut code = module.function();
    let leaf = code.label();
    code.jeq_i(2, 0, leaf);
    code.add_i(2, 2, -1);
    code.frame(4, functions.deep.0 as i32);
    code.mov(5, 2);
    code.str_w(5, 4, 8);
    code.calld(4, functions.deep);
    code.bind(leaf);
    code.ret();
    module.define(functions.deep, code, 16);
    module.entry(main);
    acceptable(module.finish())
}

/// Runs it until somebody wants it to end; whether it came to that.
fn is_interrupted_in_time(module: Module, wants_end_at: u64, seed: u64) -> bool {
    let verified = verify(module).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut local = WorkerLocal::default();
    let machine: Machine<()> = Machine::new(verified, MEMORY_BYTES, &mut local).expect("there is memory");
    let mut outsider = Outsider::who_wants_the_end_at(wants_end_at);
    let ended = solo::run(&machine, &mut outsider, &mut local, seed);
    let Outsider { steps, most, ended_at, .. } = outsider;
    assert!(most <= STEPS_MAX + u64::from(machine.longest_function()), "{most} steps without a look");
    if ended == Err(Failure::Quit) {
        assert_eq!(ended_at, Some(steps), "something was done after the end");
    }
    ended == Err(Failure::Quit)
}

#[test]
fn whoever_wants_the_end_gets_it_soon_whatever_the_bytecode_does() {
    let (mut interrupted, rounds) = (0, rounds(250));
    for seed in 1..=rounds {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let module = endless(&mut dice);
        let wants_end_at = upto(&mut dice, 22);
        let end = std::panic::catch_unwind(|| is_interrupted_in_time(module, wants_end_at, seed % 3));
        interrupted += u64::from(end.unwrap_or_else(|_| panic!("round {seed}")));
    }
    assert!(interrupted * 2 > rounds, "{interrupted} of {rounds} were interrupted: the test tests little");
}

/// Each of these once went on for seconds.
#[test]
fn one_instruction_does_not_keep_it_from_looking() {
    let on_blocks: [fn(&mut Code); 4] = [
        |code| code.copy(ONE, OTHER, ALL),
        |code| code.fill(ONE, ALL, SCRATCH),
        |code| {
            code.mov(SCRATCH, ALL);
            code.cmp(SCRATCH, ONE, OTHER);
        },
        |code| code.output_m(SCREEN, ONE, ALL),
    ];
    for deed in on_blocks {
        for behind in [0, 20_000] {
            let mut module = ModuleBuilder::new();
            let main = module.declare("main");
            let mut code = module.function();
            code.alloc_i(ONE, BLOCK_BYTES);
            code.alloc_i(OTHER, BLOCK_BYTES);
            code.ldi(ALL, BLOCK_BYTES);
            code.ldi(SCREEN, 20);
            let again = code.label();
            code.bind(again);
            (0..8).for_each(|_| deed(&mut code));
            straight(&mut code, behind);
            code.jump(again);
            module.define(main, code, 64);
            module.entry(main);
            assert!(is_interrupted_in_time(module.finish(), 1000, 0));
        }
    }
}
