//! Owns: code that all functions share: communication of words, branches of a PAR, and the dispatch of who is next.
//! May use: `convention`, `cranelift-codegen`, `cranelift-frontend`, `raddle-vm`.
//! Never: a step that cannot be taken back before it is certain that all of them can be taken.
//!
//! What is frequent is in a piece itself. Where anything is out of the ordinary, or the number of a process high, the
//! piece ends with a jump to one of these, which jumps on: behind the instruction, to whoever is next, or by a door to
//! the helper that does all of it. (PERF: of the 10 ms that commstime takes to compile 7 go into what is in the pieces.
//! With none of it there a message took 1.34 times as long; with all but the dispatch 1.10, and 7 ms.)
//!
//! | module | what |
//! |---|---|
//! | here | what they have in common, and the doors |
//! | `talk` | communication of words, and the dispatch |
//! | `branch` | branches of a PAR |

mod branch;
mod talk;

use crate::convention::{NamedPlace, SLOT, helper_signature, signature};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder as _, SigRef, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use raddle_vm::native::{Helper, NativeContext, ProcessLayout};
use std::mem::{offset_of, size_of};

/// What such code does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SharedCode {
    /// `output` of a word; the channel and the value.
    Output,
    /// `input` of a word; the channel.
    Input,
    /// `fork`; where the branch begins.
    Fork,
    /// `join`.
    Join,
    /// `end`.
    End,
}

impl SharedCode {
    /// All of them, by number.
    pub(crate) const ALL: [SharedCode; 5] =
        [SharedCode::Output, SharedCode::Input, SharedCode::Fork, SharedCode::Join, SharedCode::End];

    fn words(self) -> usize {
        match self {
            SharedCode::Output => 2,
            SharedCode::Input | SharedCode::Fork => 1,
            SharedCode::Join | SharedCode::End => 0,
        }
    }

    fn helper(self) -> Helper {
        match self {
            SharedCode::Output => Helper::Output,
            SharedCode::Input => Helper::Input,
            SharedCode::Fork => Helper::Fork,
            SharedCode::Join => Helper::Join,
            SharedCode::End => Helper::End,
        }
    }

    /// The context, the frame, the fuel; the instruction, and above it how many bytes behind the frame's beginning what
    /// it is about lies; words.
    pub(crate) fn signature(self) -> Signature {
        let mut signature = Signature::new(CallConv::Tail);
        signature.params.extend([types::I64, types::I64, types::I32, types::I64].map(AbiParam::new));
        signature.params.extend((0..self.words()).map(|_| AbiParam::new(types::I32)));
        signature
    }
}

/// What such code has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutinePlaces {
    /// Where it stands for each instruction where to jump to run it.
    pub(crate) codes: NamedPlace,
    /// Where the addresses of the doors to the helpers lie.
    pub(crate) doors: NamedPlace,
    pub(crate) memory_bytes: u32,
    pub(crate) process: ProcessLayout,
}

/// What stands where it begins.
#[derive(Clone, Copy)]
pub(crate) struct RoutineState {
    pub(crate) context: Value,
    pub(crate) frame: Value,
    pub(crate) base: Value,
    pub(crate) fp: Value,
    pub(crate) fuel: Value,
}

struct CodeRoutine<'r, 'f> {
    ins: &'r mut FunctionBuilder<'f>,
    places: RoutinePlaces,
    state: RoutineState,
    at: Value,
    bytes: Value,
    /// In a piece: the code that all functions share, and where the piece goes on.
    within: Option<(Within, Block)>,
    code_signature: SigRef,
    /// Where it is done another way.
    otherwise: Block,
}

/// Of code in a piece: the instruction and the slot, and where the code lies that all functions share.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    pub(crate) at: u32,
    pub(crate) slot: u16,
    pub(crate) shared: [NamedPlace; SharedCode::ALL.len()],
}

