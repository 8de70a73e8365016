//! Owns: programs of random instructions, made acceptable to the verifier one complaint at a time.
//! May use: a small generator of random numbers.
//! Never: a seed of its own.

use raddle_bytecode::{Function, Insn, Module, Op, Refusal, Site, verify};

/// xorshift64*, Vigna 2016.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.roll() >> 33) % limit
    }
}

/// Any instruction; numbers small more often than not, so that they mean something.
pub(crate) fn instruction(dice: &mut Dice) -> Insn {
    let op = Op::ALL[dice.below(Op::ALL.len() as u64) as usize];
    let mut field = || if dice.below(8) == 0 { dice.roll() as u16 } else { dice.below(24) as u16 };
    let insn = Insn::new(op, field(), field(), field());
    if op.form().jumps() { insn.to(dice.below(60) as i32 - 30) } else { insn }
}

/// Some functions of random code, made acceptable one complaint at a time.
pub(crate) fn program(dice: &mut Dice) -> Module {
    let count = 1 + dice.below(3) as u32;
    let mut module = Module { pool: vec![1, u64::MAX], data: vec![7; 32], ..Module::default() };
    for number in 0..count {
        let first = module.code.len() as u32;
        // The entry has the largest frame: it can call the others.
        let slots = 32 * (count - number);
        for _ in 0..20 + dice.below(30) {
            let mut insn = instruction(dice);
            if insn.op.effect().calls() {
                let at = module.code.len() as u32;
                insn = Insn::with_imm(insn.op, insn.a, module.sites.len() as i32);
                module.sites.push(Site { callee: dice.below(count.into()) as u32, base: 32, at });
            }
            module.code.push(insn);
        }
        module.code.push(Insn::new(if dice.below(2) == 0 { Op::Ret } else { Op::End }, 0, 0, 0));
        module.functions.push(Function { name: 0, first, count: module.code.len() as u32 - first, slots });
    }
    acceptable(module)
}

pub(crate) fn acceptable(mut module: Module) -> Module {
    loop {
        let (at, with) = match verify(module.clone()) {
            Err(Refusal::Slot(at) | Refusal::Jump(at) | Refusal::Number(at) | Refusal::Window(at)) => {
                (at, Op::Nop)
            }
            Err(Refusal::Falls(at)) => (at, Op::Ret),
            _ => return module,
        };
        if module.code[at as usize].op.effect().calls() {
            module.sites.retain(|site| site.at != at);
            for (number, site) in module.sites.iter().enumerate() {
                let insn = &mut module.code[site.at as usize];
                *insn = Insn::with_imm(insn.op, insn.a, number as i32);
            }
        }
        module.code[at as usize] = Insn::new(with, 0, 0, 0);
    }
}
