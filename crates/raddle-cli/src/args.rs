//! Owns: the grammar of the command line and its help.
//! May use: `alloc`, `board`, `bundle`, `check`, `dump`, `exec`, `explain`, `fmt`, `graph`, `lab`, `lsp`,
//! `mpi`, `native`, `occam`, `out`, `program`, `refusal`, `settings`, `test`, `top`, `trace`, `clap`,
//! `raddle-bytecode`.
//! Never: performing the command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::alloc::Alloc;
use crate::board::{Budget, FLASH_HELP, Flash, PART, Ram};
use crate::check::Check;
use crate::dump::Dump;
use crate::exec::Exec;
use crate::explain::Explain;
use crate::fmt::{FMT_HELP, Fmt};
use crate::graph::{GRAPH_HELP, Graph};
use crate::lab::Lab;
use crate::lsp::{LSP_HELP, Lsp};
use crate::mpi::Mpi;
use crate::occam::{self, Compile, Ended, Refused, Running};
use crate::out::print;
use crate::program::Executable;
use crate::refusal::Error;
use crate::settings::Settings;
use crate::test::{TEST_HELP, TestCommand};
use crate::top::Top;
use crate::trace::Trace;

/// Runs programs made of very many small concurrent pieces on all cores of a machine
#[derive(Parser)]
#[command(name = "raddle", bin_name = "raddle", version, max_term_width = 100)]
#[command(after_help = "Try `raddle run --help` for examples and the exit codes.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a program, with the runtime's settings given as options
    #[command(after_long_help = RUN_HELP)]
    Run(RunCommand),
    /// Run a program with OpenMP, POSIX threads or transactions, as it was compiled
    #[command(after_help = EXEC_HELP)]
    Exec(Exec),
    /// Check occam programs without running them: grammar, types, races, aliases
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Run the tests of occam programs, each under many schedules
    #[command(after_help = TEST_HELP)]
    Test(TestCommand),
    /// Lay occam programs out: one layout, comments kept
    #[command(after_help = FMT_HELP)]
    Fmt(Fmt),
    /// Draw the processes and channels of an occam program
    #[command(after_help = GRAPH_HELP)]
    Graph(Graph),
    /// Answer an editor's questions about occam programs
    #[command(after_help = LSP_HELP)]
    Lsp(Lsp),
    /// Compile an occam program to portable bytecode
    Build(Build),
    /// Make the firmware of a board of an occam program, or run it there in qemu
    #[command(after_help = FLASH_HELP)]
    Flash(Flash),
    /// Show the instructions of an occam program
    Disasm(Disasm),
    /// Explain a code that `raddle check` shows
    Explain(Explain),
    /// Record what the scheduler does, and say why a program is not faster on more workers
    #[command(after_help = TRACE_HELP)]
    Trace(Trace),
    /// Show what the workers of a running program do, once per second
    #[command(after_help = TOP_HELP)]
    Top(Top),
    /// Run a program with Raddle's allocator, or show what that holds
    #[command(after_help = ALLOC_HELP)]
    Alloc(Alloc),
    /// Repeat the experiments that define Raddle, compared with rivals (needs the source tree)
    #[command(disable_help_flag = true)]
    Lab(Lab),
    /// Show where each process of a running program is: who waits for what, and who holds it
    Dump(Dump),
    /// Show what the runtime finds on this machine and which settings are in force
    Info,
    /// Show which MPIs are found, build the library that calls them, simulate many ranks
    Mpi(Mpi),
}

const RUN_HELP: &str = "\
Examples:
  raddle run prog.occ                             check an occam program, compile it, run it on all cores
  raddle run --workers 1 --seed 7 prog.occ        one of its schedules, chosen by the number
  raddle run prog.occ -- a b                      with two arguments
  raddle run --native prog.occ                    compiled to machine code (docs/NATIVE.md)
  raddle run --debug prog.occ                     ends at a race on what #PRAGMA SHARED exempts
  generate | raddle run -                         the text of an occam program from a pipe
  raddle run examples/skynet.rs                   build an example of this package and run it
  raddle run --workers 1 examples/skynet.rs       on one worker
  raddle run --balance none --stats ./app -- -v   an executable with an argument of its own
  RADDLE_WORKERS=1 raddle run examples/skynet.rs  a setting may also come from the environment

