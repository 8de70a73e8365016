//! Owns: the code of a program: its functions, as far as they are made, and the tables by which they find each other.
//! May use: `align`, `blocks`, `clock`, `convention`, `function`, `gdb`, `lines`, `object`, `pages`, `perf`, `plan`,
//! `routine`, `views`, `cranelift-codegen`, `cranelift-frontend`, `cranelift-native`, `raddle-bytecode`, `raddle-host`,
//! `raddle-vm`.
//! Never: an address in code that is not known when it is made: so nothing must be changed in it afterwards.
//!
//! Code finds other code by tables, in which there is the way out for what is not made yet. Functions may be made
//! while other OS threads run what there is: an entry is one word, which is written when what it leads to is there.

use crate::align::{self, SourceRow};
use crate::blocks::INSTRUCTIONS_MAX;
use crate::clock::processor_time;
use crate::convention::{NamedPlace, signature};
use crate::function::{Common, Compiled, ReturnRecord, Translation};
use crate::gdb::ShownToGdb;
use crate::lines::RoutineCode;
use crate::object::{ObjectParts, Table};
use crate::pages::{Pages, show_to_all};
use crate::perf::PerfMap;
use crate::plan::FunctionPlan;
use crate::routine::{self, RoutinePlaces, SharedCode, door};
use crate::views::Views;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{
    AbiParam, Function as Clif, InstBuilder as _, MemFlagsData, Signature, SourceLoc, UserFuncName, Value,
    types,
};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable as _};
use cranelift_codegen::{Final, MachSrcLoc};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use raddle_bytecode::{Module, Verified};
use raddle_host::CompileInput;
use raddle_vm::native::{
    CodeChecks, CodeEntry, CodeTable, CodeWord, Enter, HELPERS, Keep, NativeCode, NativeContext, NativeSite,
};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The ways between the machine and compiled code, as places.
#[derive(Clone, Copy)]
struct Ways {
    enter: usize,
    leave: usize,
    leave_there: usize,
    shared: [NamedPlace; SharedCode::ALL.len()],
}

/// Where the code finds what is known only when other code is made. Code has their addresses in it.
struct CodeTables {
    returns: Box<[ReturnRecord]>,
    codes: CodeTable,
    doors: Box<[AtomicUsize]>,
}

/// Makes the code of a program, all at once or bit by bit, and keeps what it made: whoever runs it has to keep this.
pub(crate) struct Factory {
    isa: OwnedTargetIsa,
    program: Module,
    input: CompileInput,
    tables: CodeTables,
    ways: Ways,
    /// Whether there is code of each function, or can be none.
    is_made: Vec<bool>,
    /// What is made and not yet in pages.
    code: Vec<u8>,
    compiled: Vec<Compiled>,
    context: Context,
    builder: FunctionBuilderContext,
    /// The routines of which it is, for who looks at it.
    routines: Vec<RoutineCode>,
    /// What is to be read of it, and so far is.
    listing: Option<(Listing, String)>,
    /// It goes into an object file, with this.
    object: Option<ObjectParts>,
    shown: Vec<ShownToGdb>,
    names: Vec<Box<[u8]>>,
    gaps: Vec<Box<[u32]>>,
    pages: Vec<Pages>,
    perf_map: Option<PerfMap>,
    /// How much processor time the ways took, in microseconds.
    ways_micros: u64,
    checks: CodeChecks,
}

/// What the machine has to know of code.
pub(crate) struct Entrances {
    ways: Ways,
    codes: CodeTable,
}

impl Entrances {
    /// The code, as long as that one keeps it.
    pub(crate) fn kept_by(self, keeper: Box<dyn Keep>) -> NativeCode {
        let Ways { enter, leave, leave_there, .. } = self.ways;
        // SAFETY: code of this signature lies there, and can be executed.
        let enter = unsafe { std::mem::transmute::<usize, Enter>(enter) };
        NativeCode { enter, leave, leave_there, codes: self.codes, keeper }
    }
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
    let verify = if cfg!(any(debug_assertions, feature = "mistakes")) { "true" } else { "false" };
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

impl Factory {
    /// With the ways into code and out of it, and no code yet. What it makes is listed, if that is wanted.
    pub(crate) fn new(
        program: &Verified,
        input: &CompileInput,
        listing: Option<Listing>,
    ) -> Result<Factory, String> {
        let listing = listing.map(|kind| (kind, String::new()));
        Factory { listing, ..Factory::empty(program, input)? }.with_ways()
    }