/// Makes such code.
pub(crate) fn make(
    ins: &mut FunctionBuilder<'_>,
    params: &[Value],
    which: SharedCode,
    places: RoutinePlaces,
) {
    let &[context, frame, fuel, place, ref words @ ..] = params else { unreachable!("four parameters") };
    let at = ins.ins().ireduce(types::I32, place);
    let bytes = ins.ins().ushr_imm_u(place, 32);
    let bytes = ins.ins().ireduce(types::I32, bytes);
    let base =
        ins.ins().load(types::I64, SLOT.with_readonly(), context, offset_of!(NativeContext, base) as i32);
    let fp = ins.ins().isub(frame, base);
    let fp = ins.ins().ireduce(types::I32, fp);
    let state = RoutineState { context, frame, base, fp, fuel };
    let code_signature = ins.import_signature(signature());
    let otherwise = ins.create_block();
    ins.set_cold_block(otherwise);
    let mut routine = CodeRoutine { ins, places, state, at, bytes, within: None, code_signature, otherwise };
    routine.instruction(which, words);
    routine.begin_block(otherwise);
    routine.leave_by(which.helper());
}

/// The same in a piece, which goes on behind it if the process need not wait and nothing is out of the ordinary: then
/// the code ends with what all functions share.
pub(crate) fn make_within(
    ins: &mut FunctionBuilder<'_>,
    (state, within): (RoutineState, Within),
    (which, words): (SharedCode, &[Value]),
    places: RoutinePlaces,
) {
    let [further, otherwise] = [0; 2].map(|_| ins.create_block());
    ins.set_cold_block(otherwise);
    let at = ins.ins().iconst(types::I32, i64::from(within.at));
    let bytes = ins.ins().iconst(types::I32, 4 * i64::from(within.slot));
    let code_signature = ins.import_signature(signature());
    let within = Some((within, further));
    let mut routine = CodeRoutine { ins, places, state, at, bytes, within, code_signature, otherwise };
    routine.instruction(which, words);
    routine.begin_block(otherwise);
    routine.leave_to(which, words);
    routine.begin_block(further);
}

/// The code ends with what all functions share.
pub(crate) fn leave_to(
    ins: &mut FunctionBuilder<'_>,
    (state, within): (RoutineState, Within),
    (which, words): (SharedCode, &[Value]),
) {
    let code = within.shared[which as usize].value(ins);
    let place = i64::from(within.at) | (4 * i64::from(within.slot)) << 32;
    let place = ins.ins().iconst(types::I64, place);
    let signature = ins.import_signature(which.signature());
    let args = [state.context, state.frame, state.fuel, place].into_iter().chain(words.iter().copied());
    let args: Vec<Value> = args.collect();
    ins.ins().return_call_indirect(signature, code, &args);
}

impl CodeRoutine<'_, '_> {
    fn instruction(&mut self, which: SharedCode, words: &[Value]) {
        match (which, words) {
            (SharedCode::Output, &[channel, value]) => self.talk(channel, Some(value)),
            (SharedCode::Input, &[channel]) => self.talk(channel, None),
            (SharedCode::Fork, &[entry]) => self.fork(entry),
            (SharedCode::Join, []) => self.join(),
            (SharedCode::End, []) => self.end(),
            _ => unreachable!("{which:?} has its words"),
        }
    }

    /// In a piece the code ends with what all functions share.
    fn leave_to(&mut self, which: SharedCode, words: &[Value]) {
        let Some((within, _)) = self.within else { unreachable!("it is in a piece") };
        leave_to(self.ins, (self.state, within), (which, words));
    }

    fn context_field(&mut self, place: usize) -> Value {
        self.ins.ins().load(types::I64, SLOT, self.state.context, place as i32)
    }

    /// A block to which all jumps are made.
    fn begin_block(&mut self, block: Block) {
        self.ins.switch_to_block(block);
        self.ins.seal_block(block);
    }

