//! Owns: what `raddle run`, `build` and `disasm` do with occam sources and bytecode.
//! May use: raddle-occam, raddle-bytecode, raddle-vm; `check` for files and complaints.
//! Never: exit codes.

mod world;

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::PathBuf;

use raddle_bytecode::Module;
use raddle_bytecode::verify::{Verified, verify};
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse, lower};
use raddle_vm::{Lane, Machine, solo};

use crate::check::files::{self, Disk};
use crate::check::human::Human;
use crate::program::Error;

/// How an occam program is compiled.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "occam")]
pub(crate) struct Compile {
    /// Look for the files of #INCLUDE and #USE here too, after the folder of the file that names them
    #[arg(short = 'I', value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Define a name for #IF DEFINED (NAME)
    #[arg(short = 'D', value_name = "NAME")]
    defines: Vec<String>,

    /// Only warn of a variable that is used before it has a value
    #[arg(long)]
    undefined_warns: bool,
}

/// Why there is no bytecode.
pub(crate) enum Refused {
    /// The program is wrong; that has been said.
    Program,
    /// Something else is.
    Trouble(Error),
}

/// How a run ended.
pub(crate) enum Ended {
    /// By itself.
    Well,
    /// By a run-time error or a deadlock; that has been said.
    Failed,
    /// It was interrupted.
    Interrupted,
}

impl Compile {
    /// The bytecode of a source, or of a file of bytecode.
    pub(crate) fn module(&self, file: &OsStr) -> Result<Module, Refused> {
        if PathBuf::from(file).extension().is_some_and(|extension| extension == "rbc") {
            let shown = PathBuf::from(file);
            let bytes = std::fs::read(&shown).map_err(|error| {
                Refused::Trouble(Error::CannotRun(format!("could not read `{}`: {error}", shown.display())))
            })?;
            return Module::read(&bytes).map_err(|error| {
                let text = format!("`{}` is no bytecode that this raddle knows: {error}", shown.display());
                Refused::Trouble(Error::CannotRun(text))
            });
        }
        self.compiled(file)
    }

    fn compiled(&self, file: &OsStr) -> Result<Module, Refused> {
        let (name, text) = files::program(file).map_err(Refused::Trouble)?;
        let mut sources = Sources::new();
        let root = sources.add(&name, &text).ok_or_else(|| Refused::Trouble(files::too_long(&name)))?;
        let mut disk = Disk::new(&self.folders);
        let options = Options { defines: self.defines.clone(), undefined_warns: self.undefined_warns };
        let analysis = analyse(&mut sources, root, &options, &mut disk);
        if let Some(error) = disk.refused.pop() {
            return Err(Refused::Trouble(error));
        }
        let human = Human::for_standard_error();
        let say = |complaints: &[raddle_occam::diag::Diagnostic]| {
            let texts: String = complaints.iter().map(|it| human.text(it, &sources)).collect();
            let _ = io::stderr().write_all(texts.as_bytes());
        };
        let checked = analysis.checked().map_err(|complaints| {
            say(&complaints);
            Refused::Program
        })?;
        say(checked.warnings());
        lower::lower(checked.program(), &sources).map_err(|complaints| {
            say(&complaints);
            Refused::Program
        })
    }
}

/// Runs bytecode to its end.
pub(crate) fn run(module: Module, memory_bytes: u32, seed: u64) -> Result<Ended, Error> {
    let verified = verify(module)
        .map_err(|refusal| Error::CannotRun(format!("the bytecode does not hold together: {refusal}")))?;
    let mut lane = Lane::default();
    let machine: Machine<()> = match Machine::new(verified, memory_bytes, &mut lane) {
        Ok(machine) => machine,
        Err(trap) => return Err(Error::CannotRun(format!("the program does not start: {}", trap.what()))),
    };
    let mut screen = world::World::new();
    let outcome = solo::run(&machine, &mut screen, &mut lane, seed);
    screen.flush();
    match outcome {
        Ok(_) => Ok(Ended::Well),
        Err(solo::Failure::Quit) => Ok(Ended::Interrupted),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "{}", told(machine.program(), failure));
            Ok(Ended::Failed)
        }
    }
}

fn told(program: &Verified, failure: solo::Failure) -> String {
    match failure {
        solo::Failure::Fault(fault) => {
            let module = program.module();
            let routine = module.function_at(fault.at);
            let routine = routine.map_or("", |at| module.string(module.functions[at as usize].name));
            let place = match module.line_at(fault.at) {
                Some(line) => format!(" at {}:{}:{}", module.string(line.file), line.line, line.column),
                None => String::new(),
            };
            format!("error: {}{place}, in {routine}: {}", fault.trap.word(), fault.trap.what())
        }
        solo::Failure::Deadlock => "deadlock: every process waits for another".to_owned(),
        solo::Failure::Quit => "interrupted".to_owned(),
    }
}

/// The instructions, function by function.
pub(crate) fn listing(module: &Module) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for function in &module.functions {
        let _ = writeln!(text, "{}: {} slots", module.string(function.name), function.slots);
        for at in function.first..function.first + function.count {
            let insn = module.code[at as usize];
            let _ =
                writeln!(text, "  {at:6} {:10} {} {} {} {}", insn.op.name(), insn.a, insn.b, insn.c, insn.x);
        }
    }
    text
}
