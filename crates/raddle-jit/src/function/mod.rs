//! Owns: the translation of one function, block by block.
//! May use: `blocks`, `convention`, `mistakes`, `operands`, `plan`, `routine`, `views`, `cranelift-codegen`,
//! `cranelift-frontend`, `raddle-bytecode`, `raddle-vm`.
//! Never: an access to memory without a comparison, unless to a slot of the frame.
//!
//! The code has four parameters: the context, where the frame lies, the fuel, and at which resume point to go on. It
//! never returns; it ends with a jump to code of the same kind. Whatever is out of the ordinary - an error, an odd
//! address - leaves to the interpreter, which does that instruction once more, and says what is wrong with it.
//!
//! | module | what |
//! |---|---|
//! | here | blocks |
//! | `slots` | slots in registers, and when memory is told |
//! | `exits` | the ways out to the interpreter |
//! | `word`, `long`, `real` | arithmetic |
//! | `memory` | bytes in memory |
//! | `shape` | which loops are simple |
//! | `loops` | what is known in a loop |
//! | `claims` | what is compared before a loop |
//! | `fill` | loops that set all elements to the same |
//! | `ranges` | between which numbers a value lies |
//! | `spans` | between which numbers it lies in all turns of a loop |
//! | `later` | checks of sums and of reals that are made later than where they stand |
//! | `live` | which slots may be looked at before they are written again |
//! | `flow` | jumps, calls, helpers |

mod claims;
mod exits;
mod fill;
mod flow;
mod later;
mod live;
mod long;
mod loops;
mod memory;
mod ranges;
mod real;
mod shape;
mod slots;
mod spans;
mod word;

use crate::blocks::{Blocks, LEAVES_OUT};
use crate::convention::{NamedPlace, SLOT, signature};
use crate::mistakes::{RangeMistake, makes};
use crate::operands::{Doer, ValueClass, how, is_short};
use crate::plan::{FunctionPlan, Piece};
use crate::routine::SharedCode;
use crate::views::{ViewSet, Views};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder as _, MemFlagsData, SigRef, SourceLoc, Type, Value, types};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use raddle_bytecode::{Function, Insn, Module, Op};
use raddle_vm::native::{CodeChecks, CodeWord, Helper, NativeContext, NativeSite, ProcessLayout};
use std::collections::{HashMap, HashSet};
use std::mem::offset_of;

use later::Window;
use live::Liveness;
pub(crate) use live::Unproven;
use ranges::Range;
use shape::Loop;
use spans::Spanned;

/// What all functions of a program have in common.
pub(crate) struct Common<'m> {
    pub(crate) module: &'m Module,
    pub(crate) sites: &'m [NativeSite],
    pub(crate) memory_bytes: u32,
    pub(crate) data: u32,
    /// Where the records of the call sites lie, for returns.
    pub(crate) returns: NamedPlace,
    /// Where it stands for each instruction where to jump to run it.
    pub(crate) codes: NamedPlace,
    /// Where it stands for each instruction which of the entries of its code it is.
    pub(crate) indexes: NamedPlace,
    /// Where the addresses of the doors to the helpers lie.
    pub(crate) doors: NamedPlace,
    pub(crate) process: ProcessLayout,
    /// Where the code lies that all functions share.
    pub(crate) shared: [NamedPlace; SharedCode::ALL.len()],
}

/// What a return needs of a call site.
#[repr(C)]
pub(crate) struct ReturnRecord {
    /// The caller's code, or the way out while there is none; 0 if the interpreter returns there.
    pub(crate) code: CodeWord,
    pub(crate) base_bytes: u32,
    pub(crate) caller_fp_max: u32,
    pub(crate) cost: i32,
    pub(crate) back: u32,
}