Exit codes:
  The program's own, once it runs; a shell shows 128 + n for a program that ended by signal n.
  An occam program ends with 0, or with
    1  the checker refused it
    3  a run-time error (also a race under --debug), or a deadlock
  130  an interrupt (Ctrl-C), after its output was written; 143 and 129 for SIGTERM and SIGHUP
  141  the reader of its screen has closed the pipe, as in `| head`
  For all programs:
    2  the command line is wrong, or a setting cannot have that value
  125  the program could not be built
  126  this build of raddle cannot run PATH
  127  PATH does not exist";

const EXEC_HELP: &str = "\
Examples:
  raddle exec -- ./app -v                   what gcc, clang or Intel's compilers made by -fopenmp
  raddle exec --workers 4 -- python3 x.py   libraries that bring a libgomp of their own
  raddle exec --show -- ./app               what is set for it
  raddle exec --pthreads -- ./app           what was linked against glibc, with threads of its own

Exit codes:
  The program's own, once it runs.
    2  the command line is wrong
  126  the program cannot be run
  127  there is no such program, or Raddle's library for it is not there";

const CHECK_HELP: &str = "\
Examples:
  raddle check prog.occ                        errors and warnings on standard error
  raddle check -I lib -D DEBUG a.occ b.occ     two programs that include files from lib
  generate | raddle check -                    a program from a pipe
  raddle check --error-format json prog.occ    for editors: one object per line on standard output
  raddle explain O0701                         the rule behind a code

Exit codes:
    0  every program is accepted, perhaps with warnings
    1  a program is refused
    2  the command line is wrong
  126  a file cannot be read, or is not UTF-8 text, or the output cannot be written
  127  a file does not exist
The last two take precedence over 1: they mean that not every program was checked.";

const TRACE_HELP: &str = "\
Examples:
  raddle trace run -o two.rdt -- examples/skynet.rs   record a run
  raddle trace stats two.rdt                          the verdict, and where each worker's time went
  raddle trace diff one.rdt two.rdt                   where the time of the second run went
  raddle trace view two.rdt                           a page for a browser: two.html
  raddle trace graph two.rdt                          who waited for whom: two.svg
  raddle trace export --format eventlog two.rdt       for ThreadScope: two.eventlog

