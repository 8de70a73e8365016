//! Owns: the ways out to the interpreter.
//! May use: `convention`, `cranelift-codegen`.
//! Never: a way out with a slot that memory does not have, and that may be looked at.

use super::{Translation, cold_block};
use crate::convention::SLOT;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder as _, Value, types};

/// A way out that is still to be made: its block, the instruction that is then made, and what is late.
pub(super) struct WayOut {
    pub(super) exit: Block,
    pub(super) at: u32,
    pub(super) late: Vec<(usize, Value)>,
}

impl Translation<'_, '_> {
    /// Has the interpreter do the instruction if the condition holds, and go on from there.
    pub(super) fn leave_if(&mut self, condition: Value) {
        self.checks.made += 1;
        let (exit, late) = self.exit();
        let further = self.ins.create_block();
        self.ins.ins().brif(condition, exit, &[], further, &[]);
        self.make_exit(late);
        self.begin_block(further);
    }

    /// The other way round. Cranelift looks at the second way of a jump first, and once it has looked at a block that
    /// is no longer in a loop, it moves nothing more out of that loop: so the way out has to be the first.
    pub(super) fn leave_unless(&mut self, condition: Value) {
        let fails = self.ins.ins().icmp_imm_s(IntCC::Equal, condition, 0);
        self.leave_if(fails);
    }

    /// Where the instruction leaves; and, if that is still to be made, which instruction is then made, and what is
    /// late.
    pub(super) fn exit(&mut self) -> (Block, Option<WayOut>) {
        let known = self.window.as_ref().map_or(self.exit, |window| window.exit);
        if let Some(exit) = known {
            return (exit, None);
        }
        let exit = self.ins.create_block();
        self.ins.set_cold_block(exit);
        if let Some(window) = &mut self.window {
            window.exit = Some(exit);
            let way = WayOut { exit, at: window.at, late: window.late.clone() };
            return (exit, Some(way));
        }
        self.exit = Some(exit);
        // Here: behind the jump the block is filled, and none of its values can be asked for.
        let way = WayOut { exit, at: self.at, late: self.late_values() };
        (exit, Some(way))
    }

    /// All that is late goes into memory, and the interpreter does the instruction. The values are those of where the
    /// first jump to it is, or of before, which comes before all others.
    pub(super) fn make_exit(&mut self, way: Option<WayOut>) {
        let Some(WayOut { exit, at, late }) = way else { return };
        self.ins.switch_to_block(exit);
        let at = self.ins.ins().iconst(types::I32, i64::from(at));
        if late.is_empty() {
            self.ins.ins().jump(self.slow, &[BlockArg::Value(at)]);
            return;
        }
        // Ways out with the same values have the rest in common.
        if let Some(&stores) = self.stores.get(&late) {
            self.ins.ins().jump(stores, &[BlockArg::Value(at)]);
            return;
        }
        let stores = cold_block(&mut self.ins);
        self.ins.ins().jump(stores, &[BlockArg::Value(at)]);
        let at = self.ins.append_block_param(stores, types::I32);
        self.ins.switch_to_block(stores);
        for &(view, value) in &late {
            self.ins.ins().store(SLOT, value, self.frame, 4 * i32::from(self.views.all[view].slot));
        }
        self.ins.ins().jump(self.slow, &[BlockArg::Value(at)]);
        self.stores.insert(late, stores);
    }

    pub(super) fn leave_if_word(&mut self, relation: IntCC, left: Value, right: i64) {
        let condition = self.ins.ins().icmp_imm_s(relation, left, right);
        self.leave_if(condition);
    }
}
