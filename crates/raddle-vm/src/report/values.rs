//! Owns: the values with which an instruction failed, in words.
//! May use: `machine`, `process`, `raddle-bytecode`.
//! Never: what the instruction may have overwritten; it failed before it wrote.

use crate::machine::{Fault, Machine};
use crate::process::Process;
use alloc::format;
use alloc::string::String;
use raddle_bytecode::{Insn, Op, Trap};

impl<L: Default> Machine<L> {
    /// What the program computed that did not do.
    pub(super) fn failed_with(&self, fault: Fault, process: &Process<L>) -> Option<String> {
        let insn = self.code().get(fault.at as usize)?;
        let slot = |number: u16| self.memory.load_w(process.fp.get().wrapping_add(4 * u32::from(number)));
        let signed = |number: u16| slot(number).map(|value| value as i32);
        match (fault.trap, insn.op) {
            (Trap::Subscript, Op::Chk) => Some(subscript(signed(insn.a)?, slot(insn.b)?)),
            (Trap::Subscript, Op::ChkI) => Some(subscript(signed(insn.a)?, insn.imm() as u32)),
            (Trap::Subscript, Op::Flat) => Some(subscript(signed(insn.b)?, slot(insn.c)?)),
            (Trap::Subscript, _) if has_element(insn) => {
                Some(subscript(signed(insn.c)?, slot(insn.b.checked_add(1)?)?))
            }
            (Trap::Slice, Op::ChkSlice) => {
                let (from, count, all) = (signed(insn.a)?, signed(insn.b)?, slot(insn.c)?);
                Some(format!("FROM {from} FOR {count}, of {}", elements(all)))
            }
            (Trap::Size, Op::ChkSize) => Some(format!("{} and {}", signed(insn.a)?, signed(insn.b)?)),
            (Trap::Count, Op::ChkCount) => Some(format!("{}", signed(insn.a)?)),
            (Trap::Case, _) => {
                // The last option that was tried compared the selector with a constant.
                let tried = self.code().get(fault.at.checked_sub(1)? as usize)?;
                let selector = tried.op == Op::JeqI;
                Some(format!("the selector is {}", signed(tried.a).filter(|_| selector)?))
            }
            _ => None,
        }
    }
}

fn has_element(insn: &Insn) -> bool {
    use Op::{AldB, AldH, AldL, AldW, AstB, AstH, AstL, AstW, Elem};
    matches!(insn.op, AldB | AldH | AldW | AldL | AstB | AstH | AstW | AstL | Elem)
}

fn subscript(index: i32, size: u32) -> String {
    format!("{index}, of {}", elements(size))
}

fn elements(size: u32) -> String {
    match size {
        0 => "no elements".into(),
        1 => "1 element".into(),
        _ => format!("{size} elements"),
    }
}