Exit codes (those of `run` are the program's):
    0  done
    1  `check` found an error
    2  the command line is wrong
  126  a file or the output cannot be read or written, or a file is not a trace
  127  a file does not exist";

const ALLOC_HELP: &str = "\
Examples:
  raddle alloc run -- python3 x.py                     with the allocator in which no thread waits
  raddle alloc run --stats -- ./app                    its figures when the program ends
  raddle alloc run --hardened -- ./app                 ends at a block that is freed twice, and says where
  raddle alloc run --profile heap.txt -- ./app         which calls allocated what is in use at the end
  raddle trace view heap.txt                           a page for a browser: heap.html
  raddle alloc stats 1234                              the figures of a running program

Exit codes (those of `run` are the program's):
    0  done
    2  the command line is wrong, or an option of the allocator's
  126  the program cannot be run, or the memory of the process cannot be read
  127  there is no such program or process, it has not this allocator, or the library is not there";

const TOP_HELP: &str = "\
Examples:
  raddle top                    the programs that can be shown
  raddle top 1234               one of them, once per second until it ends
  raddle top --count 1 1234     once: figures since its beginning

The program is neither stopped nor changed; it publishes its workers' counters ten times per second, as long as any of
them is awake.

Exit codes:
    0  done
    2  the command line is wrong
  127  that process has nothing to show";

/// `raddle run`.
#[derive(clap::Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    settings: Settings,

    #[command(flatten)]
    compile: Compile,

    #[command(flatten)]
    running: Running,

    /// An occam program (`.occ`) or bytecode (`.rbc`), a Rust file that is an example or a binary of a Cargo package,
    /// or an executable; `-` is an occam program on standard input
    ///
    /// With `-` at a terminal, input after the end of the text (Ctrl-D) is the program's keyboard; in a pipe it has
    /// none. A Rust file is looked up in the package that contains it, built in release, and then run.
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Arguments for the program
    ///
    /// An occam program reads them with `argument.count` and `argument`, after `#INCLUDE "arguments.module"`. On a
    /// terminal its keyboard gives each key as it is pressed, without showing it.
    #[arg(value_name = "ARGS", last = true)]
    args: Vec<OsString>,
}

/// How `raddle run` ended.
pub(crate) enum RunResult {
    Ended(Ended),
    Refused,
    Trouble(Error),
}

impl RunCommand {
    /// Becomes the program, or runs it when it is occam; returns otherwise only if that fails.
    pub(crate) fn carry_out(mut self) -> RunResult {
        let occam = |extension: &std::ffi::OsStr| extension == "occ" || extension == "rbc";
        if self.path.as_os_str() == "-" || self.path.extension().is_some_and(occam) {
            if self.running.is_native()
                && let Err(error) = crate::native::become_compiler()
            {
                return RunResult::Trouble(error);
            }
            let compiled_here = self.path.extension().is_none_or(|extension| extension != "rbc");
            if let Some(ranks) = self.running.ranks_to_start() {
                return RunResult::Trouble(occam::ranks::start(ranks));
            }
            if self.running.is_over_ranks() && compiled_here {
                self.compile = self.compile.for_ranks();
            }
            let running = (&self.running, compiled_here);
            return match self.compile.module(self.path.as_os_str()) {
                Ok(module) => match occam::run(module, running, self.settings.variables(), self.args) {
                    Ok(ended) => RunResult::Ended(ended),
                    Err(error) => RunResult::Trouble(error),
                },
                Err(Refused::Program) => RunResult::Refused,
                Err(Refused::Trouble(error)) => RunResult::Trouble(error),
            };
        }
        if let Some(option) = self.compile.given().or_else(|| self.running.given()) {
            let text = format!("`{}` is no occam program, which {option} is for", self.path.display());
            return RunResult::Trouble(Error::Setting(text));
        }
        RunResult::Trouble(match Executable::prepare(&self.path) {
            Ok(program) => program.become_it(&self.args, self.settings.variables()),
            Err(error) => error,
        })
    }
}

/// `raddle build`.
#[derive(clap::Args)]
pub(crate) struct Build {
    #[command(flatten)]
    compile: Compile,

    /// The bytecode file, or the executable; by default next to the source
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Make an executable, which is compiled to machine code while it runs, and needs no `raddle`
    #[arg(long, conflicts_with = "ram")]
    native: bool,

    /// Write the machine code of this machine: to the output, to be read; or an object file, next to the source
    #[arg(long, value_name = "KIND", conflicts_with_all = ["ram", "native"])]
    emit: Option<crate::native::Emit>,

    /// Say what takes how much memory on a board, and refuse the program if that is more than SIZE: 10K, 64K, 1M
    ///
    /// The board takes so much at the start, and nothing later on. Refused are, too, programs that take as much as they
    /// find out while they run: recursion, FORKING, MOBILEs, a replicated PAR whose count is no constant.
    #[arg(long, value_name = "SIZE")]
    ram: Option<Ram>,

    /// An occam program; `-` is standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

impl Build {
    /// Writes the bytecode, the executable or the text.
    pub(crate) fn carry_out(self) -> Result<(), Refused> {
        if self.native || self.emit.is_some() {
            crate::native::become_compiler().map_err(Refused::Trouble)?;
            return self.carry_out_here();
        }
        if self.path.extension().is_some_and(|extension| extension == "rbc") {
            let text = format!("`{}` is already bytecode; `raddle run` runs it", self.path.display());
            return Err(Refused::Trouble(Error::CannotRun(text)));
        }
        if self.path.as_os_str() == "-" && self.output.is_none() {
            let text = "the bytecode of a program on standard input needs a file: name it with `-o FILE`";
            return Err(Refused::Trouble(Error::CannotRun(text.to_owned())));
        }
        let module = self.compile.module(self.path.as_os_str())?;
        let output = self.place_of_output(self.path.with_extension("rbc"))?;
        let mut bytes = module.write();
        if let Some(ram) = self.ram {
            let name = self.path.display().to_string();
            let budget = Budget::of(&module).map_err(|why| format!("`{name}`: {why}"));
            let told = budget.and_then(|budget| Ok((budget.fits(&name, ram)?, budget)));
            let (text, budget) = told.map_err(|why| Refused::Trouble(Error::TooLarge(why)))?;
            print(&text).map_err(Refused::Trouble)?;
            raddle_bytecode::file::append(&mut bytes, PART, &[budget.memory, budget.processes]);
        }
        crate::check::files::save(&output, &bytes).map_err(|error| {
            Refused::Trouble(Error::CannotRun(format!("could not write `{}`: {error}", output.display())))
        })
    }
}

impl Build {
    /// What is written, which is not the program itself.
    fn place_of_output(&self, usual: PathBuf) -> Result<PathBuf, Refused> {
        let output = self.output.clone().unwrap_or(usual);
        let place = |path: &std::path::Path| path.canonicalize().ok();
        if place(&output).is_some_and(|output| Some(output) == place(&self.path)) {
            let shown = output.display();
            let text =
                format!("`{shown}` is the program itself, which would be lost; name another file with `-o`");
            return Err(Refused::Trouble(Error::CannotRun(text)));
        }
        Ok(output)
    }

    /// In the program that has the compiler.
    #[cfg(feature = "native")]
    fn carry_out_here(self) -> Result<(), Refused> {
        if self.path.as_os_str() == "-" && self.output.is_none() {
            let text = "what is made of a program on standard input needs a file: name it with `-o FILE`";
            return Err(Refused::Trouble(Error::CannotRun(text.to_owned())));
        }
        let module = self.compile.module(self.path.as_os_str())?;
        if let Some(emit) = self.emit {
            let code = crate::native::listing(module, emit).map_err(Refused::Trouble)?;
            if self.output.is_none() && emit != crate::native::Emit::Obj {
                return print(&String::from_utf8_lossy(&code)).map_err(Refused::Trouble);
            }
            let output = self.place_of_output(self.path.with_extension("o"))?;
            return crate::check::files::save(&output, &code).map_err(|error| {
                Refused::Trouble(Error::CannotRun(format!("could not write `{}`: {error}", output.display())))
            });
        }
        let output = self.place_of_output(self.path.with_extension(""))?;
        crate::bundle::write(&module, &output).map_err(Refused::Trouble)
    }

    /// Another program has the compiler.
    #[cfg(not(feature = "native"))]
    fn carry_out_here(self) -> Result<(), Refused> {
        unreachable!("this program has become the other one, or said why not")
    }
}

/// `raddle disasm`.
#[derive(clap::Args)]
pub(crate) struct Disasm {
    #[command(flatten)]
    compile: Compile,

    /// An occam program or bytecode
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

impl Disasm {
    /// The text to show.
    pub(crate) fn text(self) -> Result<String, Refused> {
        let module = self.compile.module(self.path.as_os_str())?;
        Ok(occam::listing(&module))
    }
}

#[test]
fn the_grammar_holds_together() {
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}

#[test]
fn options_may_follow_the_path_and_arguments_follow_two_dashes() {
    let line = ["raddle", "run", "./app", "--workers", "3", "--", "--workers", "7"];
    let Command::Run(run) = Arguments::parse_from(line).command else { panic!("another command") };
    let variables: Vec<_> = run.settings.variables().collect();
    assert_eq!(variables, [("RADDLE_WORKERS", OsString::from("3"))]);
    assert_eq!(run.args, ["--workers", "7"]);
}

/// What the pages tell to type is understood.
#[test]
fn commands_on_the_pages_are_understood() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = std::fs::read_dir(format!("{root}/docs")).expect("there are pages");
    let pages = folder.map(|entry| entry.expect("it is read").path());
    let mut commands = 0;
    for page in pages.filter(|it| it.is_file()).chain([format!("{root}/README.md").into()]) {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let typed = text.lines().filter_map(|line| line.strip_prefix("$ "));
        let ours = |line: &str| {
            let line = line.strip_prefix("cargo ").unwrap_or(line);
            line.strip_prefix("raddle ").map(str::to_owned)
        };
        for line in typed.filter_map(ours) {
            let words = line.split(" #").next().unwrap_or_default().split_whitespace();
            let parsed = Arguments::try_parse_from(["raddle"].into_iter().chain(words));
            let helps = parsed.as_ref().is_err_and(|it| it.kind() == clap::error::ErrorKind::DisplayHelp);
            assert!(parsed.is_ok() || helps, "{}: {line}", page.display());
            commands += 1;
        }
    }
    assert!(commands > 20, "{commands} commands");
}