    /// It is done another way if the condition holds.
    fn divert_if(&mut self, condition: Value) {
        let further = self.ins.create_block();
        self.ins.ins().brif(condition, self.otherwise, &[], further, &[]);
        self.begin_block(further);
    }

    /// The ring, if compiled code may dispatch.
    fn only_with_ring(&mut self) -> Value {
        let ring = self.context_field(offset_of!(NativeContext, ring));
        let not_here = self.ins.ins().icmp_imm_s(IntCC::Equal, ring, 0);
        self.divert_if(not_here);
        ring
    }

    /// Where the slot lies that it is about.
    fn slot(&mut self) -> Value {
        let bytes = self.ins.ins().uextend(types::I64, self.bytes);
        self.ins.ins().iadd(self.state.frame, bytes)
    }

    /// Goes on behind the instruction.
    fn go_on(&mut self) {
        if let Some((_, further)) = self.within {
            self.ins.ins().jump(further, &[]);
            return;
        }
        let next = self.ins.ins().iadd_imm_s(self.at, 1);
        let wide = self.ins.ins().uextend(types::I64, self.at);
        let offset = self.ins.ins().ishl_imm_s(wide, 3);
        let codes = self.places.codes.value(self.ins);
        let entry = self.ins.ins().iadd(codes, offset);
        let code = self.ins.ins().load(types::I64, SLOT, entry, size_of::<usize>() as i32);
        let args = [self.state.context, self.state.frame, self.state.fuel, next];
        self.ins.ins().return_call_indirect(self.code_signature, code, &args);
    }

    fn leave_by(&mut self, helper: Helper) {
        let place = self.places.doors.plus(helper as usize * size_of::<usize>()).value(self.ins);
        let code = self.ins.ins().load(types::I64, SLOT, place, 0);
        let args = [self.state.context, self.state.frame, self.state.fuel, self.at];
        self.ins.ins().return_call_indirect(self.code_signature, code, &args);
    }
}

/// Calls the helper for the instruction that is the last parameter, and jumps to where it says, which is behind the
/// instruction if it says nothing.
pub(crate) fn door(
    ins: &mut FunctionBuilder<'_>,
    params: &[Value],
    (helper, call_conv): (usize, CallConv),
    codes: NamedPlace,
) {
    let &[context, frame, fuel, at] = params else { unreachable!("four parameters") };
    ins.ins().store(SLOT, fuel, context, offset_of!(NativeContext, fuel) as i32);
    let place = offset_of!(NativeContext, helpers) + helper * size_of::<usize>();
    let function = ins.ins().load(types::I64, SLOT, context, place as i32);
    let (outside, inside) =
        (ins.import_signature(helper_signature(call_conv)), ins.import_signature(signature()));
    let call = ins.ins().call_indirect(outside, function, &[context, frame, at]);
    let code = ins.inst_results(call)[0];
    let (away, behind) = (ins.create_block(), ins.create_block());
    ins.ins().brif(code, away, &[], behind, &[]);
    ins.switch_to_block(behind);
    let fuel = ins.ins().load(types::I32, SLOT, context, offset_of!(NativeContext, fuel) as i32);
    let next = ins.ins().iadd_imm_s(at, 1);
    let wide = ins.ins().uextend(types::I64, next);
    let offset = ins.ins().ishl_imm_s(wide, 3);
    let codes = codes.value(ins);
    let entry = ins.ins().iadd(codes, offset);
    let behind_code = ins.ins().load(types::I64, SLOT, entry, 0);
    ins.ins().return_call_indirect(inside, behind_code, &[context, frame, fuel, next]);
    ins.switch_to_block(away);
    let mut load = |ty, place: usize| ins.ins().load(ty, SLOT, context, place as i32);
    let frame = load(types::I64, offset_of!(NativeContext, frame));
    let fuel = load(types::I32, offset_of!(NativeContext, fuel));
    let at = load(types::I32, offset_of!(NativeContext, at));
    ins.ins().return_call_indirect(inside, code, &[context, frame, fuel, at]);
}
