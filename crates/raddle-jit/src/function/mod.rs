//! Owns: the translation of one function, block by block.
//! May use: `blocks`, `operands`, `views`, `cranelift-codegen`, `cranelift-frontend`, `raddle-bytecode`, `raddle-vm`.
//! Never: an access to memory without a comparison, unless to a slot of the frame.
//!
//! The code has four parameters: the context, where the frame lies, the fuel, and at which resume point to go on. It
//! never returns; it ends with a jump to code of the same kind. Whatever is out of the ordinary - an error, an odd
//! address - leaves to the interpreter, which does that instruction once more, and says what is wrong with it.
//!
//! | module | what |
//! |---|---|
//! | here | blocks, slots and the ways out |
//! | `word`, `long`, `real` | arithmetic |
//! | `memory` | bytes in memory |
//! | `flow` | jumps, calls, helpers |
//! | `talk` | communication of words, and the dispatch of who is next |

mod flow;
mod long;
mod memory;
mod real;
mod talk;
mod word;

use crate::blocks::Blocks;
use crate::operands::{Doer, Operand, ValueClass, how, is_short};
use crate::views::{ViewSet, Views, held_at_blocks};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder as _, MemFlagsData, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use raddle_bytecode::{Function, Insn, Module};
use raddle_vm::native::{Helper, NativeContext, NativeSite, ProcessLayout};
use std::collections::HashSet;
use std::mem::offset_of;

/// What all functions of a program have in common.
pub(crate) struct Common<'m> {
    pub(crate) module: &'m Module,
    pub(crate) sites: &'m [NativeSite],
    pub(crate) memory_bytes: u32,
    pub(crate) data: u32,
    /// Where the records of the call sites lie, for returns.
    pub(crate) returns: usize,
    /// Where it stands for each instruction where to jump to run it, as `Resume`s.
    pub(crate) jumps: usize,
    pub(crate) process: ProcessLayout,
}

/// What a return needs of a call site; in the order of `NativeSite`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ReturnRecord {
    /// The caller's code; 0 if the interpreter returns there.
    pub(crate) code: usize,
    pub(crate) index: u32,
    pub(crate) base_bytes: u32,
    pub(crate) caller_fp_max: u32,
    pub(crate) cost: i32,
    pub(crate) back: u32,
    pub(crate) unused: u32,
}

/// What a check has shown of values, which never change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fact {
    /// The first is less than the second, without sign.
    Below(Value, Value),
    /// An array at that address, of so many elements of so many bytes, lies in memory.
    Array(Value, Value, u32),
    /// So many bytes behind that address, so many bytes lie in memory.
    Bytes(Value, u16, u32),
}

/// One resume point of a function: its number is its place in the list.
pub(crate) type ResumePoints = Vec<u32>;

/// The signature of compiled code.
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.extend([types::I64, types::I64, types::I32, types::I32].map(AbiParam::new));
    signature
}

fn helper_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.extend([types::I64, types::I64, types::I32].map(AbiParam::new));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// The translation of a function.
pub(crate) struct Translation<'f, 'm> {
    ins: FunctionBuilder<'f>,
    common: &'f Common<'m>,
    function: Function,
    blocks: Blocks,
    views: Views,
    held_at: Vec<ViewSet>,
    variables: Vec<Variable>,
    /// The code of each block.
    entries: Vec<Block>,
    /// Landings that are still to be made, with the blocks to which they lead.
    landings: Vec<(Block, usize)>,
    /// The views that registers hold here.
    held: ViewSet,
    /// What has been compared in this block, and holds.
    facts: HashSet<Fact>,
    at: u32,
    /// Whether the code of the block has ended.
    ended: bool,
    context: Value,
    frame: Value,
    base: Value,
    fp: Value,
    fuel: Variable,
    code_signature: SigRef,
    helper_signature: SigRef,
    /// Leaves to the interpreter before the instruction that is the parameter.
    slow: Block,
    /// Where the fuel is used up: frame and instruction.
    dry: Block,
    /// Jumps to where a helper said.
    go: Block,
    /// By word of the frame: 1 if a view has it.
    names: usize,
}

