//! Owns: the code of a program: its functions together, and the tables by which they find each other.
//! May use: `blocks`, `function`, `pages`, `views`, `cranelift-codegen`, `cranelift-frontend`, `cranelift-native`,
//! `raddle-bytecode`, `raddle-vm`.
//! Never: an address in code that is not known when it is made: so nothing must be changed in it afterwards.

use crate::blocks::INSTRUCTIONS_MAX;
use crate::function::{Common, ResumePoints, ReturnRecord, Translation, signature};
use crate::pages::Pages;
use crate::views::Views;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, Function as Clif, InstBuilder as _, MemFlagsData, Signature, UserFuncName, types,
};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use raddle_bytecode::{Module, Verified};
use raddle_vm::native::{Enter, NativeCode, NativeContext, NativeSite, ProcessLayout, Resume};
use std::mem::offset_of;

/// Functions begin at multiples of it.
const ALIGNMENT: usize = 32;

/// What of the machine code is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryPlace {
    pub(crate) bytes: u32,
    pub(crate) data: u32,
    pub(crate) process: ProcessLayout,
}

/// What is kept as long as the code may run.
struct Keeper {
    _pages: Pages,
    _returns: Box<[ReturnRecord]>,
    _jumps: Box<[Resume]>,
    _names: Vec<Box<[u8]>>,
}

/// A function's place in the code, and its resume points.
struct Compiled {
    offset: usize,
    points: ResumePoints,
}

/// A program on its way to code.
struct Compilation<'p> {
    isa: OwnedTargetIsa,
    program: &'p Module,
    code: Vec<u8>,
    functions: Vec<Option<Compiled>>,
    names: Vec<Box<[u8]>>,
    context: Context,
    builder: FunctionBuilderContext,
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

/// Makes code of a program.
pub(crate) fn compile(
    program: &Verified,
    sites: &[NativeSite],
    memory: MemoryPlace,
) -> Result<NativeCode, String> {
    let program = program.module();
    let returns = vec![ReturnRecord::default(); sites.len()].into_boxed_slice();
    let jumps = vec![Resume::default(); program.code.len()].into_boxed_slice();
    let mut compilation = Compilation {
        isa: target()?,
        program,
        code: Vec::new(),
        functions: Vec::new(),
        names: Vec::new(),
        context: Context::new(),
        builder: FunctionBuilderContext::new(),
    };
    let ways = compilation.ways()?;
    let common = Common {
        module: program,
        sites,
        memory_bytes: memory.bytes,
        data: memory.data,
        returns: returns.as_ptr() as usize,
        jumps: jumps.as_ptr() as usize,
        process: memory.process,
    };
    for number in 0..program.functions.len() {
        let compiled = compilation.define(number, &common)?;
        compilation.functions.push(compiled);
    }
    compilation.finish(ways, sites, (returns, jumps))
}