/// What a check has shown of values, which never change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fact {
    /// The first is less than the second, without sign.
    Below(Value, Value),
    /// It is less than that number, without sign.
    BelowNumber(Value, i32),
    /// So much of the element of that number, of an array at that address and of so many, may be accessed: another view
    /// of the same memory may have fewer.
    Element(Value, Value, Value, u32),
    /// So many bytes behind that address, so many bytes lie in memory.
    Bytes(Value, u16, u32),
    /// They lie elsewhere than the slots that have views.
    Apart(Value, u16, u32),
}

/// What has been shown at the end of a block: as of the same names in [`Translation`].
#[derive(Clone, Default)]
struct Shown {
    facts: HashSet<Fact>,
    rows: HashMap<Value, u32>,
    limits: HashMap<Value, i64>,
}

impl Shown {
    /// What has been shown by the other one, too.
    fn meet(&mut self, other: &Shown) {
        self.facts.retain(|fact| other.facts.contains(fact));
        self.rows.retain(|address, size| other.rows.get(address) == Some(size));
        self.limits.retain(|value, limit| {
            other.limits.get(value).is_some_and(|it| {
                *limit = (*limit).max(*it);
                true
            })
        });
    }
}

/// Where a piece can be entered: the instruction, by number of the entry.
pub(crate) type ResumePoints = Vec<u32>;

/// A piece of code, as it lies among others.
pub(crate) struct Compiled {
    /// How far behind the beginning of all code.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) points: ResumePoints,
}

/// A piece that is translated.
pub(crate) struct Translated<'f> {
    pub(crate) ins: FunctionBuilder<'f>,
    pub(crate) points: ResumePoints,
    pub(crate) checks: CodeChecks,
    /// The loops without loops in them, each by its first and its last instruction.
    pub(crate) loops: Vec<(u32, u32)>,
    /// If something was not proved that was taken for proved: what is not. Then it is to be translated once more.
    pub(crate) found: Unproven,
}

/// The translation of a function.
pub(crate) struct Translation<'f, 'm> {
    ins: FunctionBuilder<'f>,
    common: &'f Common<'m>,
    function: &'f Function,
    blocks: &'f Blocks,
    views: &'f Views,
    plan: &'f FunctionPlan,
    piece: &'f Piece,
    variables: Vec<Variable>,
    /// The code of each block.
    entries: Vec<Block>,
    /// Of the head of a loop: where who does not jump back comes in. What changes in the loop alone does not change
    /// there.
    before_loops: Vec<Option<Block>>,
    /// Landings that are still to be made, with the blocks to which they lead.
    landings: Vec<(Block, usize)>,
    live: Liveness,
    /// What is held at the beginning of each block, and what of it may be late there.
    held_at: Vec<ViewSet>,
    late_at: Vec<ViewSet>,
    /// What is taken for unproven, and what else was found to be.
    unproven: Unproven,
    found: Unproven,
    /// Where such values of views go into memory, on a way out, with the instruction as parameter.
    stores: HashMap<Vec<(usize, Value)>, Block>,
    /// The views that registers hold here.
    held: ViewSet,
    /// Those of them that memory does not have.
    late: ViewSet,
    /// Where the instruction leaves to the interpreter, with what was late when that was made.
    exit: Option<Block>,
    /// Checks of reals that are still to be made.
    window: Option<Window>,
    /// What has been compared on each way here, and holds.
    facts: HashSet<Fact>,
    /// Addresses at which so many bytes lie in memory and elsewhere than the slots that have views.
    rows: HashMap<Value, u32>,
    /// Values that were shown to be no less than 0, and less than that.
    limits: HashMap<Value, i64>,
    /// Addresses in the frame: so many bytes behind its beginning, and as above.
    frames: HashMap<Value, (i32, u32)>,
    /// What lies at such an address, for the processor.
    pointers: HashMap<Value, Value>,
    /// What has been shown at the end of each block that is translated.
    shown: Vec<Option<Shown>>,
    /// The loops that are entered by their heads alone, and the innermost of them that each block is in.
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
    /// The one of this block, and whether each turn comes here.
    here: Option<(usize, bool)>,
    /// Values that are the index of a loop that only counts, and so much more.
    linear: HashMap<Value, (usize, i64)>,
    /// Between which numbers values lie.
    ranges: HashMap<Value, Range>,
    /// Values between which numbers each lies can be found out before their loop.
    spans: HashMap<Value, Spanned>,
    checks: CodeChecks,
    /// The block that is translated.
    number: usize,
    /// What is translated is the test of a loop that is made before it.
    tests_first: bool,
    at: u32,
    /// Whether the code of the block has ended.
    ended: bool,
    context: Value,
    frame: Value,
    base: Value,
    fp: Value,
    fuel: Variable,
    code_signature: SigRef,
    /// Leaves to the interpreter before the instruction that is the parameter.
    slow: Block,
    /// Where the fuel is used up: frame and instruction.
    dry: Block,
}