/// A slot of the frame is always there, and aligned.
const SLOT: MemFlagsData = MemFlagsData::trusted();
/// What has been compared with the memory's size is there.
const CHECKED: MemFlagsData = MemFlagsData::new().with_notrap();

impl<'f, 'm> Translation<'f, 'm> {
    /// Translates; gives the resume points.
    ///
    /// `names` is where a byte for each word of the frame will lie, and stay.
    pub(crate) fn run(
        mut ins: FunctionBuilder<'f>,
        common: &'f Common<'m>,
        (function, call_conv): (Function, CallConv),
        (views, names): (Views, usize),
    ) -> (FunctionBuilder<'f>, ResumePoints) {
        let code = &common.module.code;
        let blocks = Blocks::of(&function, code);
        let held_at = held_at_blocks(&views, &blocks, code);
        let entry = ins.create_block();
        ins.append_block_params_for_function_params(entry);
        ins.switch_to_block(entry);
        let [context, frame, fuel_left, index] = *ins.block_params(entry) else {
            unreachable!("four parameters")
        };
        let base =
            ins.ins().load(types::I64, SLOT.with_readonly(), context, offset_of!(NativeContext, base) as i32);
        let offset = ins.ins().isub(frame, base);
        let fp = ins.ins().ireduce(types::I32, offset);
        let fuel = ins.declare_var(types::I32);
        ins.def_var(fuel, fuel_left);
        let variables =
            views.all.iter().map(|view| ins.declare_var(type_of(view.is_wide, view.is_real))).collect();
        let entries = blocks.all.iter().map(|_| ins.create_block()).collect();
        let code_signature = ins.import_signature(signature());
        let helper_signature = ins.import_signature(helper_signature(call_conv));
        let [slow, dry, go] = [0; 3].map(|_| {
            let block = ins.create_block();
            ins.set_cold_block(block);
            block
        });
        let held = held_at[0].clone();
        let mut this = Translation {
            ins,
            common,
            at: function.first,
            function,
            blocks,
            views,
            held_at,
            variables,
            entries,
            landings: Vec::new(),
            held,
            facts: HashSet::new(),
            ended: false,
            context,
            frame,
            base,
            fp,
            fuel,
            code_signature,
            helper_signature,
            slow,
            dry,
            go,
            names,
        };
        let resumes = this.dispatch(index);
        this.translate_blocks();
        this.ways_out();
        this.ins.seal_all_blocks();
        (this.ins, resumes)
    }

    /// From the entry to the resume points.
    fn dispatch(&mut self, index: Value) -> ResumePoints {
        let mut switch = Switch::new();
        let mut points = Vec::new();
        let mut landings = Vec::new();
        for number in 0..self.blocks.all.len() {
            let block = &self.blocks.all[number];
            if block.is_resume && block.is_live {
                let landing = self.ins.create_block();
                switch.set_entry(points.len() as u128, landing);
                points.push(block.first);
                landings.push((number, landing));
            }
        }
        let first = landings[0].1;
        let others = self.ins.create_block();
        // The beginning is by far the most frequent.
        self.ins.ins().brif(index, others, &[], first, &[]);
        self.ins.switch_to_block(others);
        switch.emit(&mut self.ins, index, first);
        for (number, landing) in landings {
            self.ins.switch_to_block(landing);
            self.held.clear();
            self.enter_block(number);
        }
        points
    }

    /// Jumps to a block, with what it wants to find in registers.
    fn enter_block(&mut self, number: usize) {
        let missing: Vec<usize> = self.held_at[number].beyond(&self.held).collect();
        for view in missing {
            let value = self.load_view(view);
            self.ins.def_var(self.variables[view], value);
        }
        let entry = self.entries[number];
        self.ins.ins().jump(entry, &[]);
        self.ended = true;
    }

    /// Where to jump to come to a block: itself, or a place before it where what it wants is loaded.
    fn way_to(&mut self, number: usize) -> Block {
        if self.held_at[number].beyond(&self.held).next().is_none() {
            return self.entries[number];
        }
        let landing = self.ins.create_block();
        self.landings.push((landing, number));
        landing
    }

    /// Makes the landings, once the jump to them is made.
    fn make_landings(&mut self) {
        for (landing, number) in std::mem::take(&mut self.landings) {
            self.ins.switch_to_block(landing);
            self.enter_block(number);
        }
    }

