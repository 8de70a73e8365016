//! Owns: loops that do nothing but set the elements of an array to one and the same: sixteen bytes at once.
//! May use: `mistakes`, `cranelift-codegen`, `raddle-bytecode`.
//! Never: an element for which the loop that is left would make a check.
//!
//! What is compared before such a loop holds for all turns up to its limit, and a turn changes nothing but one element,
//! index and count. So as long as more turns are to be made than sixteen bytes have elements, these are set together,
//! before the loop, and the index goes on by so much. The loop makes the rest, one turn at least.

use super::claims::Claims;
use super::loops::DEPTH;
use super::{CHECKED, Translation};
use crate::mistakes::{RangeMistake, makes};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder as _, Value, types};
use raddle_bytecode::Insn;
use raddle_bytecode::effect::Width;

/// What a loop sets all elements to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// Where the array begins, for the machine.
    address: Value,
    value: Value,
    width: Width,
}

/// What is set together, and where that begins.
pub(super) struct ReadyFill {
    pub(super) begins: Block,
    which: usize,
    all: Value,
    array: Value,
    limit: Value,
    width: Width,
}

/// So many bytes are set at once.
const BYTES: u32 = 16;

impl Translation<'_, '_> {
    /// An element was set without a check: if that is all that the loop does, it can be done before it.
    pub(super) fn note_fill(&mut self, insn: Insn, width: Width) {
        let Some((which, _)) = self.here.filter(|&(which, _)| self.loops[which].fills == Some(self.at))
        else {
            return;
        };
        let address = self.word_at(insn.b);
        let value = self.stored(insn.a, width);
        let Some(first) = self.loops[which].known.as_ref().map(|known| known.first_inside) else { return };
        let is_placed = address.as_u32() < first || self.frames.contains_key(&address);
        if !is_placed || !self.is_outside(value, first, DEPTH) {
            return;
        }
        if let Some(known) = &mut self.loops[which].known {
            known.fill = Some(Fill { address, value, width });
        }
    }

    /// Makes what is needed to set several elements together, where that is compared which has to hold.
    pub(super) fn prepare_fill(&mut self, claims: &mut Claims, fill: Fill, limit: Value) -> ReadyFill {
        let value = self.made_here(claims, fill.value);
        let all = self.splat(value, fill.width);
        let array = self.pointer(fill.address);
        let begins = self.ins.create_block();
        ReadyFill { begins, which: claims.which, all, array, limit, width: fill.width }
    }

    /// Sets what can be set together, and goes on with the loop.
    pub(super) fn write_fill(&mut self, fill: &ReadyFill) {
        let ReadyFill { begins: begin, which, all, array, limit, .. } = *fill;
        let Some(counts) = self.loops[which].counts else { unreachable!("it counts") };
        let head = self.entries[self.loops[which].head];
        let several = self.ins.create_block();
        let lanes = i64::from(BYTES / fill.width.bytes());
        let least = if makes(RangeMistake::Room) { 0 } else { lanes };
        self.ins.switch_to_block(begin);
        let index = self.ins.use_var(self.variables[counts.index]);
        let room = self.ins.ins().isub(limit, index);
        let is_room = self.ins.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, room, least);
        self.ins.ins().brif(is_room, several, &[], head, &[]);
        self.begin_block(several);
        let wide = self.ins.ins().uextend(types::I64, index);
        let offset = self.ins.ins().ishl_imm_s(wide, i64::from(fill.width.bytes().trailing_zeros()));
        let place = self.ins.ins().iadd(array, offset);
        self.ins.ins().store(CHECKED, all, place, 0);
        let next = self.ins.ins().iadd_imm_s(index, lanes);
        self.ins.def_var(self.variables[counts.index], next);
        self.ins.ins().jump(begin, &[]);
    }

    /// So many of that value as have room in sixteen bytes.
    fn splat(&mut self, value: Value, width: Width) -> Value {
        let ty = self.ins.func.dfg.value_type(value);
        let value = match width {
            Width::Byte => self.ins.ins().ireduce(types::I8, value),
            Width::Half => self.ins.ins().ireduce(types::I16, value),
            Width::Word | Width::Long => value,
        };
        let ty = match (width, ty) {
            (Width::Byte, _) => types::I8X16,
            (Width::Half, _) => types::I16X8,
            _ => ty.by(BYTES / width.bytes()).unwrap_or(types::I32X4),
        };
        self.ins.ins().splat(ty, value)
    }
}