    /// The same, for an object file.
    pub(crate) fn for_object(program: &Verified, input: &CompileInput) -> Result<Factory, String> {
        Factory { object: Some(ObjectParts::default()), ..Factory::empty(program, input)? }.with_ways()
    }

    fn empty(program: &Verified, input: &CompileInput) -> Result<Factory, String> {
        let program = program.module().clone();
        let count = program.code.len();
        Ok(Factory {
            isa: target()?,
            tables: CodeTables {
                returns: input.sites.iter().map(ReturnRecord::of).collect(),
                codes: CodeTable::new(count, 0),
                doors: (0..HELPERS).map(|_| AtomicUsize::new(0)).collect(),
            },
            input: input.clone(),
            ways: Ways {
                enter: 0,
                leave: 0,
                leave_there: 0,
                shared: [NamedPlace::At(0); SharedCode::ALL.len()],
            },
            is_made: program.functions.iter().map(|function| function.count > INSTRUCTIONS_MAX).collect(),
            program,
            code: Vec::new(),
            compiled: Vec::new(),
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            routines: Vec::new(),
            listing: None,
            object: None,
            shown: Vec::new(),
            names: Vec::new(),
            gaps: Vec::new(),
            pages: Vec::new(),
            perf_map: None,
            ways_micros: 0,
            checks: CodeChecks::default(),
        })
    }

    fn with_ways(mut self) -> Result<Factory, String> {
        let before = processor_time();
        self.make_ways()?;
        self.ways_micros = processor_time().saturating_sub(before);
        Ok(self)
    }

    /// The object file of all that was made.
    pub(crate) fn object(self) -> Vec<u8> {
        let Factory { program, input, code, routines, compiled, object, ways, .. } = self;
        let parts = object.unwrap_or_default();
        parts.written(
            (&program, &input),
            code,
            &routines,
            &compiled,
            [ways.enter, ways.leave, ways.leave_there],
        )
    }

    /// Where a table lies that code names.
    fn table(&self, table: Table) -> NamedPlace {
        if self.object.is_some() {
            return table.place();
        }
        NamedPlace::At(match table {
            Table::Codes => self.tables.codes.place(),
            Table::Numbers => self.tables.codes.numbers_place(),
            Table::Returns => self.tables.returns.as_ptr() as usize,
            Table::Doors => self.tables.doors.as_ptr() as usize,
            Table::Code | Table::Slots => unreachable!("they lie where they are made"),
        })
    }

    /// From now on what is made gets a name for `perf`.
    pub(crate) fn name_for_perf(&mut self) -> Result<(), String> {
        self.perf_map = Some(PerfMap::new()?);
        Ok(())
    }

    /// How much processor time it took to make the ways, in microseconds.
    pub(crate) fn ways_micros(&self) -> u64 {
        self.ways_micros
    }

    /// Of what was made so far.
    pub(crate) fn checks(&self) -> CodeChecks {
        self.checks
    }

    /// What was listed.
    pub(crate) fn listed(self) -> String {
        self.listing.map(|(_, text)| text).unwrap_or_default()
    }

    /// Where the machine comes in, and finds the code.
    pub(crate) fn entrances(&self) -> Entrances {
        Entrances { ways: self.ways, codes: self.tables.codes.clone() }
    }