/// What has been compared with the memory's size is there.
const CHECKED: MemFlagsData = MemFlagsData::new().with_notrap();

impl<'f, 'm> Translation<'f, 'm> {
    /// Translates a piece, as if what is not in `unproven` were proved.
    pub(crate) fn run(
        ins: FunctionBuilder<'f>,
        common: &'f Common<'m>,
        function: &'f Function,
        (plan, piece): (&'f FunctionPlan, &'f Piece),
        unproven: Option<Unproven>,
    ) -> Translated<'f> {
        let (mut this, at) = Translation::new(ins, common, function, (plan, piece), unproven);
        let points = this.dispatch(at);
        this.translate_blocks();
        // It is no instruction's.
        this.ins.set_srcloc(SourceLoc::default());
        this.enter_loops();
        // There nothing has been shown.
        this.limits.clear();
        this.make_claims();
        this.ways_out();
        let loops = this.innermost_loops();
        this.ins.seal_all_blocks();
        let Translation { ins, checks, mut found, unproven, .. } = this;
        if !found.is_empty() {
            found.extend(unproven);
        }
        Translated { ins, points, checks, loops, found }
    }

    /// With nothing translated yet; gives at which resume point to go on, too.
    fn new(
        mut ins: FunctionBuilder<'f>,
        common: &'f Common<'m>,
        function: &'f Function,
        (plan, piece): (&'f FunctionPlan, &'f Piece),
        unproven: Option<Unproven>,
    ) -> (Translation<'f, 'm>, Value) {
        let FunctionPlan { blocks, views, .. } = plan;
        let [context, frame, fuel_left, at] = parameters(&mut ins);
        let (base, fp) = place_of_frame(&mut ins, context, frame);
        let (variables, fuel) = (variables(&mut ins, views), ins.declare_var(types::I32));
        ins.def_var(fuel, fuel_left);
        let (entries, before_loops) = entries(&mut ins, blocks, piece);
        let [slow, dry] = [0; 2].map(|_| cold_block(&mut ins));
        let [held, late] = [0; 2].map(|_| ViewSet::none(views.all.len()));
        let code = &common.module.code;
        let (loops, innermost) = shape::of(plan, piece, code);
        let unproven = unproven.unwrap_or_else(|| live::outside_loops(plan, piece, code, &innermost));
        let live = Liveness::of(plan, piece, code, &unproven);
        let (held_at, late_at) = live.held_at_blocks(plan, code);
        let this = Translation {
            code_signature: ins.import_signature(signature()),
            ins,
            common,
            at: function.first,
            function,
            blocks,
            views,
            plan,
            piece,
            variables,
            entries,
            before_loops,
            landings: Vec::new(),
            live,
            held_at,
            late_at,
            unproven,
            found: Unproven::new(),
            stores: HashMap::new(),
            held,
            late,
            exit: None,
            window: None,
            facts: HashSet::new(),
            rows: HashMap::new(),
            limits: HashMap::new(),
            frames: HashMap::new(),
            pointers: HashMap::new(),
            shown: blocks.all.iter().map(|_| None).collect(),
            loops,
            innermost,
            here: None,
            linear: HashMap::new(),
            ranges: HashMap::new(),
            spans: HashMap::new(),
            checks: CodeChecks::default(),
            number: 0,
            tests_first: false,
            ended: false,
            context,
            frame,
            base,
            fp,
            fuel,
            slow,
            dry,
        };
        (this, at)
    }

    fn innermost_loops(&self) -> Vec<(u32, u32)> {
        let has_inner = |number: usize| self.loops.iter().any(|it| it.parent == Some(number));
        let of = |it: &Loop| {
            let head = &self.blocks.all[it.head];
            head.looped_from.map(|last| (head.first, last))
        };
        let inner =
            self.loops.iter().enumerate().filter(|(number, it)| !has_inner(*number) && it.before.is_none());
        inner.filter_map(|(_, it)| of(it)).collect()
    }

    /// The instructions of that block are translated.
    fn enter_live(&mut self, number: usize) {
        self.live.enter(self.plan, number, &self.common.module.code, &self.unproven);
    }

    /// Nothing has shown that this access is no view's; or it leaves where the interpreter may find nothing wrong, and
    /// so go on.
    fn is_unproven(&mut self) {
        if !self.unproven.contains(&self.at) && !makes(RangeMistake::Unseen) {
            self.found.insert(self.at);
        }
    }

    /// From the entry to the resume points.
    fn dispatch(&mut self, at: Value) -> ResumePoints {
        let (entries, all) = (&self.piece.entries, &self.blocks.all);
        let points = entries.iter().map(|&number| all[number].first).collect();
        let landings: Vec<(usize, Block)> =
            entries.iter().map(|&number| (number, self.ins.create_block())).collect();
        match *landings {
            [(_, only)] => {
                self.ins.ins().jump(only, &[]);
            }
            [(_, first), ..] => self.dispatch_by_index(at, first, &landings),
            [] => unreachable!("a piece is entered somewhere"),
        }
        for (number, landing) in landings {
            self.ins.switch_to_block(landing);
            self.held.clear();
            self.late.clear();
            self.enter_block(number, false);
        }
        points
    }

    fn dispatch_by_index(&mut self, at: Value, first: Block, landings: &[(usize, Block)]) {
        let others = self.ins.create_block();
        // The beginning is by far the most frequent.
        let begins = self.ins.ins().icmp_imm_s(IntCC::Equal, at, i64::from(self.function.first));
        self.ins.ins().brif(begins, first, &[], others, &[]);
        self.ins.switch_to_block(others);
        let wide = self.ins.ins().uextend(types::I64, at);
        let offset = self.ins.ins().ishl_imm_s(wide, 2);
        let indexes = self.common.indexes.value(&mut self.ins);
        let place = self.ins.ins().iadd(indexes, offset);
        let index = self.ins.ins().load(types::I32, SLOT, place, 0);
        let mut switch = Switch::new();
        for (number, &(_, landing)) in landings.iter().enumerate() {
            switch.set_entry(number as u128, landing);
        }
        switch.emit(&mut self.ins, index, first);
    }

    /// Jumps to a block, with what it wants to find in registers; or back to it.
    fn enter_block(&mut self, number: usize, is_back: bool) {
        if !self.piece.has[number] {
            return self.jump_to_piece(self.blocks.all[number].first);
        }
        self.early(number, is_back).into_iter().for_each(|view| self.store_view(view));
        let missing: Vec<usize> = self.held_at[number].beyond(&self.held).collect();
        for view in missing {
            self.store_overlapping(view);
            let value = self.load_view(view);
            self.ins.def_var(self.variables[view], value);
        }
        let entry = self.entry(number, is_back);
        self.ins.ins().jump(entry, &[]);
        self.ended = true;
    }

    fn entry(&self, number: usize, is_back: bool) -> Block {
        self.before_loops[number].filter(|_| !is_back).unwrap_or(self.entries[number])
    }

    fn enter_loops(&mut self) {
        for number in 0..self.entries.len() {
            if let Some(before) = self.before_loops[number].filter(|_| !self.is_known_head(number)) {
                self.ins.switch_to_block(before);
                self.ins.ins().jump(self.entries[number], &[]);
            }
        }
    }

    /// Where to jump to come to a block: itself, or a place before it where what it wants is loaded.
    fn way_to(&mut self, number: usize) -> Block {
        let nothing_to_do = self.piece.has[number]
            && self.held_at[number].beyond(&self.held).next().is_none()
            && self.early(number, false).is_empty();
        if nothing_to_do {
            return self.entry(number, false);
        }
        let landing = self.ins.create_block();
        self.landings.push((landing, number));
        landing
    }

    /// Makes the landings, once the jump to them is made.
    fn make_landings(&mut self) {
        for (landing, number) in std::mem::take(&mut self.landings) {
            let (held, late) = (self.held.clone(), self.late.clone());
            self.begin_block(landing);
            self.enter_block(number, false);
            (self.held, self.late) = (held, late);
        }
    }

    /// A block to which all jumps are made.
    fn begin_block(&mut self, block: Block) {
        self.ins.switch_to_block(block);
        self.ins.seal_block(block);
    }

    fn translate_blocks(&mut self) {
        for number in 0..self.blocks.all.len() {
            if self.piece.has[number] {
                self.translate_block(number);
                self.translate_without_spans(number);
            }
        }
    }

    fn translate_block(&mut self, number: usize) {
        self.number = number;
        self.enter_live(number);
        self.meet_facts(number);
        self.begin_in_loop(number);
        self.held = self.held_at[number].clone();
        self.late = self.late_at[number].clone();
        self.ended = false;
        let (first, behind) = (self.blocks.all[number].first, self.blocks.all[number].behind);
        for at in first..behind {
            self.at = at;
            self.ins.set_srcloc(SourceLoc::new(at));
            self.translate(self.common.module.code[at as usize]);
        }
        if !self.ended {
            self.close_window();
            let next = self.blocks.at(behind);
            self.enter_block(next, false);
        }
        let (facts, rows, limits) = (self.facts.clone(), self.rows.clone(), self.limits.clone());
        self.shown[number] = Some(Shown { facts, rows, limits });
    }

    /// If that is the last block of a loop that relies on spans: the loop once more, with the checks in it. There it
    /// goes on where one is no word.
    fn translate_without_spans(&mut self, last: usize) {
        let Some(which) = self.innermost[last] else { return };
        let head = self.loops[which].head;
        let is_last = self.blocks.all[head].looped_from == Some(self.blocks.all[last].behind - 1);
        if !is_last || !self.has_spans(which) {
            return;
        }
        let again = self.loops.len();
        let before = self.ins.create_block();
        let copy = self.loops[which].once_more(before);
        self.loops.push(copy);
        self.loops[which].again = Some(again);
        let members: Vec<usize> = (head..=last).filter(|&it| self.innermost[it] == Some(which)).collect();
        let first_entries: Vec<Block> = members.iter().map(|&it| self.entries[it]).collect();
        let mut first_shown: Vec<Option<Shown>> = Vec::new();
        for &member in &members {
            self.entries[member] = self.ins.create_block();
            self.innermost[member] = Some(again);
            first_shown.push(self.shown[member].take());
        }
        members.iter().for_each(|&member| self.translate_block(member));
        for ((&member, entry), first) in members.iter().zip(first_entries).zip(first_shown) {
            self.entries[member] = entry;
            self.innermost[member] = Some(which);
            if let (Some(shown), Some(first)) = (&mut self.shown[member], first) {
                shown.meet(&first);
            }
        }
    }

    fn ways_to(&self, number: usize) -> impl Iterator<Item = usize> {
        self.blocks.all[number].from.iter().copied().filter(|&from| self.piece.has[from])
    }

    /// What has been shown on all ways to that block, if all of them are translated, and none is to come. At the head
    /// of a loop nothing is: so what is shown of a value was shown since it was made.
    fn meet_facts(&mut self, number: usize) {
        self.facts.clear();
        self.rows.clear();
        self.limits.clear();
        let mut ways: Vec<usize> = self.ways_to(number).collect();
        let is_entered = self.piece.entries.contains(&number) || self.before_loops[number].is_some();
        if !LEAVES_OUT || is_entered || ways.iter().any(|&from| from >= number) {
            return;
        }
        self.ins.seal_block(self.entries[number]);
        // Where the test of a loop is made before it, too, that is one more way from it.
        for test in ways.clone() {
            let code = &self.common.module.code;
            ways.extend(self.ways_to(test).filter(|&from| self.blocks.is_first_test(code, from, test)));
        }
        let mut shown = ways.iter().filter_map(|&from| self.shown[from].as_ref());
        let Some(mut all) = shown.next().cloned() else { return };
        shown.filter(|_| !makes(RangeMistake::OneWay)).for_each(|it| all.meet(it));
        Shown { facts: self.facts, rows: self.rows, limits: self.limits } = all;
    }

    fn translate(&mut self, insn: Insn) {
        self.exit = None;
        self.close_window_for(insn);
        if !matches!(how(insn), Doer::Inline | Doer::Jump) {
            self.store_late();
        }
        match how(insn) {
            Doer::Inline => {
                let done = self.word(insn) || self.long(insn) || self.real(insn) || self.memory(insn);
                assert!(done, "{:?} is translated", insn.op);
            }
            Doer::Meet(_) if is_short(insn) => self.talk(insn),
            Doer::Meet(Helper::Fork) => {
                let entry = i64::from(crate::blocks::target(self.at, insn));
                let entry = self.ins.ins().iconst(types::I32, entry);
                self.share(SharedCode::Fork, insn.a, &[entry]);
            }
            Doer::Meet(Helper::Join) if insn.op == Op::Join => self.share(SharedCode::Join, insn.a, &[]),
            Doer::Last(Helper::End) => self.end(),
            Doer::Meet(helper) | Doer::Last(helper) => self.leave_by(helper),
            Doer::Again | Doer::Aside => self.leave_by(Helper::Step),
            Doer::Jump => self.jump(insn),
            Doer::Call => self.call(insn),
            Doer::Return => self.give_back(),
        }
    }
}

