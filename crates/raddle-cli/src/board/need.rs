//! Owns: how much memory a program takes at most, and for what: worked out from its bytecode, before it runs.
//! May use: `raddle-bytecode`, `raddle-host`.
//! Never: a guess: what is not known before the run is said to be so.
//!
//! A function's frame lies within its caller's, so only a replicated PAR, an array that is not in a frame, and what the
//! program allocates itself take blocks. Blocks of one size are used again and never joined: so what counts is how many
//! of each size are out at once, one after the other the most of them, side by side their sum. What stands between a
//! PAR's first fork and its join is side by side.

use super::count::{Args, Looked};
use raddle_bytecode::effect::{Effect, Operand};
use raddle_bytecode::{Insn, Module, Op};
use raddle_host::block_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What is needed at once.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Need {
    /// How many blocks of each size.
    blocks: BTreeMap<u64, u64>,
    /// By the instruction that takes them, so many bytes.
    pub(super) takers: BTreeMap<u32, u64>,
    /// Processes beside the one that runs.
    pub(super) processes: u64,
    /// The bytes of channels, which are in frames or blocks.
    pub(super) channels: u64,
}

impl Need {
    /// One of the two.
    fn or(&mut self, other: &Need) {
        let most = |into: &mut BTreeMap<u64, u64>, from: &BTreeMap<u64, u64>| {
            for (&size, &count) in from {
                let mine = into.entry(size).or_default();
                *mine = count.max(*mine);
            }
        };
        most(&mut self.blocks, &other.blocks);
        for (&at, &bytes) in &other.takers {
            let mine = self.takers.entry(at).or_default();
            *mine = bytes.max(*mine);
        }
        self.processes = self.processes.max(other.processes);
        self.channels = self.channels.max(other.channels);
    }

    /// Both, the other one so many times.
    fn and(&mut self, other: &Need, times: u64) {
        for (&size, &count) in &other.blocks {
            let mine = self.blocks.entry(size).or_default();
            *mine = mine.saturating_add(count.saturating_mul(times));
        }
        for (&at, &bytes) in &other.takers {
            let mine = self.takers.entry(at).or_default();
            *mine = mine.saturating_add(bytes.saturating_mul(times));
        }
        self.processes = self.processes.saturating_add(other.processes.saturating_mul(times));
        self.channels = self.channels.saturating_add(other.channels.saturating_mul(times));
    }

    fn block(at: u32, bytes: u64) -> Need {
        let size = block_bytes(bytes.min(1 << 31));
        let (blocks, takers) = (BTreeMap::from([(size, 1)]), BTreeMap::from([(at, size)]));
        Need { blocks, takers, ..Need::default() }
    }

    /// The bytes of all blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, (size, count)| sum.saturating_add(size.saturating_mul(*count)))
    }
}

/// What cannot be known before the run, and the instruction that it is about.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Unknown {
    pub(super) at: u32,
    pub(super) what: &'static str,
}

/// What the program needs, beside the frame of its first function.
pub(super) fn of(module: &Module) -> Result<Need, Unknown> {
    let needs = Needs { module, known: BTreeMap::new().into(), within: BTreeSet::new().into() };
    needs.function(module.entry, &Args::default())
}

struct Needs<'m> {
    module: &'m Module,
    known: std::cell::RefCell<BTreeMap<(u32, Args), Need>>,
    /// The functions that are being looked at.
    within: std::cell::RefCell<BTreeSet<u32>>,
}

/// A PAR while it is looked at: what it has forked, and what happens beside that.
#[derive(Default)]
struct Level {
    own: Need,
    forked: Need,
}

