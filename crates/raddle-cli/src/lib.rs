//! Owns: the command `raddle`, and alone its exit codes.
//! May use: `clap`.
//! Never: scheduling; what a setting means is the runtime's business.
//!
//! `raddle run` prepares the program and then *becomes* it (`execve`), instead of staying its parent: so signals, the
//! terminal, pipes and the exit status are the program's own, without any forwarding.
//!
//! It is a library so that `raddle-native`, which brings the compiler to machine code, is the same command.
//!
//! It uses arguments, files, the environment, the terminal, cargo.

mod alloc;
mod args;
mod board;
#[cfg(feature = "native")]
mod bundle;
mod check;
mod dump;
mod exec;
mod explain;
mod fmt;
mod graph;
mod image;
mod info;
mod lab;
mod lsp;
mod mpi;
mod native;
mod network;
mod occam;
mod out;
mod program;
mod project;
mod refusal;
mod settings;
mod test;
mod top;
mod trace;

#[cfg(feature = "native")]
pub use native::{Compilers, Emit};
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command, RunResult};
use check::CheckResult;
use fmt::Formatted;
use lsp::Conversation;
use mpi::MpiEnded;
use occam::{Ended, Refused};
use out::print;
use refusal::Error;
use test::TestsEnded;
use trace::Report;

/// The exit code when `raddle` did not start the program; `env` and `timeout` use the same numbers above 2.
fn exit_code(error: &Error) -> u8 {
    match error {
        Error::TooLarge(_) => 1,
        Error::Setting(_) => 2,
        Error::Build(_) => 125,
        Error::CannotRun(_) => 126,
        Error::NotFound(_) => 127,
    }
}

/// The exit code that a shell shows for a program that ended by a signal.
fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// What a command has to tell, or why it has not.
fn told(result: Result<String, Error>) -> ExitCode {
    result.map_or_else(|error| complain(&error), |text| show(&text))
}

/// The command, with the process's arguments.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) => return tell(&told),
    };
    match arguments.command {
        Command::Run(run) => ran(run.carry_out()),
        Command::Exec(exec) => told(exec.carry_out()),
        Command::Build(build) => build.carry_out().map_or_else(not_compiled, |()| ExitCode::SUCCESS),
        Command::Flash(flash) => match flash.carry_out() {
            Ok(text) => show(&text),
            Err(refused) => not_compiled(refused),
        },
        Command::Graph(graph) => graph.carry_out().map_or_else(not_compiled, |()| ExitCode::SUCCESS),
        Command::Disasm(disasm) => match disasm.text() {
            Ok(text) => show(&text),
            Err(refused) => not_compiled(refused),
        },
        Command::Check(check) => match check.carry_out() {
            CheckResult::Accepted => ExitCode::SUCCESS,
            CheckResult::Refused => ExitCode::from(1),
            CheckResult::Trouble(error) => ExitCode::from(exit_code(&error)),
        },
        Command::Test(test) => match test.carry_out() {
            TestsEnded::Passed => ExitCode::SUCCESS,
            TestsEnded::Failed => ExitCode::from(3),
            TestsEnded::Refused => ExitCode::from(1),
            TestsEnded::Trouble(error) => complain(&error),
        },
        Command::Fmt(fmt) => match fmt.carry_out() {
            Formatted::Done => ExitCode::SUCCESS,
            Formatted::Not => ExitCode::from(1),
            Formatted::Trouble(error) => complain(&error),
        },
        Command::Lsp(lsp) => match lsp.carry_out() {
            Conversation::Closed => ExitCode::SUCCESS,
            Conversation::BrokenOff => ExitCode::from(1),
            Conversation::Trouble(error) => complain(&error),
        },
        Command::Explain(explain) => show(&explain.text()),
        Command::Trace(trace) => match trace.carry_out() {
            Ok(Report { text, well }) => match print(&text) {
                Err(error) => complain(&error),
                Ok(()) if well => ExitCode::SUCCESS,
                Ok(()) => ExitCode::from(1),
            },
            Err(error) => complain(&error),
        },
        Command::Alloc(alloc) => told(alloc.carry_out()),
        Command::Top(top) => match top.carry_out() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error),
        },
        Command::Lab(lab) => match (lab.text(), lab.said_at_once()) {
            (Some(text), _) => show(text),
            (None, Some(said)) => tell(&said),
            (None, None) => complain(&lab.become_it()),
        },
        Command::Dump(dump) => told(dump.carry_out()),
        Command::Info => show(&info::report()),
        Command::Mpi(mpi) => match mpi.carry_out() {
            Ok(MpiEnded::Text(text)) => show(&text),
            Ok(MpiEnded::Simulated(true)) => ExitCode::SUCCESS,
            Ok(MpiEnded::Simulated(false)) => ExitCode::from(1),
            Ok(MpiEnded::Interrupted(signal)) => ExitCode::from(by_signal(signal)),
            Err(error) => complain(&error),
        },
    }
}

/// The command, with compilers to machine code for `--native`; or the occam program that was built into it.
#[cfg(feature = "native")]
pub fn main_with(compilers: Compilers) -> ExitCode {
    native::bring(compilers);
    match bundle::contained() {
        Ok(Some(program)) => match bundle::BundledRun::of(&program) {
            Ok(run) => ran(run.carry_out().map_or_else(RunResult::Trouble, RunResult::Ended)),
            Err(told) => tell(&told),
        },
        Ok(None) => main(),
        Err(error) => complain(&Error::CannotRun(format!("could not read this program itself: {error}"))),
    }
}

fn ran(result: RunResult) -> ExitCode {
    match result {
        RunResult::Ended(Ended::Well) => ExitCode::SUCCESS,
        RunResult::Ended(Ended::Failed) => ExitCode::from(3),
        RunResult::Ended(Ended::Interrupted(signal)) => ExitCode::from(by_signal(signal)),
        RunResult::Refused => ExitCode::from(1),
        RunResult::Trouble(error) => complain(&error),
    }
}

/// Help, the version, or what is wrong with the arguments.
fn tell(told: &clap::Error) -> ExitCode {
    match told.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => complain(&Error::unwritten_output(&error)),
        _ => ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(2)),
    }
}

fn not_compiled(refused: Refused) -> ExitCode {
    match refused {
        Refused::Program => ExitCode::from(1),
        Refused::Trouble(error) => complain(&error),
    }
}

fn complain(error: &Error) -> ExitCode {
    // An error is ignored: the exit code reports the failure, too.
    let _ = writeln!(std::io::stderr(), "raddle: {error}");
    ExitCode::from(exit_code(error))
}

fn show(text: &str) -> ExitCode {
    print(text).map_or_else(|error| complain(&error), |()| ExitCode::SUCCESS)
}