/// The context, where the frame lies, the fuel, and at which resume point to go on.
fn parameters(ins: &mut FunctionBuilder<'_>) -> [Value; 4] {
    let entry = ins.create_block();
    ins.append_block_params_for_function_params(entry);
    ins.switch_to_block(entry);
    let &[context, frame, fuel, at] = ins.block_params(entry) else { unreachable!("four parameters") };
    [context, frame, fuel, at]
}

/// Where address 0 lies, and the address of the frame.
fn place_of_frame(ins: &mut FunctionBuilder<'_>, context: Value, frame: Value) -> (Value, Value) {
    let flags = SLOT.with_readonly();
    let base = ins.ins().load(types::I64, flags, context, offset_of!(NativeContext, base) as i32);
    let offset = ins.ins().isub(frame, base);
    (base, ins.ins().ireduce(types::I32, offset))
}

fn variables(ins: &mut FunctionBuilder<'_>, views: &Views) -> Vec<Variable> {
    views.all.iter().map(|view| ins.declare_var(type_of(view.is_wide, view.is_real))).collect()
}

fn cold_block(ins: &mut FunctionBuilder<'_>) -> Block {
    let block = ins.create_block();
    ins.set_cold_block(block);
    block
}

/// For each block of the piece where it begins, and where who does not jump back comes into a loop.
fn entries(
    ins: &mut FunctionBuilder<'_>,
    blocks: &Blocks,
    piece: &Piece,
) -> (Vec<Block>, Vec<Option<Block>>) {
    let entries = blocks.all.iter().map(|_| ins.create_block()).collect();
    let heads = blocks.all.iter().zip(&piece.has).map(|(block, has)| *has && block.looped_from.is_some());
    (entries, heads.map(|is_head| is_head.then(|| ins.create_block())).collect())
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