    /// Makes code of those functions of which there is none; from then on the machine finds it.
    pub(crate) fn make(&mut self, functions: impl Iterator<Item = usize>) -> Result<(), String> {
        for number in functions {
            if !std::mem::replace(&mut self.is_made[number], true) {
                self.define(number)?;
            }
        }
        if self.compiled.is_empty() || self.object.is_some() {
            return Ok(());
        }
        let bytes = self.code.len();
        let place = self.lay_out()?;
        let compiled = std::mem::take(&mut self.compiled);
        let entries = compiled.iter().flat_map(|Compiled { offset, points, .. }| {
            let entry = move |(number, &at)| CodeEntry { at, number: number as u32, code: place + offset };
            points.iter().enumerate().map(entry)
        });
        self.tables.codes.publish(entries, show_to_all);
        for Compiled { offset, bytes, points } in &compiled {
            if let (Some(map), Some(&first)) = (&mut self.perf_map, points.first()) {
                map.name((place + offset, *bytes), &self.program, first);
            }
        }
        self.shown.push(ShownToGdb::new(&self.program, (place, bytes), &self.routines));
        self.routines.clear();
        for (record, site) in self.tables.returns.iter().zip(&self.input.sites) {
            let code = self.tables.codes.get(site.back as usize);
            record.code.lead_to(code.filter(|_| !site.dynamic).unwrap_or(0));
        }
        Ok(())
    }

    /// What is made goes into pages; gives where it lies there.
    fn lay_out(&mut self) -> Result<usize, String> {
        let pages = Pages::with(&self.code).map_err(|error| error.to_string())?;
        self.code.clear();
        let place = pages.address();
        self.pages.push(pages);
        Ok(place)
    }

    /// Makes code of what the context has, with these loops in it, each by its first and its last instruction; gives
    /// its place.
    fn add(&mut self, what: &str, loops: &[(u32, u32)]) -> Result<usize, String> {
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
        let names = compiled.buffer.relocs().to_vec();
        if let Some((Listing::Assembly, text)) = &mut self.listing {
            let _ = writeln!(text, "{}", compiled.vcode.as_deref().unwrap_or_default());
        }
        let rows: Vec<SourceRow> = compiled.buffer.get_srclocs_sorted().iter().map(row).collect();
        self.code.resize(align::place(&rows, loops, self.code.len()), 0);
        let offset = self.code.len();
        self.code.extend_from_slice(compiled.code_buffer());
        match &mut self.object {
            Some(object) => object.note(offset, &names, &self.context.func.params)?,
            None if names.is_empty() => {}
            None => return Err("the code names something outside".to_owned()),
        }
        if let Some(routine) = self.routines.last_mut() {
            let known = rows.iter().filter(|row| row.at != SourceLoc::default().bits());
            routine.rows.extend(known.map(|row| (offset + row.start, row.at)));
            routine.offset = if routine.bytes == 0 { offset } else { routine.offset };
            routine.bytes = self.code.len() - routine.offset;
        }
        self.context.clear();
        Ok(offset)
    }

    /// The way into compiled code, the ways out, and the doors: code that calls a helper and then jumps to where that
    /// says. What leaves by a door keeps nothing in registers over a call, and so has none to save.
    fn make_ways(&mut self) -> Result<(), String> {
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
        let leave_there = self.way(2, signature(), |ins, params| {
            let &[context, frame, fuel, at] = params else { unreachable!("four parameters") };
            let flags = MemFlagsData::trusted();
            let one = ins.ins().iconst(types::I32, 1);
            ins.ins().store(flags, one, context, offset_of!(NativeContext, goes_on) as i32);
            ins.ins().store(flags, frame, context, offset_of!(NativeContext, frame) as i32);
            ins.ins().store(flags, fuel, context, offset_of!(NativeContext, fuel) as i32);
            ins.ins().store(flags, at, context, offset_of!(NativeContext, at) as i32);
            ins.ins().return_(&[]);
        })?;
        let (call_conv, codes) = (self.isa.default_call_conv(), self.table(Table::Codes));
        let doors: Vec<usize> = (0..HELPERS)
            .map(|helper| {
                self.way(3 + helper as u32, signature(), |ins, params| {
                    door(ins, params, (helper, call_conv), codes)
                })
            })
            .collect::<Result<_, _>>()?;
        let places = RoutinePlaces {
            codes,
            doors: self.table(Table::Doors),
            memory_bytes: self.input.memory_bytes,
            process: self.input.process,
        };
        let mut shared = [0; SharedCode::ALL.len()];
        for which in SharedCode::ALL {
            let number = (3 + HELPERS) as u32 + which as u32;
            shared[which as usize] = self.way(number, which.signature(), |ins, params| {
                routine::make(ins, params, which, places);
            })?;
        }
        if let Some(object) = &mut self.object {
            object.doors = doors;
            let shared = shared.map(|offset| Table::Code.place().plus(offset));
            self.ways = Ways { enter, leave, leave_there, shared };
            return Ok(());
        }
        let place = self.lay_out()?;
        let shared = shared.map(|offset| NamedPlace::At(place + offset));
        // Nobody else knows of all this yet: whoever runs the program is given it, which orders more.
        self.tables.doors.iter().zip(doors).for_each(|(door, it)| door.store(place + it, Ordering::Relaxed));
        let [enter, leave, leave_there] = [enter, leave, leave_there].map(|offset| place + offset);
        self.ways = Ways { enter, leave, leave_there, shared };
        self.tables.codes.fill(leave_there);
        for (record, site) in self.tables.returns.iter().zip(&self.input.sites) {
            record.code.lead_to(if site.dynamic { 0 } else { leave_there });
        }
        Ok(())
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
        self.add(&format!("way {number}"), &[])
    }

