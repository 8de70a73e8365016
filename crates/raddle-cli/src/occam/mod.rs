//! Owns: `raddle run`, `build` and `disasm` for occam sources and bytecode.
//! May use: `check`, `native`, `refusal`, `settings`, `libc`, `raddle-bytecode`, `raddle-host`, `raddle-mpi`,
//! `raddle-occam`.
//! Never: exit codes.

pub(crate) mod ranks;
pub(crate) mod terminal;
mod world;

pub(crate) use world::without_arguments;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use raddle_bytecode::verify;
use raddle_bytecode::{Module, Trap, Verified};
use raddle_host::{Failure, ForeignRoutines};
use raddle_occam::diag::{Code, Diagnostic};
use raddle_occam::source::{FileId, Sources};
use raddle_occam::{Checked, Options, analyse, lower};

use crate::check::Denied;
use crate::check::files::{self, Disk};
use crate::check::human::Human;
use crate::refusal::Error;
use crate::settings::option_name;

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

    /// Treat a warning as an error: its code, such as O0902, or `warnings` for all
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = Denied::parse)]
    deny: Vec<Denied>,

    /// Watch what #PRAGMA SHARED and PERMITALIASES exempt from the checks; the run, on one worker, ends at a race
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "exempt")]
    debug: Option<Debug>,

    /// Another rank says what is to be said of the source.
    #[arg(skip)]
    silent: bool,
}

/// The variables that a debug build watches.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Debug {
    /// What #PRAGMA SHARED and PERMITALIASES exempt from the checks
    Exempt,
    /// Every variable; a race in what the checker accepted is an error of the checker
    All,
}

/// For so long a rank that says nothing itself leaves it to another one to say why there is no program.
const TO_BE_TOLD: Duration = Duration::from_secs(1);

/// Why there is no bytecode.
pub(crate) enum Refused {
    /// The program is wrong; this has been reported.
    Program,
    /// Another error.
    Trouble(Error),
}

/// How a run ended.
pub(crate) enum Ended {
    /// Normally.
    Well,
    /// By a run-time error or a deadlock; this has been reported.
    Failed,
    /// By a signal; SIGPIPE if the reader of its screen closed the pipe.
    Interrupted(i32),
}