impl Compilation<'_> {
    /// Makes code of what the context has; gives its place.
    fn add(&mut self) -> Result<usize, String> {
        let compiled = self
            .context
            .compile(&*self.isa, &mut ControlPlane::default())
            .map_err(|error| format!("{:?}", error.inner))?;
        if !compiled.buffer.relocs().is_empty() {
            return Err("the code names something outside".to_owned());
        }
        self.code.resize(self.code.len().next_multiple_of(ALIGNMENT), 0);
        let offset = self.code.len();
        self.code.extend_from_slice(compiled.code_buffer());
        self.context.clear();
        Ok(offset)
    }

    /// The way into compiled code, and the way out.
    fn ways(&mut self) -> Result<(usize, usize), String> {
        let mut outer = Signature::new(self.isa.default_call_conv());
        outer.params.extend([types::I64, types::I64, types::I64, types::I32, types::I32].map(AbiParam::new));
        let config = self.isa.frontend_config();
        self.context.func = Clif::with_name_signature(UserFuncName::user(1, 0), outer);
        let mut ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let block = ins.create_block();
        ins.append_block_params_for_function_params(block);
        ins.switch_to_block(block);
        let [context, code, frame, fuel, index] = *ins.block_params(block) else {
            unreachable!("five parameters")
        };
        let inner = ins.import_signature(signature());
        ins.ins().call_indirect(inner, code, &[context, frame, fuel, index]);
        ins.ins().return_(&[]);
        ins.seal_all_blocks();
        ins.finalize(config);
        let enter = self.add()?;
        self.context.func = Clif::with_name_signature(UserFuncName::user(1, 1), signature());
        let mut ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let block = ins.create_block();
        ins.append_block_params_for_function_params(block);
        ins.switch_to_block(block);
        let [context, _, _, index] = *ins.block_params(block) else { unreachable!("four parameters") };
        // Whether a jump had no code to go to.
        let place = offset_of!(NativeContext, by_record) as i32;
        ins.ins().store(MemFlagsData::trusted(), index, context, place);
        ins.ins().return_(&[]);
        ins.seal_all_blocks();
        ins.finalize(config);
        Ok((enter, self.add()?))
    }

    fn define(&mut self, number: usize, common: &Common<'_>) -> Result<Option<Compiled>, String> {
        let function = self.program.functions[number].clone();
        if function.count > INSTRUCTIONS_MAX {
            return Ok(None);
        }
        let views = Views::of(&function, &self.program.code);
        // What an access at its beginning or its end reaches lies before and behind it.
        const BEFORE: usize = 2;
        let is_named = |slot: u32| u16::try_from(slot).is_ok_and(|slot| views.name(slot));
        let slots = (0..function.slots + 4).map(|slot| u8::from(is_named(slot)));
        let names: Box<[u8]> = std::iter::repeat_n(0, BEFORE).chain(slots).collect();
        let place = names.as_ptr() as usize + BEFORE;
        self.names.push(names);
        let (call_conv, config) = (self.isa.default_call_conv(), self.isa.frontend_config());
        self.context.func = Clif::with_name_signature(UserFuncName::user(0, number as u32), signature());
        let ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let (ins, points) = Translation::run(ins, common, (function, call_conv), (views, place));
        ins.finalize(config);
        Ok(Some(Compiled { offset: self.add()?, points }))
    }

    fn finish(
        self,
        ways: (usize, usize),
        sites: &[NativeSite],
        (mut returns, mut jumps): (Box<[ReturnRecord]>, Box<[Resume]>),
    ) -> Result<NativeCode, String> {
        let pages = Pages::with(&self.code).map_err(|error| error.to_string())?;
        let mut resumes = vec![Resume::default(); self.program.code.len()];
        for compiled in self.functions.iter().flatten() {
            for (index, &at) in compiled.points.iter().enumerate() {
                resumes[at as usize] =
                    Resume { code: pages.address() + compiled.offset, index: index as u64 };
            }
        }
        for (record, site) in returns.iter_mut().zip(sites) {
            let resume = if site.dynamic { Resume::default() } else { resumes[site.back as usize] };
            *record = ReturnRecord {
                code: resume.code,
                index: resume.index as u32,
                base_bytes: site.base_bytes,
                caller_fp_max: site.caller_fp_max,
                cost: site.return_cost,
                back: site.back,
                unused: 0,
            };
        }
        let leave = pages.address() + ways.1;
        for (jump, resume) in jumps.iter_mut().zip(&resumes) {
            *jump = if resume.code == 0 { Resume { code: leave, index: 1 } } else { *resume };
        }
        // SAFETY: code of this signature lies there, and can be executed.
        let enter = unsafe { std::mem::transmute::<usize, Enter>(pages.address() + ways.0) };
        let keeper = Keeper { _pages: pages, _returns: returns, _jumps: jumps, _names: self.names };
        Ok(NativeCode { enter, leave, resumes: resumes.into(), keeper: Box::new(keeper) })
    }
}