    fn define(&mut self, number: usize) -> Result<(), String> {
        let function = self.program.functions[number].clone();
        let views = Views::of(&function, &self.program.code);
        // What an access at its beginning or its end reaches lies before and behind it.
        const BEFORE: usize = 2;
        let is_named = |slot: u32| u16::try_from(slot).is_ok_and(|slot| views.name(slot));
        let slots = (0..function.slots + 4).map(|slot| u8::from(is_named(slot)));
        let names: Box<[u8]> = std::iter::repeat_n(0, BEFORE).chain(slots).collect();
        let behind = views.behind();
        let mut gaps = vec![u32::MAX; behind as usize + 1].into_boxed_slice();
        for slot in (0..behind).rev() {
            gaps[slot as usize] = if is_named(slot) { 4 * slot } else { gaps[slot as usize + 1] };
        }
        let places = match &mut self.object {
            Some(object) => object.add_slots((&names, BEFORE), &gaps),
            None => [names.as_ptr() as usize + BEFORE, gaps.as_ptr() as usize].map(NamedPlace::At),
        };
        let plan = FunctionPlan::of(&function, &self.program.code, views, places);
        // One that could not be compiled has none.
        self.routines.pop_if(|routine| routine.bytes == 0);
        self.routines.push(RoutineCode { number, offset: 0, bytes: 0, rows: Vec::new() });
        self.names.push(names);
        self.gaps.push(gaps);
        for piece in plan.pieces() {
            let config = self.isa.frontend_config();
            self.context.func = Clif::with_name_signature(UserFuncName::user(0, number as u32), signature());
            let common = Common {
                module: &self.program,
                sites: &self.input.sites,
                memory_bytes: self.input.memory_bytes,
                data: self.input.data,
                returns: self.table(Table::Returns),
                codes: self.table(Table::Codes),
                indexes: self.table(Table::Numbers),
                doors: self.table(Table::Doors),
                process: self.input.process,
                shared: self.ways.shared,
            };
            let mut unproven = None;
            let (points, checks, loops) = loop {
                let ins = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
                let it = Translation::run(ins, &common, &function, (&plan, &piece), unproven);
                it.ins.finalize(config);
                if it.found.is_empty() {
                    break (it.points, it.checks, it.loops);
                }
                unproven = Some(it.found);
                let name = UserFuncName::user(0, number as u32);
                self.context.func = Clif::with_name_signature(name, signature());
            };
            self.checks.made += checks.made;
            self.checks.left_out += checks.left_out;
            let title = format!("{}, from instructions {points:?}", self.program.string(function.name));
            let offset = self.add(&title, &loops)?;
            self.compiled.push(Compiled { offset, bytes: self.code.len() - offset, points });
        }
        Ok(())
    }
}

fn row(row: &MachSrcLoc<Final>) -> SourceRow {
    SourceRow { start: row.start as usize, end: row.end as usize, at: row.loc.bits() }
}

impl ReturnRecord {
    fn of(site: &NativeSite) -> ReturnRecord {
        ReturnRecord {
            code: CodeWord::new(0),
            base_bytes: site.base_bytes,
            caller_fp_max: site.caller_fp_max,
            cost: site.return_cost,
            back: site.back,
        }
    }
}
