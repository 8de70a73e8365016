//! Owns: the code of a program: its functions together, and the tables by which they find each other.
//! May use: `blocks`, `function`, `pages`, `plan`, `views`, `cranelift-codegen`, `cranelift-frontend`,
//! `cranelift-native`, `raddle-bytecode`, `raddle-vm`.
//! Never: an address in code that is not known when it is made: so nothing must be changed in it afterwards.

use crate::blocks::INSTRUCTIONS_MAX;
use crate::function::{Common, ResumePoints, ReturnRecord, Translation, helper_signature, signature};
use crate::pages::Pages;
use crate::plan::Plan;
use crate::views::Views;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, Function as Clif, InstBuilder as _, MemFlagsData, Signature, UserFuncName, Value, types,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use raddle_bytecode::{Module, Verified};
use raddle_vm::native::{Enter, HELPERS, NativeCode, NativeContext, NativeSite, ProcessLayout};
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};

/// Functions begin at multiples of it.
const ALIGNMENT: usize = 32;

/// What of the machine code is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryPlace {
    pub(crate) bytes: u32,
    pub(crate) data: u32,
    pub(crate) process: ProcessLayout,
}

/// What is kept as long as the code may run. Its code knows where the tables lie.
struct Keeper {
    _pages: Pages,
    _returns: Box<[ReturnRecord]>,
    _indexes: Box<[u32]>,
    _doors: Box<[usize]>,
    _names: Vec<Box<[u8]>>,
    _gaps: Vec<Box<[u32]>>,
}

/// A piece of code, and where it can be entered: the instructions, by number of the entry.
struct Compiled {
    offset: usize,
    points: ResumePoints,
}

/// The ways between the machine and compiled code, as offsets.
struct Ways {
    enter: usize,
    leave: usize,
    leave_by_record: usize,
    doors: Vec<usize>,
}

/// A program on its way to code.
struct Compilation<'p> {
    isa: OwnedTargetIsa,
    program: &'p Module,
    code: Vec<u8>,
    compiled: Vec<Compiled>,
    names: Vec<Box<[u8]>>,
    gaps: Vec<Box<[u32]>>,
    context: Context,
    builder: FunctionBuilderContext,
    /// What is to be read of it, and so far is.
    listing: Option<(Listing, String)>,
}

/// How the code of a program is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// As Cranelift is given it.
    Clif,
    /// As instructions of the processor, with names for registers and places.
    Assembly,
}

/// The target of this machine.
fn target() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        // Jumps that replace calls want them.
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", verify),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}

/// Makes code of a program; and a listing of it, if one is wanted.
pub(crate) fn compile(
    program: &Verified,
    sites: &[NativeSite],
    memory: MemoryPlace,
    listing: Option<Listing>,
) -> Result<(NativeCode, String), String> {
    let program = program.module();
    let returns = vec![ReturnRecord::default(); sites.len()].into_boxed_slice();
    let count = program.code.len();
    let (codes, indexes) = (vec![0; count].into_boxed_slice(), vec![0; count].into_boxed_slice());
    let doors = vec![0; HELPERS].into_boxed_slice();
    let mut compilation = Compilation {
        isa: target()?,
        program,
        code: Vec::new(),
        compiled: Vec::new(),
        names: Vec::new(),
        gaps: Vec::new(),
        context: Context::new(),
        builder: FunctionBuilderContext::new(),
        listing: listing.map(|kind| (kind, String::new())),
    };
    let common = Common {
        module: program,
        sites,
        memory_bytes: memory.bytes,
        data: memory.data,
        returns: returns.as_ptr() as usize,
        codes: codes.as_ptr() as usize,
        indexes: indexes.as_ptr() as usize,
        doors: doors.as_ptr() as usize,
        process: memory.process,
    };
    let ways = compilation.ways(&common)?;
    for number in 0..program.functions.len() {
        compilation.define(number, &common)?;
    }
    compilation.finish(ways, sites, Tables { returns, codes, indexes, doors })
}

/// Where the code finds what is known only when all of it is made.
struct Tables {
    returns: Box<[ReturnRecord]>,
    codes: Box<[usize]>,
    indexes: Box<[u32]>,
    doors: Box<[usize]>,
}

