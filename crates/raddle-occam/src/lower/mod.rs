//! Owns: checked programs to bytecode.
//! May use: `checked`, `free`, `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: judges a program; the checker has, as [`Checked`] proves. What it cannot lower yet it says with a place.
//!
//! One walk in the order of the text. A PROC or FUNCTION becomes a function of the bytecode, and the names from
//! outside that it uses become parameters before its own (`free`). The branches of a PAR stay in the function
//! around, each with slots of its own in the frame; the body of a replicated PAR becomes a function that copies
//! what it needs from its parent's frame when it starts.
//!
//! Slots are a stack: a scope or a statement takes what it needs and gives it back at its end. A value lives in
//! slots; an array in memory, with its address and its size in two slots (`View`). Where a name lives is its
//! `Home`.

mod alt;
mod array;
mod barrier;
mod branch;
mod call;
mod choice;
mod constant;
mod convert;
mod ends;
mod entry;
mod expr;
mod foreign;
mod fork;
mod function;
mod instant;
mod message;
mod mobile;
mod operator;
mod par;
mod pass;
mod place;
mod placed;
mod predefined;
mod process;
mod release;
mod retype;
mod routine;
mod shape;
mod spec;
mod suspend;
mod table;
mod unsigned;
mod watch;

use raddle_bytecode::Module;
use raddle_bytecode::build::{FunctionId, ModuleBuilder};

use crate::ast::Ast;
use crate::checked::{ChannelUse, Checked};
use crate::diag::{Code, Diagnostic};
use crate::free::Free;
use crate::program::{NameId, Program, RoutineId};
use crate::source::{Sources, Span};
use crate::symbol::FastMap;
use function::{Function, Home};

/// The number of a slot.
type Slot = u16;

struct Lowerer<'a> {
    program: &'a Program,
    ast: &'a Ast,
    sources: &'a Sources,
    module: ModuleBuilder,
    free: Free,
    /// The function being made.
    f: Function,
    /// The functions that routines became.
    functions: FastMap<RoutineId, FunctionId>,
    /// What VAL names are, when constant.
    constants: FastMap<NameId, Option<constant::Constant>>,
    /// Constant bytes that are in the module already.
    data: FastMap<Vec<u8>, i32>,
    files: FastMap<String, u32>,
    watched: Watch,
    /// The place of the words that count mobile processes, if there are any.
    process_count: Option<i32>,
    /// The parameters of routines that suspend, once somebody has asked.
    lent: std::cell::OnceCell<std::collections::BTreeSet<NameId>>,
    diagnostics: Vec<Diagnostic>,
}

/// The bytecode of a checked program.
///
/// # Errors
/// What it uses that cannot be lowered yet.
///
/// ```
/// use raddle_occam::{Options, analyse, lower::lower, pre::NoFiles, source::Sources};
///
/// let mut sources = Sources::new();
/// let root = sources.add("skip.occ", "PROC main ()\n  SKIP\n:\n").unwrap();
/// let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
/// let checked = analysis.checked().ok().expect("nothing is wrong with it");
/// assert!(lower(&checked, &sources).is_ok());
/// ```
///
/// A program that has not been checked, or has been refused, is no [`Checked`], so this does not compile:
///
/// ```compile_fail,E0308
/// use raddle_occam::{Options, analyse, lower::lower, pre::NoFiles, source::Sources};
///
/// let mut sources = Sources::new();
/// let root = sources.add("race.occ", "PROC main ()\n  INT x:\n  PAR\n    x := 1\n    x := 2\n:\n").unwrap();
/// let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
/// let module = lower(analysis.program(), &sources);
/// ```
pub fn lower(checked: &Checked, sources: &Sources) -> Result<Module, Vec<Diagnostic>> {
    lower_as(checked, sources, Watch::Nothing)
}

/// What is watched for races while the program runs; anything but nothing makes a debug build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// What `#PRAGMA SHARED` and PERMITALIASES exempt from the checks.
    Exempt,
    /// Every variable: what the checks have let through has no race, so a race is a mistake in them.
    Everything,
}

/// The same, with what is to be watched.
///
/// # Errors
/// What it uses that cannot be lowered yet.
pub fn lower_as(checked: &Checked, sources: &Sources, watch: Watch) -> Result<Module, Vec<Diagnostic>> {
    lower_from(checked, sources, watch, checked.program().entry())
}

/// The bytecode of one of the program's tests: a module that runs that PROC.
///
/// # Errors
/// What it uses that cannot be lowered yet, or a parameter that is no channel of the host.
pub fn lower_test(
    checked: &Checked,
    sources: &Sources,
    watch: Watch,
    test: RoutineId,
) -> Result<Module, Vec<Diagnostic>> {
    lower_from(checked, sources, watch, Some(test))
}

fn lower_from(
    checked: &Checked,
    sources: &Sources,
    watch: Watch,
    entry: Option<RoutineId>,
) -> Result<Module, Vec<Diagnostic>> {
    let program = checked.program();
    let mut lowerer = Lowerer {
        program,
        ast: &program.ast,
        sources,
        module: ModuleBuilder::new(),
        free: Free::new(program, entry),
        f: Function::default(),
        functions: FastMap::default(),
        constants: FastMap::default(),
        data: FastMap::default(),
        files: FastMap::default(),
        watched: watch,
        process_count: None,
        lent: std::cell::OnceCell::new(),
        diagnostics: Vec::new(),
    };
    lowerer.whole(entry, entry.map_or(&[], |entry| checked.uses_of(entry)));
    if lowerer.diagnostics.is_empty() { Ok(lowerer.module.finish()) } else { Err(lowerer.diagnostics) }
}

impl Lowerer<'_> {
    /// The outermost declarations, then a call of the program.
    fn whole(&mut self, entry: Option<RoutineId>, uses: &[ChannelUse]) {
        let main = self.module.declare("program");
        self.module.entry(main);
        let Some(entry) = entry else {
            let message = "there is no PROC to run: a program ends with one";
            self.diagnostics.push(Diagnostic::new(Code::Entry, Span::default(), message));
            return;
        };
        let _ = self.begin_function(0);
        for &spec in &self.ast.top {
            self.spec(spec);
        }
        let ast = self.ast;
        ast.libraries.iter().for_each(|name| self.module.library(name));
        self.call_entry(entry, uses);
        self.f.code.end();
        self.finish_function(main);
    }

    fn call_entry(&mut self, entry: RoutineId, uses: &[ChannelUse]) {
        let routine = &self.program.routines[entry.0 as usize];
        self.at(self.program.name(routine.name).span);
        // What is forked in no FORKING ends before the program does.
        let block = self.free.forks(entry).then(|| self.open_forks());
        let base = self.window(entry);
        let first = self.pass_free(entry, base + 2);
        let Some(channels) = self.host_channels(entry, uses) else { return };
        for (at, channel) in (first..).zip(channels) {
            self.f.code.ldi(at, channel);
        }
        self.call_function(entry, base);
        if let Some(block) = block {
            self.f.code.joinf(block);
        }
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(Code::NotSupported, span, message));
    }

    /// The next instructions stem from there.
    fn at(&mut self, span: Span) {
        let Some(place) = self.sources.place(span.lo) else { return };
        let file = match self.files.get(place.file) {
            Some(&file) => file,
            None => {
                let file = self.module.string(place.file);
                self.files.insert(place.file.to_owned(), file);
                file
            }
        };
        self.f.code.place(file, place.line, place.column);
    }

    fn home(&self, name: NameId) -> Option<&Home> {
        self.f.homes.get(&name)
    }
}
