//! Bytecode that no compiler would make: arbitrary instructions, and programs of the corpus with damage. Compiled code
//! does with it what the interpreter does, and stays in the machine's memory.
//!
//! `RADDLE_FUZZ_ROUNDS=1000000` makes each a long run, `RADDLE_FUZZ_FROM=5000` begins there.

use crate::random::{Dice, acceptable, instruction, program};
use crate::support::{Paper, module, programs, same, verified};
use raddle_bytecode::{Function, Insn, Module, Op, verify};
use std::ops::Range;

pub(crate) fn rounds(usual: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let from = number("RADDLE_FUZZ_FROM").unwrap_or(1);
    from..from + number("RADDLE_FUZZ_ROUNDS").unwrap_or(usual)
}

#[test]
fn arbitrary_code_does_the_same() {
    for round in rounds(2000) {
        let program = verified(program(&mut Dice(round)));
        same(&program, || Paper::new("abc", 20), (1 << 16, round % 3), &format!("round {round}"));
    }
}

/// Bytes that begin before a frame may end in it, in a slot that a register holds.
#[test]
fn a_store_from_before_the_frame_into_it_is_seen() {
    for before in -8..=0_i16 {
        let code = vec![
            Insn::with_imm(Op::Addr, 4, 4),
            Insn::new(Op::AddI, 4, 4, (before - 4) as u16),
            Insn::with_imm(Op::Pool, 6, 0),
            Insn::with_imm(Op::Ldi, 1, 5),
            Insn::new(Op::StrL, 6, 4, 0),
            Insn::new(Op::Mov, 3, 1, 0),
            Insn::new(Op::StrW, 1, 4, 0),
            Insn::new(Op::JeqI, 3, 5, 0).to(1),
            Insn::new(Op::Stop, 0, 0, 0),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let function = Function { name: 0, first: 0, count: code.len() as u32, slots: 16 };
        let pool = vec![0x7777_0000_0000_0000 >> (8 * (6 + before).clamp(0, 3))];
        let program = verified(Module { code, functions: vec![function], pool, ..Module::default() });
        same(&program, || Paper::new("", 5), (1 << 16, 1), &format!("{before} bytes before the frame"));
    }
}

/// Whoever ends in a block of forks, whose opener's number lies in the program's memory.
#[test]
fn an_opener_that_there_is_not_is_refused_alike() {
    for opener in [-1_i32, -1024, -1023, -512, i32::MIN, 1 << 28, 5000, 1024, 7, 1] {
        let code = vec![
            Insn::with_imm(Op::Ldi, 6, 0),
            Insn::with_imm(Op::Ldi, 7, opener),
            Insn::with_imm(Op::Addr, 3, 24),
            Insn::with_imm(Op::Addr, 2, 80),
            Insn::with_imm(Op::Spawn, 2, 1),
            Insn::new(Op::Resched, 0, 0, 0),
            Insn::new(Op::End, 0, 0, 0),
            Insn::new(Op::End, 0, 0, 0),
        ];
        let main = Function { name: 0, first: 0, count: 7, slots: 64 };
        let child = Function { name: 0, first: 7, count: 1, slots: 8 };
        let program = verified(Module { code, functions: vec![main, child], ..Module::default() });
        for seed in [0, 1] {
            same(&program, || Paper::new("", 5), (1 << 16, seed), &format!("opener {opener}"));
        }
    }
}

/// What is sent is the channel's own word.
#[test]
fn a_channel_that_is_the_message_is_sent_alike() {
    let code = vec![
        Insn::with_imm(Op::Addr, 4, 40),
        Insn::with_imm(Op::Ldi, 10, 0),
        Insn::with_imm(Op::Par, 2, 1),
        Insn::new(Op::Fork, 2, 0, 0).to(6),
        Insn::new(Op::Resched, 0, 0, 0),
        Insn::new(Op::Out, 4, 10, 4),
        Insn::new(Op::Join, 2, 0, 0),
        Insn::new(Op::JeqI, 12, 0, 0).to(1),
        Insn::new(Op::Stop, 0, 0, 0),
        Insn::new(Op::End, 0, 0, 0),
        Insn::new(Op::In, 4, 12, 4),
        Insn::new(Op::End, 0, 0, 0),
    ];
    let main = Function { name: 0, first: 0, count: 12, slots: 64 };
    let program = verified(Module { code, functions: vec![main], ..Module::default() });
    same(&program, || Paper::new("", 5), (1 << 16, 0), "a channel as its message");
}

/// Damages an instruction, or a field of one.
fn falsify(module: &mut Module, dice: &mut Dice) {
    let at = dice.below(module.code.len() as u64) as usize;
    let near = |value: u16, dice: &mut Dice| value.wrapping_add(dice.below(5) as u16).wrapping_sub(2);
    match dice.below(6) {
        0 if !module.code[at].op.effect().calls() => module.code[at] = instruction(dice),
        1 => module.code[at].a = near(module.code[at].a, dice),
        2 => module.code[at].b = near(module.code[at].b, dice),
        3 => module.code[at].c = near(module.code[at].c, dice),
        4 => {
            let other = dice.below(module.code.len() as u64) as usize;
            module.code.swap(at, other);
        }
        _ => module.code[at].op = Op::ALL[dice.below(Op::ALL.len() as u64) as usize],
    }
}

#[test]
fn damaged_programs_do_the_same() {
    let corpus: Vec<Module> = programs("run").iter().filter_map(|path| module(path)).collect();
    let small: Vec<&Module> = corpus.iter().filter(|module| module.code.len() < 2500).collect();
    assert!(small.len() > 10, "{}", small.len());
    let (mut accepted, mut all) = (0, 0);
    for round in rounds(500) {
        let mut dice = Dice(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut damaged = small[dice.below(small.len() as u64) as usize].clone();
        for _ in 0..=dice.below(4) {
            falsify(&mut damaged, &mut dice);
        }
        all += 1;
        if damaged.sites.iter().any(|site| site.callee >= damaged.functions.len() as u32) {
            continue;
        }
        // A call whose site is another's, or a site without its call, is refused for good.
        let Ok(program) = verify(acceptable(damaged)) else { continue };
        accepted += 1;
        same(&program, || Paper::new("abc", 6), (1 << 18, round % 3), &format!("round {round}"));
    }
    assert!(2 * accepted > all, "{accepted} of {all}: the test tests little");
}