    fn translate_blocks(&mut self) {
        for number in 0..self.blocks.all.len() {
            if !self.blocks.all[number].is_live {
                continue;
            }
            self.ins.switch_to_block(self.entries[number]);
            self.held = self.held_at[number].clone();
            self.facts.clear();
            self.ended = false;
            let (first, behind) = (self.blocks.all[number].first, self.blocks.all[number].behind);
            for at in first..behind {
                self.at = at;
                self.translate(self.common.module.code[at as usize]);
            }
            if !self.ended {
                let next = self.blocks.at(behind);
                self.enter_block(next);
            }
        }
    }

    fn translate(&mut self, insn: Insn) {
        match how(insn) {
            Doer::Inline => {
                let done = self.word(insn) || self.long(insn) || self.real(insn) || self.memory(insn);
                assert!(done, "{:?} is translated", insn.op);
            }
            Doer::Aside(kills) => self.aside(kills),
            Doer::Meet(_) if is_short(insn) => self.talk(insn),
            Doer::Meet(helper) => self.meet(helper),
            Doer::Again => self.meet(Helper::Step),
            Doer::Last(helper) => self.last(helper),
            Doer::Jump => self.jump(insn),
            Doer::Call => self.call(insn),
            Doer::Return => self.give_back(),
        }
    }

    fn load_view(&mut self, view: usize) -> Value {
        let view = self.views.all[view];
        let ty = type_of(view.is_wide, view.is_real);
        self.ins.ins().load(ty, SLOT, self.frame, 4 * i32::from(view.slot))
    }

    /// What stands in a slot.
    fn read(&mut self, operand: Operand) -> Value {
        let view = self.views.at(operand);
        let variable = self.variables[view];
        if !self.held.has(view) {
            let value = self.load_view(view);
            self.ins.def_var(variable, value);
            self.held.add(view);
        }
        let value = self.ins.use_var(variable);
        self.cast(value, class_type(operand.1))
    }

    /// Puts a value into a slot.
    fn write(&mut self, operand: Operand, value: Value) {
        let view = self.views.at(operand);
        let kind = self.views.all[view];
        let value = self.cast(value, type_of(kind.is_wide, kind.is_real));
        self.ins.ins().store(SLOT, value, self.frame, 4 * i32::from(kind.slot));
        self.views.write(operand, &mut self.held);
        self.ins.def_var(self.variables[view], value);
    }

    /// The same bits as another type.
    fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.ins.func.dfg.value_type(value) == ty {
            return value;
        }
        self.ins.ins().bitcast(ty, MemFlagsData::new(), value)
    }

    fn word_at(&mut self, slot: u16) -> Value {
        self.read((slot, ValueClass::Word))
    }

    fn set_word(&mut self, slot: u16, value: Value) {
        self.write((slot, ValueClass::Word), value);
    }

    /// Has the interpreter do the instruction if the condition holds, and go on from there.
    fn leave_if(&mut self, condition: Value) {
        let further = self.ins.create_block();
        let at = self.ins.ins().iconst(types::I32, i64::from(self.at));
        self.ins.ins().brif(condition, self.slow, &[BlockArg::Value(at)], further, &[]);
        self.ins.switch_to_block(further);
    }

    fn leave_unless(&mut self, condition: Value) {
        let further = self.ins.create_block();
        let at = self.ins.ins().iconst(types::I32, i64::from(self.at));
        self.ins.ins().brif(condition, further, &[], self.slow, &[BlockArg::Value(at)]);
        self.ins.switch_to_block(further);
    }

    fn leave_if_word(&mut self, relation: IntCC, left: Value, right: i64) {
        let condition = self.ins.ins().icmp_imm_s(relation, left, right);
        self.leave_if(condition);
    }
}

/// What a view is in a register.
fn type_of(is_wide: bool, is_real: bool) -> Type {
    match (is_wide, is_real) {
        (false, false) => types::I32,
        (false, true) => types::F32,
        (true, false) => types::I64,
        (true, true) => types::F64,
    }
}

fn class_type(class: ValueClass) -> Type {
    type_of(class.is_wide(), class.is_real())
}