impl Compilation<'_> {
    /// Makes code of what the context has; gives its place.
    fn add(&mut self, what: &str) -> Result<usize, String> {
        if let Some((kind, text)) = &mut self.listing {
            let _ = writeln!(text, "; {what}");
            match kind {
                Listing::Clif => drop(writeln!(text, "{}", self.context.func.display())),
                Listing::Assembly => self.context.set_disasm(true),
            }
        }
        let compiled = self
            .context
            .compile(&*self.isa, &mut ControlPlane::default())
            .map_err(|error| format!("{:?}", error.inner))?;
        if !compiled.buffer.relocs().is_empty() {
            return Err("the code names something outside".to_owned());
        }
        if let Some((Listing::Assembly, text)) = &mut self.listing {
            let _ = writeln!(text, "{}", compiled.vcode.as_deref().unwrap_or_default());
        }
        self.code.resize(self.code.len().next_multiple_of(ALIGNMENT), 0);
        let offset = self.code.len();
        self.code.extend_from_slice(compiled.code_buffer());
        self.context.clear();
        Ok(offset)
    }

    /// The way into compiled code, the ways out, and the doors: code that calls a helper and then jumps to where that
    /// says. What leaves by a door keeps nothing in registers over a call, and so has none to save.
    fn ways(&mut self, common: &Common<'_>) -> Result<Ways, String> {
        let mut outer = Signature::new(self.isa.default_call_conv());
        outer.params.extend([types::I64, types::I64, types::I64, types::I32, types::I32].map(AbiParam::new));
        let enter = self.way(0, outer, |ins, params| {
            let &[context, code, frame, fuel, at] = params else { unreachable!("five parameters") };
            let inner = ins.import_signature(signature());
            ins.ins().call_indirect(inner, code, &[context, frame, fuel, at]);
            ins.ins().return_(&[]);
        })?;
        let leave = self.way(1, signature(), |ins, _| {
            ins.ins().return_(&[]);
        })?;
        let leave_by_record = self.way(2, signature(), |ins, params| {
            let one = ins.ins().iconst(types::I32, 1);
            let place = offset_of!(NativeContext, by_record) as i32;
            ins.ins().store(MemFlagsData::trusted(), one, params[0], place);
            let place = offset_of!(NativeContext, fuel) as i32;
            ins.ins().store(MemFlagsData::trusted(), params[2], params[0], place);
            ins.ins().return_(&[]);
        })?;
        let call_conv = self.isa.default_call_conv();
        let doors = (0..HELPERS)
            .map(|helper| {
                self.way(3 + helper as u32, signature(), |ins, params| {
                    door(ins, params, (helper, call_conv), common)
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Ways { enter, leave, leave_by_record, doors })
    }

    /// Code that is not a function's; gives its place.
    fn way(
        &mut self,
        number: u32,
        signature: Signature,
        make: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
    ) -> Result<usize, String> {
        let config = self.isa.frontend_config();
        self.context.func = Clif::with_name_signature(UserFuncName::user(1, number), signature);
        let mut ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let block = ins.create_block();
        ins.append_block_params_for_function_params(block);
        ins.switch_to_block(block);
        let params = ins.block_params(block).to_vec();
        make(&mut ins, &params);
        ins.seal_all_blocks();
        ins.finalize(config);
        self.add(&format!("way {number}"))
    }

    fn define(&mut self, number: usize, common: &Common<'_>) -> Result<(), String> {
        let function = self.program.functions[number].clone();
        if function.count > INSTRUCTIONS_MAX {
            return Ok(());
        }
        let views = Views::of(&function, &self.program.code);
        // What an access at its beginning or its end reaches lies before and behind it.
        const BEFORE: usize = 2;
        let is_named = |slot: u32| u16::try_from(slot).is_ok_and(|slot| views.name(slot));
        let slots = (0..function.slots + 4).map(|slot| u8::from(is_named(slot)));
        let names: Box<[u8]> = std::iter::repeat_n(0, BEFORE).chain(slots).collect();
        let place = names.as_ptr() as usize + BEFORE;
        let behind = views.behind();
        let mut gaps = vec![u32::MAX; behind as usize + 1].into_boxed_slice();
        for slot in (0..behind).rev() {
            gaps[slot as usize] = if is_named(slot) { 4 * slot } else { gaps[slot as usize + 1] };
        }
        let plan = Plan::of(&function, &self.program.code, views, (place, gaps.as_ptr() as usize));
        self.names.push(names);
        self.gaps.push(gaps);
        for piece in plan.pieces() {
            let config = self.isa.frontend_config();
            self.context.func = Clif::with_name_signature(UserFuncName::user(0, number as u32), signature());
            let ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
            let (ins, points) = Translation::run(ins, common, &function, (&plan, &piece));
            ins.finalize(config);
            let name = self.program.string(function.name);
            let offset = self.add(&format!("{name}, from instructions {points:?}"))?;
            self.compiled.push(Compiled { offset, points });
        }
        Ok(())
    }

    fn finish(
        self,
        ways: Ways,
        sites: &[NativeSite],
        mut tables: Tables,
    ) -> Result<(NativeCode, String), String> {
        let pages = Pages::with(&self.code).map_err(|error| error.to_string())?;
        let place = |offset: usize| pages.address() + offset;
        let leave_by_record = place(ways.leave_by_record);
        tables.codes.fill(leave_by_record);
        for compiled in &self.compiled {
            for (index, &at) in compiled.points.iter().enumerate() {
                tables.codes[at as usize] = place(compiled.offset);
                tables.indexes[at as usize] = index as u32;
            }
        }
        for (record, site) in tables.returns.iter_mut().zip(sites) {
            let code = tables.codes[site.back as usize];
            *record = ReturnRecord {
                code: if site.dynamic || code == leave_by_record { 0 } else { code },
                base_bytes: site.base_bytes,
                caller_fp_max: site.caller_fp_max,
                cost: site.return_cost,
                back: site.back,
            };
        }
        tables.doors.iter_mut().zip(&ways.doors).for_each(|(door, &offset)| *door = place(offset));
        // SAFETY: code of this signature lies there, and can be executed.
        let enter = unsafe { std::mem::transmute::<usize, Enter>(place(ways.enter)) };
        let leave = place(ways.leave);
        let Tables { returns, codes, indexes, doors } = tables;
        let (_names, _gaps) = (self.names, self.gaps);
        let keeper =
            Keeper { _pages: pages, _returns: returns, _indexes: indexes, _doors: doors, _names, _gaps };
        let text = self.listing.map(|(_, text)| text).unwrap_or_default();
        Ok((NativeCode { enter, leave, leave_by_record, codes, keeper: Box::new(keeper) }, text))
    }
}

/// Calls the helper for the instruction that is the last parameter, and jumps to where it says, which is behind the
/// instruction if it says nothing.
fn door(
    ins: &mut FunctionBuilder<'_>,
    params: &[Value],
    (helper, call_conv): (usize, CallConv),
    common: &Common<'_>,
) {
    let &[context, frame, fuel, at] = params else { unreachable!("four parameters") };
    let flags = MemFlagsData::trusted();
    ins.ins().store(flags, fuel, context, offset_of!(NativeContext, fuel) as i32);
    let place = offset_of!(NativeContext, helpers) + helper * size_of::<usize>();
    let function = ins.ins().load(types::I64, flags, context, place as i32);
    let (outside, inside) =
        (ins.import_signature(helper_signature(call_conv)), ins.import_signature(signature()));
    let call = ins.ins().call_indirect(outside, function, &[context, frame, at]);
    let code = ins.inst_results(call)[0];
    let (away, behind) = (ins.create_block(), ins.create_block());
    ins.ins().brif(code, away, &[], behind, &[]);
    ins.switch_to_block(behind);
    let fuel = ins.ins().load(types::I32, flags, context, offset_of!(NativeContext, fuel) as i32);
    let next = ins.ins().iadd_imm_s(at, 1);
    let wide = ins.ins().uextend(types::I64, next);
    let offset = ins.ins().ishl_imm_s(wide, 3);
    let codes = ins.ins().iconst(types::I64, common.codes as i64);
    let entry = ins.ins().iadd(codes, offset);
    let behind_code = ins.ins().load(types::I64, flags, entry, 0);
    ins.ins().return_call_indirect(inside, behind_code, &[context, frame, fuel, next]);
    ins.switch_to_block(away);
    let mut load = |ty, place: usize| ins.ins().load(ty, flags, context, place as i32);
    let frame = load(types::I64, offset_of!(NativeContext, frame));
    let fuel = load(types::I32, offset_of!(NativeContext, fuel));
    let at = load(types::I32, offset_of!(NativeContext, at));
    ins.ins().return_call_indirect(inside, code, &[context, frame, fuel, at]);
}
