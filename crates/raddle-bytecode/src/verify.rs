//! Owns: `Verified`, the proof that a module cannot lead the machine outside its own memory.
//! May use: `facts`, `insn`, `module`, `names`.
//! Never: changes a module.
//!
//! One pass over the code, no state: what is proved is a property of each instruction alone. `FORMAT.md` says what that
//! is, and what the machine checks while it runs.

use crate::facts::Course;
use crate::insn::{Insn, Op};
use crate::module::{FOREIGN, Function, Module};
use crate::names::{Long, Real, Trap};
use core::fmt;

/// The most slots that a frame can have.
pub const SLOTS_MAX: u32 = 1 << 16;

/// Why a module is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The functions do not lie one behind the other, or one is empty or too large.
    Functions(u32),
    /// The entry does not exist.
    Entry,
    /// A call site does not belong to a call.
    Site(u32),
    /// The code, the data or a table is too large.
    Size,
    /// An instruction touches a slot outside the frame.
    Slot(u32),
    /// A jump leaves the function.
    Jump(u32),
    /// The last instruction of a function can be passed.
    Falls(u32),
    /// An instruction names something that does not exist.
    Number(u32),
    /// A callee's frame does not fit into its caller's.
    Window(u32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Functions(number) => write!(f, "function {number} has no place of its own in the code"),
            Refusal::Entry => f.write_str("the entry function does not exist"),
            Refusal::Site(number) => write!(f, "call site {number} belongs to no call"),
            Refusal::Size => f.write_str("the module is too large"),
            Refusal::Slot(at) => write!(f, "instruction {at} touches a slot outside its function's frame"),
            Refusal::Jump(at) => write!(f, "instruction {at} jumps out of its function"),
            Refusal::Falls(at) => write!(f, "after instruction {at} its function has no end"),
            Refusal::Number(at) => write!(f, "instruction {at} names something that does not exist"),
            Refusal::Window(at) => write!(f, "the frame of what instruction {at} calls does not fit"),
        }
    }
}

impl core::error::Error for Refusal {}

/// A module that the machine may run. Only [`verify`] makes one.
#[derive(Clone, Debug)]
pub struct Verified(Module);

impl Verified {
    /// The module.
    pub fn module(&self) -> &Module {
        &self.0
    }
}

/// Checks a module.
///
/// # Errors
/// The first thing that is wrong with it.
///
/// ```
/// use raddle_bytecode::{Module, verify::{Refusal, verify}};
/// assert_eq!(verify(Module::default()).unwrap_err(), Refusal::Entry);
/// ```
pub fn verify(module: Module) -> Result<Verified, Refusal> {
    let small = |len: usize| len < 1 << 28;
    if ![module.code.len(), module.data.len(), module.sites.len()].into_iter().all(small) {
        return Err(Refusal::Size);
    }
    if module.entry as usize >= module.functions.len() {
        return Err(Refusal::Entry);
    }
    check_layout(&module)?;
    for (number, site) in module.sites.iter().enumerate() {
        let insn = module.code.get(site.at as usize).ok_or(Refusal::Site(number as u32))?;
        let calls = insn.op.course().calls() && insn.imm() == number as i32;
        if !calls || site.callee as usize >= module.functions.len() {
            return Err(Refusal::Site(number as u32));
        }
    }
    for function in &module.functions {
        check_function(&module, function)?;
    }
    Ok(Verified(module))
}

fn check_layout(module: &Module) -> Result<(), Refusal> {
    let mut next = 0_u32;
    for (number, function) in module.functions.iter().enumerate() {
        let fits = function.count <= module.code.len() as u32 && (2..=SLOTS_MAX).contains(&function.slots);
        if function.first != next || function.count == 0 || !fits {
            return Err(Refusal::Functions(number as u32));
        }
        next = next.checked_add(function.count).ok_or(Refusal::Functions(number as u32))?;
    }
    if next as usize == module.code.len() {
        Ok(())
    } else {
        Err(Refusal::Functions(module.functions.len() as u32))
    }
}

fn check_function(module: &Module, function: &Function) -> Result<(), Refusal> {
    let behind = function.first + function.count;
    for at in function.first..behind {
        let insn = module.code[at as usize];
        check_slots(function, insn, at)?;
        check_numbers(module, function, insn, at)?;
        if insn.op.facts().jumps() {
            let to = i64::from(at) + 1 + i64::from(insn.distance());
            if to < i64::from(function.first) || to >= i64::from(behind) {
                return Err(Refusal::Jump(at));
            }
        }
    }
    let last = module.code[behind as usize - 1].op.course();
    if last == Course::Elsewhere { Ok(()) } else { Err(Refusal::Falls(behind - 1)) }
}

fn check_slots(function: &Function, insn: Insn, at: u32) -> Result<(), Refusal> {
    let [a, b, c] = insn.op.facts().slots();
    let within = |first: u16, count: u16| count == 0 || u32::from(first) + u32::from(count) <= function.slots;
    // A run of bytes that begins at a slot.
    let (first, bytes) = match insn.op.course() {
        Course::Clear => (insn.a, i64::from(insn.imm())),
        Course::WaitsInFrame(_) => (insn.b, i64::from(insn.c)),
        _ => (0, 0),
    };
    let run = bytes >= 0 && i64::from(first) * 4 + bytes <= i64::from(function.slots) * 4;
    if within(insn.a, a) && within(insn.b, b) && within(insn.c, c) && run {
        Ok(())
    } else {
        Err(Refusal::Slot(at))
    }
}

fn check_numbers(module: &Module, function: &Function, insn: Insn, at: u32) -> Result<(), Refusal> {
    let imm = insn.imm();
    let index = usize::try_from(imm).unwrap_or(usize::MAX);
    let exists = match insn.op {
        Op::Pool => index < module.pool.len(),
        Op::Frame | Op::Spawn => index < module.functions.len(),
        Op::ForkN => module.functions.get(index).is_some_and(|function| function.slots >= 3),
        Op::FnF | Op::FnD => Real::from_number(i32::from(insn.c)).is_some(),
        Op::Long => Long::from_number(imm).is_some(),
        Op::Trap => Trap::from_number(imm).is_some(),
        Op::Host => imm < FOREIGN || module.foreign_call(imm).is_some(),
        Op::Watch => index < module.watched.len(),
        Op::Par => (0..=0xffff).contains(&imm),
        Op::Switch => (0..=i64::from(function.count)).contains(&i64::from(imm)),
        _ if insn.op.facts().has_site() => module.sites.get(index).is_some_and(|site| site.at == at),
        _ => true,
    };
    if !exists {
        return Err(Refusal::Number(at));
    }
    if insn.op == Op::Switch && u64::from(at) + 1 + imm as u64 >= u64::from(function.first + function.count) {
        return Err(Refusal::Jump(at));
    }
    if insn.op == Op::Call {
        let site = module.sites[index];
        let callee = &module.functions[site.callee as usize];
        let fits =
            site.base >= 2 && u64::from(site.base) + u64::from(callee.slots) <= u64::from(function.slots);
        if !fits {
            return Err(Refusal::Window(at));
        }
    }
    Ok(())
}