impl Needs<'_> {
    fn function(&self, number: u32, args: &Args) -> Result<Need, Unknown> {
        let key = (number, args.clone());
        if let Some(need) = self.known.borrow().get(&key) {
            return Ok(need.clone());
        }
        let function = &self.module.functions[number as usize];
        if !self.within.borrow_mut().insert(number) {
            return Err(Unknown { at: function.first, what: "how deep it calls itself" });
        }
        let need = self.branch(number, function.first, args);
        self.within.borrow_mut().remove(&number);
        let mut need = need?;
        need.channels = need.channels.saturating_add(self.channels(number));
        self.known.borrow_mut().insert(key, need.clone());
        Ok(need)
    }

    /// What a process needs that begins there.
    fn branch(&self, function: u32, entry: u32, args: &Args) -> Result<Need, Unknown> {
        let mut levels = vec![Level::default()];
        for at in self.reached(function, entry) {
            let insn = self.module.code[at as usize];
            let nested = levels.len() > 1;
            let top = levels.last_mut().expect("one is never taken");
            match insn.op.effect() {
                Effect::Fork => {
                    let child = self.branch(function, target(at, insn), args)?;
                    top.forked.and(&child, 1);
                    top.forked.processes += 1;
                }
                Effect::ForkMany => {
                    levels.push(Level { forked: self.many(function, at, insn, args)?, ..Level::default() });
                }
                _ if insn.op == Op::Par => levels.push(Level::default()),
                Effect::Join | Effect::JoinMany if nested => {
                    let Level { mut own, forked } = levels.pop().expect("there is more than one");
                    own.and(&forked, 1);
                    levels.last_mut().expect("one is never taken").own.or(&own);
                }
                effect => self.step(function, at, effect, args, &mut top.own)?,
            }
        }
        let mut need = Need::default();
        levels.iter().for_each(|level| {
            need.and(&level.own, 1);
            need.and(&level.forked, 1);
        });
        Ok(need)
    }

    /// What any other instruction needs.
    fn step(
        &self,
        function: u32,
        at: u32,
        effect: Effect,
        args: &Args,
        own: &mut Need,
    ) -> Result<(), Unknown> {
        let insn = self.module.code[at as usize];
        let count = Looked { module: self.module, function };
        let unknown = |what| Err(Unknown { at, what });
        match effect {
            Effect::Call => {
                let site = self.module.sites[insn.imm() as usize];
                let callee = count.args_at(at, site.base, site.callee, args);
                own.or(&self.function(site.callee, &callee)?);
            }
            Effect::Allocate(operand) => {
                let bytes = match operand {
                    Operand::Imm => Some(insn.imm()),
                    _ => count.value(at, insn.b, args),
                };
                let Some(bytes) = bytes.and_then(|it| u64::try_from(it).ok()) else {
                    return unknown("how large this array is");
                };
                if !count.is_freed_here(insn.a) {
                    return unknown("how many of what is MOBILE there are at once");
                }
                own.and(&Need::block(at, bytes), 1);
            }
            Effect::CallAt | Effect::NewFrame => return unknown("how deep it calls itself"),
            Effect::Spawn => return unknown("how many processes are forked"),
            _ => {}
        }
        Ok(())
    }

    /// The processes of a replicated PAR, with all that they need.
    fn many(&self, function: u32, at: u32, insn: Insn, args: &Args) -> Result<Need, Unknown> {
        let count = Looked { module: self.module, function };
        let times = count.value(at, insn.a + 2, args).and_then(|it| u64::try_from(it).ok());
        let Some(times) = times else {
            return Err(Unknown { at, what: "how many processes this PAR has" });
        };
        let forked = insn.imm() as u32;
        let each = self.function(forked, &count.linked(at, forked, args))?;
        let frame = u64::from(self.module.functions[forked as usize].slots) * 4;
        let mut need =
            if times == 0 { Need::default() } else { Need::block(at, frame.saturating_mul(times)) };
        need.and(&each, times);
        need.processes = need.processes.saturating_add(times);
        Ok(need)
    }

    /// What a process reaches that begins there, in the order in which it lies.
    fn reached(&self, function: u32, entry: u32) -> BTreeSet<u32> {
        let function = &self.module.functions[function as usize];
        let (mut reached, mut next) = (BTreeSet::new(), vec![entry]);
        while let Some(at) = next.pop() {
            if at < function.first || at >= function.first + function.count || !reached.insert(at) {
                continue;
            }
            let insn = self.module.code[at as usize];
            let effect = insn.op.effect();
            if insn.op.form().jumps() && effect != Effect::Fork {
                next.push(target(at, insn));
            }
            if effect == Effect::Switch {
                next.extend((1..=insn.imm() as u32).map(|further| at + 1 + further));
            }
            if effect.falls_through() {
                next.push(at + 1);
            }
        }
        reached
    }

    /// The bytes of the channels that a function has: those whose addresses it puts where somebody uses an end.
    fn channels(&self, number: u32) -> u64 {
        let function = &self.module.functions[number as usize];
        let within = function.first..function.first + function.count;
        let ends: BTreeSet<u16> =
            self.module.ends.iter().filter(|end| within.contains(&end.from)).map(|end| end.slot).collect();
        let code = &self.module.code[within.start as usize..within.end as usize];
        let addresses = code.iter().filter(|insn| insn.op == Op::Addr && ends.contains(&insn.a));
        let places: BTreeSet<i32> = addresses.map(|insn| insn.imm() / 4).collect();
        let cleared = |place: &i32| {
            let zero = |insn: &&Insn| insn.op == Op::Zero && i32::from(insn.a) == *place;
            code.iter().find(zero).map_or(4, |insn| insn.imm().max(0) as u64)
        };
        places.iter().map(cleared).sum()
    }
}

fn target(at: u32, insn: Insn) -> u32 {
    (at + 1).wrapping_add_signed(insn.distance())
}