impl Compile {
    /// An option that was given, if any was: what is not compiled has no use for it.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (!self.folders.is_empty(), "-I"),
            (!self.defines.is_empty(), "-D"),
            (self.undefined_warns, "--undefined-warns"),
            (!self.deny.is_empty(), "--deny"),
            (self.debug.is_some(), "--debug"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// For ranks, which cannot share every PLACED PAR.
    pub(crate) fn for_ranks(mut self) -> Compile {
        self.deny.push(Denied::One(Code::PlacedPar));
        self.silent = ranks::is_not_the_first();
        self
    }

    /// The options as they are given, for a command that is shown.
    pub(crate) fn spelt(&self) -> String {
        let mut text = String::new();
        self.folders.iter().for_each(|it| text += &format!(" -I {}", it.display()));
        self.defines.iter().for_each(|it| text += &format!(" -D {it}"));
        let debug = self.debug.map(|it| match it {
            Debug::Exempt => " --debug",
            Debug::All => " --debug=all",
        });
        text + if self.undefined_warns { " --undefined-warns" } else { "" } + debug.unwrap_or_default()
    }

    /// The bytecode of a source, or of a file of bytecode.
    pub(crate) fn module(&self, file: &OsStr) -> Result<Module, Refused> {
        if PathBuf::from(file).extension().is_some_and(|extension| extension == "rbc") {
            let shown = PathBuf::from(file);
            if let Some(option) = self.given() {
                let what = "is for the compiler, and this file is compiled already";
                let text = format!("`{}`: {option} {what}; give it to `raddle build`", shown.display());
                return Err(Refused::Trouble(Error::Setting(text)));
            }
            let bytes = std::fs::read(&shown).map_err(|error| {
                Refused::Trouble(match error.kind() {
                    io::ErrorKind::NotFound => {
                        Error::NotFound(format!("there is no file `{}`", shown.display()))
                    }
                    _ => Error::CannotRun(format!("could not read `{}`: {error}", shown.display())),
                })
            })?;
            return Module::read(&bytes).map_err(|error| {
                let text = format!("cannot read the bytecode `{}`: {error}", shown.display());
                Refused::Trouble(Error::CannotRun(text))
            });
        }
        self.compiled(file)
    }

    fn compiled(&self, file: &OsStr) -> Result<Module, Refused> {
        let source = self.checked(file)?;
        source.module(lower::lower_as(&source.checked, &source.sources, self.watch()))
    }

    /// What a debug build watches.
    pub(crate) fn watch(&self) -> lower::Watch {
        match self.debug {
            None => lower::Watch::Nothing,
            Some(Debug::Exempt) => lower::Watch::Exempt,
            Some(Debug::All) => lower::Watch::Everything,
        }
    }

    /// A source that the checker has accepted; its warnings have been shown.
    pub(crate) fn checked(&self, file: &OsStr) -> Result<CheckedSource, Refused> {
        let (name, text) = files::program(file).map_err(Refused::Trouble)?;
        let mut sources = Sources::new();
        let root = sources.add(&name, &text).ok_or_else(|| Refused::Trouble(files::too_long(&name)))?;
        let mut disk = Disk::new(&self.folders);
        let options = Options {
            defines: self.defines.clone(),
            undefined_warns: self.undefined_warns,
            deny: Denied::codes(&self.deny),
        };
        let analysis = analyse(&mut sources, root, &options, &mut disk);
        if let Some(error) = disk.refused.pop() {
            return Err(Refused::Trouble(error));
        }
        match analysis.checked() {
            Ok(checked) => {
                self.say(checked.warnings(), &sources);
                Ok(CheckedSource { name, checked, sources, root })
            }
            Err(complaints) => {
                self.say(&complaints, &sources);
                if self.silent {
                    // `mpirun` ends all when the first of them has ended, and the one that speaks is perhaps behind.
                    std::thread::sleep(TO_BE_TOLD);
                }
                Err(Refused::Program)
            }
        }
    }

    fn say(&self, complaints: &[Diagnostic], sources: &Sources) {
        if !self.silent {
            say(complaints, sources);
        }
    }
}

/// A source that the checker has accepted.
pub(crate) struct CheckedSource {
    /// As it was named.
    pub(crate) name: String,
    pub(crate) checked: Checked,
    pub(crate) sources: Sources,
    pub(crate) root: FileId,
}

impl CheckedSource {
    /// The module that it became; what kept it from that is shown.
    pub(crate) fn module(&self, lowered: Result<Module, Vec<Diagnostic>>) -> Result<Module, Refused> {
        lowered.map_err(|complaints| {
            say(&complaints, &self.sources);
            Refused::Program
        })
    }
}

fn say(complaints: &[Diagnostic], sources: &Sources) {
    let human = Human::for_standard_error();
    let texts: String = complaints.iter().map(|it| human.text(it, sources)).collect();
    let _ = io::stderr().write_all(texts.as_bytes());
}

/// Memory that a program may use if nobody says how much, MiB.
pub(crate) const MEMORY_MIB: u32 = 1024;

/// How a program is run.
#[derive(clap::Args)]
#[command(next_help_heading = "occam")]
pub(crate) struct Running {
    /// Memory that the program may use, in MiB
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB)]
    #[arg(value_parser = memory_mib)]
    memory: u32,

    /// Compile the program to machine code, and run that: what is hot, or all of it
    #[arg(long, value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "hot")]
    native: Option<crate::native::CompiledPart>,

    /// Name machine code for `perf`, by routine and line, in /tmp/perf-PID.map
    #[arg(long)]
    perf_map: bool,

    /// Place PLACED PARs over ranks of MPI: as one of those that `mpirun` has started; or start N by `mpirun`
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<Option<u32>>,

    /// Draw who waits for whom in a deadlock, as SVG, into this file
    #[arg(long, value_name = "FILE")]
    deadlock_graph: Option<PathBuf>,

    #[command(flatten)]
    foreign: Foreign,
}

/// What a program may call that is not occam.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "occam")]
pub(crate) struct Foreign {
    /// Look for the foreign routines of #PRAGMA EXTERNAL in this shared library, too: `m`, `libm.so.6` or a path
    #[arg(long, value_name = "LIBRARY")]
    link: Vec<String>,

    /// Run no program that calls foreign routines
    #[arg(long)]
    no_foreign: bool,

    /// Run bytecode that calls foreign routines, which can do whatever you can
    #[arg(long, conflicts_with = "no_foreign")]
    foreign: bool,
}

