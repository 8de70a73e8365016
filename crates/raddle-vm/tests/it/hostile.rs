//! Owns: tests with bytecode that no compiler would make: arbitrary bytes, arbitrary instructions, damaged programs.
//! May use: a small generator of random numbers, with fixed seeds.
//! Never: expects anything but an end: no panic, no hang, nothing outside the machine's memory (which the
//! sanitizers see).
//!
//! `RADDLE_FUZZ_ROUNDS=1000000` makes each a long run.

use crate::patience::Patience;
use crate::random::{Dice, acceptable, instruction, program};
use raddle_bytecode::build::ModuleBuilder;
use raddle_bytecode::{Module, verify};
use raddle_vm::solo;
use raddle_vm::{Machine, WorkerLocal};

/// A program may look around so often.
const LOOKS_MAX: u32 = 20;

pub(crate) fn rounds(usual: u64) -> u64 {
    std::env::var("RADDLE_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

/// Runs it if it is accepted, and counts that.
fn run(module: Module, seed: u64) -> bool {
    let Ok(verified) = verify(module) else { return false };
    let mut local = WorkerLocal::default();
    let machine: Result<Machine<()>, _> = Machine::new(verified, 1 << 16, &mut local);
    if let Ok(machine) = machine {
        match solo::run(&machine, Patience::of(LOOKS_MAX), &mut local, seed) {
            Err(solo::Failure::Deadlock) => assert!(!machine.report_deadlock().to_string().is_empty()),
            Err(solo::Failure::Fault(fault)) => assert!(!machine.report_fault(fault).to_string().is_empty()),
            Ok(_) | Err(solo::Failure::Quit) => {}
        }
    }
    true
}

#[test]
fn arbitrary_code_ends() {
    let (mut accepted, rounds) = (0, rounds(4000));
    for seed in 1..=rounds {
        let mut dice = Dice(seed);
        accepted += u64::from(run(program(&mut dice), seed % 3));
    }
    assert!(accepted > rounds / 40 * 39, "only {accepted} of {rounds} were accepted: the test tests nothing");
}

/// A program with channels, an ALT, a call and a replicated PAR.
fn honest() -> Module {
    let mut module = ModuleBuilder::new();
    let (main, replica, helper) =
        (module.declare("main"), module.declare("replica"), module.declare("helper"));
    let mut code = module.function();
    let (again, branch) = (code.label(), code.label());
    code.zero(5, 60);
    code.addr(6, 20);
    code.ldi(11, 0);
    code.ldi(12, 3);
    code.ldi(13, 1);
    code.forkn(10, replica.0 as i32);
    code.joinn(10);
    code.par(9, 1);
    code.fork(9, branch);
    code.ldi(22, 40);
    code.call(helper, 20);
    code.bind(again);
    code.alt(14);
    code.enc(6, 14);
    code.altw(14);
    code.disc(6, 14, 0);
    code.alte(14, again);
    code.input(6, 8, 4);
    code.join(9);
    code.alloc_i(26, 64);
    code.ldi(27, 16);
    code.ast_w(8, 26, 8);
    code.free(26);
    code.ret();
    code.bind(branch);
    code.ldi(7, 3);
    code.output(6, 7, 4);
    code.end();
    module.define(main, code, 32);
    let mut code = module.function();
    code.resched();
    code.time(3);
    code.wait(3);
    code.end();
    module.define(replica, code, 4);
    let mut code = module.function();
    code.mul_i(2, 2, 2);
    code.ret();
    module.define(helper, code, 3);
    module.entry(main);
    module.finish()
}

#[test]
fn damaged_files_are_refused_or_end() {
    let file = honest().write();
    assert!(run(honest(), 0));
    let mut dice = Dice(7);
    for seed in 0..rounds(6000) {
        let mut bytes = file.clone();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] = if dice.below(3) == 0 { dice.roll() as u8 } else { bytes[at] ^ (1 << dice.below(8)) };
        }
        if dice.below(10) == 0 {
            bytes.truncate(dice.below(bytes.len() as u64) as usize);
        }
        if let Ok(module) = Module::read(&bytes) {
            run(module, seed % 3);
        }
    }
}

#[test]
fn damaged_code_ends() {
    let mut dice = Dice(11);
    for seed in 0..rounds(4000) {
        let mut module = honest();
        for _ in 0..=dice.below(5) {
            let at = dice.below(module.code.len() as u64) as usize;
            if !module.code[at].op.effect().calls() {
                module.code[at] = instruction(&mut dice);
            }
        }
        run(acceptable(module), seed % 3);
    }
}

#[test]
fn arbitrary_bytes_are_no_module() {
    let mut dice = Dice(3);
    // Magic, version, numbering.
    let header = Module::default().write()[..12].to_vec();
    assert_eq!(Module::read(&header), Ok(Module::default()));
    for _ in 0..rounds(20_000) {
        let mut bytes = header.clone();
        let tags = [
            *b"HEAD", *b"STRS", *b"FUNC", *b"CODE", *b"SITE", *b"POOL", *b"DATA", *b"LINE", *b"ENDS",
            *b"WTCH",
        ];
        for _ in 0..dice.below(6) {
            bytes.extend_from_slice(&tags[dice.below(tags.len() as u64) as usize]);
            bytes.extend_from_slice(&(4 * dice.below(12) as u32).to_le_bytes());
            (0..dice.below(48)).for_each(|_| bytes.push(dice.below(40) as u8));
        }
        if let Ok(module) = Module::read(&bytes) {
            assert_eq!(Module::read(&module.write()).as_ref(), Ok(&module));
            run(module, 0);
        }
    }
}