impl Foreign {
    fn given(&self) -> Option<&'static str> {
        let given = [
            (!self.link.is_empty(), "--link"),
            (self.no_foreign, "--no-foreign"),
            (self.foreign, "--foreign"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// The options as they are given, for a command that is shown.
    pub(crate) fn spelt(&self) -> String {
        self.link.iter().map(|library| format!(" --link {library}")).collect()
    }

    /// The foreign routines of a program, which was compiled here or comes as bytecode.
    pub(crate) fn routines(
        &self,
        program: &Verified,
        compiled_here: bool,
    ) -> Result<Option<ForeignRoutines>, Error> {
        let Some(first) = program.module().foreign.first() else { return Ok(None) };
        let name = program.module().string(first.name);
        if self.no_foreign {
            let text =
                format!("the program calls foreign routines, such as `{name}`, and --no-foreign is set");
            return Err(Error::CannotRun(text));
        }
        if !compiled_here && !self.foreign {
            let text = format!(
                "this bytecode calls foreign routines, such as `{name}`, which can do whatever you can; if you trust \
                 it, say --foreign"
            );
            return Err(Error::CannotRun(text));
        }
        ForeignRoutines::load(program, &self.link).map_err(Error::CannotRun)
    }
}

pub(crate) fn memory_mib(text: &str) -> Result<u32, String> {
    let wrong = || "write a number of MiB from 1 to 4095".to_owned();
    text.parse().ok().filter(|mib| (1..4096).contains(mib)).ok_or_else(wrong)
}

impl Running {
    /// Whether it is one of several ranks, or several are to be started.
    pub(crate) fn is_over_ranks(&self) -> bool {
        self.ranks.is_some()
    }

    /// How many ranks are to be started.
    pub(crate) fn ranks_to_start(&self) -> Option<u32> {
        self.ranks.flatten()
    }

    /// Whether the program is to be compiled to machine code.
    pub(crate) fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// The same, and the program is compiled, whether that was asked for or not.
    #[cfg(feature = "native")]
    pub(crate) fn as_machine_code(self) -> Running {
        Running { native: self.native.or(Some(crate::native::CompiledPart::Hot)), ..self }
    }

    /// An option that was given, if any was: other programs have no use for it.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let native = self.native.map(|_| "--native");
        let graph = self.deadlock_graph.as_ref().map(|_| "--deadlock-graph");
        let ranks = self.ranks.map(|_| "--ranks");
        native
            .or(graph)
            .or(ranks)
            .or_else(|| self.foreign.given())
            .or_else(|| (self.memory != MEMORY_MIB).then_some("--memory"))
    }
}

/// Runs bytecode to its end. `variables` are the runtime's settings; `arguments` are the program's.
pub(crate) fn run(
    module: Module,
    (running, compiled_here): (&Running, bool),
    variables: impl Iterator<Item = (&'static str, OsString)>,
    arguments: Vec<OsString>,
) -> Result<Ended, Error> {
    let verified =
        verify(module).map_err(|refusal| Error::CannotRun(format!("the bytecode is invalid: {refusal}")))?;
    let foreign = running.foreign.routines(&verified, compiled_here)?;
    let OccamSettings { runtime, seed, stats } = OccamSettings::of(variables)?;
    let memory_bytes = u32::try_from(u64::from(running.memory) << 20).unwrap_or(u32::MAX);
    let options =
        raddle_host::RunOptions { runtime, seed, memory_bytes, ..raddle_host::RunOptions::default() };
    let options = crate::native::with_compiler(options, running.native, running.perf_map);
    let begin = std::time::Instant::now();
    let terminal = terminal::Terminal::watched();
    let streams = world::Streams::new(arguments, foreign);
    let outcome = match running.is_over_ranks() {
        true => ranks::run(verified, options, streams.clone()),
        false => run_alone(verified, options, streams.clone()),
    };
    drop(terminal);
    let say = |text: std::fmt::Arguments<'_>| {
        streams.end_line();
        let _ = io::stderr().write_all(format!("{text}\n").as_bytes()); // at once: other ranks' lines go there, too
    };
    // The net goes last: all ranks leave together, when each has said what it has to say.
    let RanOutcome { net: _net, outcome, whose, told, is_told } = outcome?;
    if let Some(told) = told {
        say(format_args!("{told}"));
    }
    if is_told {
        return Ok(Ended::Failed);
    }
    if stats {
        say(format_args!("{}", counted(&outcome, begin.elapsed())));
    }
    if let Some(error) = streams.refused() {
        streams.end_line();
        return Err(Error::CannotRun(format!("could not write the screen: {error}")));
    }
    if let Some(report) = &outcome.report {
        say(format_args!("{whose}{report}"));
        if let Some(note) = less_memory(&outcome, memory_bytes) {
            say(format_args!("  {note}"));
        }
        if streams.keys_ended() && outcome.result == Err(Failure::Deadlock) {
            say(format_args!("  the keyboard, standard input, is at its end"));
        }
        if let Some(file) = &running.deadlock_graph {
            files::save(file, report.svg().as_bytes()).map_err(|error| {
                Error::CannotRun(format!("could not write `{}`: {error}", file.display()))
            })?;
        }
    }
    match outcome.result {
        // The reader closed the pipe before the last line.
        Ok(()) if terminal::signal() != Some(libc::SIGPIPE) => Ok(Ended::Well),
        Ok(()) | Err(Failure::Quit) => Ok(Ended::Interrupted(terminal::signal().unwrap_or(libc::SIGINT))),
        // It went wrong after the signal had come, and before the machine looked.
        Err(_) if terminal::signal().is_some_and(|signal| signal != libc::SIGPIPE) => {
            Ok(Ended::Interrupted(terminal::signal().unwrap_or(libc::SIGINT)))
        }
        Err(Failure::Fault(fault)) if outcome.report.is_none() => {
            say(format_args!("error: {}: {}", fault.trap.word(), fault.trap.what()));
            Ok(Ended::Failed)
        }
        Err(_) => Ok(Ended::Failed),
    }
}

/// How a run has come out, and what is to be said of it.
pub(crate) struct RanOutcome {
    /// By which other ranks are reached.
    net: Option<raddle_mpi::Net>,
    outcome: raddle_host::RunOutcome,
    /// Before its report: which rank's it is.
    whose: String,
    /// Beside its report.
    told: Option<String>,
    /// Nothing else is to be said of a failure.
    is_told: bool,
}

fn run_alone(
    verified: Verified,
    options: raddle_host::RunOptions,
    streams: Arc<world::Streams>,
) -> Result<RanOutcome, Error> {
    let outcome = raddle_host::run(verified, options, streams).map_err(|error| refused(&error))?;
    Ok(RanOutcome { net: None, outcome, whose: String::new(), told: None, is_told: false })
}

/// The settings of environment and command line.
#[derive(Default)]
struct OccamSettings {
    runtime: raddle_host::Builder,
    /// The seed of the machine's own scheduler.
    seed: Option<u64>,
    /// Show counters at the end: the machine's, not those of the workers.
    stats: bool,
}

impl OccamSettings {
    fn of(variables: impl Iterator<Item = (&'static str, OsString)>) -> Result<OccamSettings, Error> {
        let mut settings = OccamSettings::default();
        for name in ["RADDLE_SEED", "RADDLE_STATS"] {
            if let Some(value) = std::env::var_os(name) {
                settings.set(name, name, &value)?;
            }
        }
        for (name, value) in variables {
            settings.set(name, &option_name(name), &value)?;
        }
        Ok(settings)
    }

    /// Applies a setting; `spelt` is how the user wrote it.
    fn set(&mut self, name: &str, spelt: &str, value: &OsStr) -> Result<(), Error> {
        let text = value.to_string_lossy();
        // Checked by the runtime's own table, whatever uses it.
        let runtime = self.runtime.clone().setting(name, &text).map_err(|error| refused(&error))?;
        match name {
            "RADDLE_SEED" => {
                let wrong = || {
                    Error::Setting(format!(
                        "{spelt} is `{text}`; for an occam program it can be a number from 0"
                    ))
                };
                self.seed = Some(text.trim().parse().map_err(|_| wrong())?);
            }
            "RADDLE_STATS" => self.stats = matches!(text.trim(), "on" | "1"),
            _ => self.runtime = runtime,
        }
        Ok(())
    }
}

fn refused(error: &raddle_host::BuildError) -> Error {
    match error {
        raddle_host::BuildError::Config(_) => Error::Setting(error.to_string()),
        _ => Error::CannotRun(error.to_string()),
    }
}

/// For who runs out of memory: that the system gave less than was asked for.
fn less_memory(outcome: &raddle_host::RunOutcome, asked: u32) -> Option<String> {
    let short = matches!(outcome.result, Err(Failure::Fault(fault)) if fault.trap == Trap::Memory)
        && outcome.memory_bytes < asked / 4 * 4;
    let given = outcome.memory_bytes >> 20;
    short.then(|| {
        format!("the system gave it {given} MiB of the {} MiB that it may use (`ulimit -v`?)", asked >> 20)
    })
}

fn counted(outcome: &raddle_host::RunOutcome, took: Duration) -> String {
    let stats = outcome.stats;
    let checks = outcome.checks.filter(|&(made, left_out)| made + left_out > 0);
    let checks = checks.map(|(made, left_out)| format!("; machine code: {made} checks, {left_out} left out"));
    format!(
        "{:.3} s, workers: {}; {} processes, {} messages, {} dispatches, {} KiB of memory at most{}",
        took.as_secs_f64(),
        outcome.workers,
        stats.processes,
        stats.messages,
        stats.dispatches,
        outcome.memory_max.div_ceil(1024),
        checks.unwrap_or_default()
    )
}

/// The instructions, function by function.
pub(crate) fn listing(module: &Module) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for routine in &module.foreign {
        let (name, parameters) = (module.string(routine.name), module.string(routine.parameters));
        let _ = writeln!(text, "foreign {name} ({parameters})");
    }
    for &library in &module.libraries {
        let _ = writeln!(text, "link {}", module.string(library));
    }
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
