//! The command `raddle` as its users meet it: what it says, what it ends with, how it behaves in a pipe.

mod alloc;
mod board;
mod check;
mod corpus;
mod dump;
#[cfg(target_arch = "x86_64")]
mod exec;
mod fmt;
mod foreign;
mod full;
mod graph;
mod hears;
mod hostile;
mod info;
mod lab;
mod libraries;
mod lsp;
mod moved_in_loops;
mod moves;
mod mpi;
mod pages;
mod priorities;
mod process;
mod programs;
mod refused;
mod sound;
mod source;
mod streams;
mod terminal;
mod tested;
mod top;
mod trace;
mod transcripts;
mod unsigned;

#[path = "../../../raddle-core/tests/support/guard.rs"]
mod guard;

use std::process::Command;

/// The command under test, with no setting inherited.
fn raddle() -> Command {
    without_settings(Command::new(env!("CARGO_BIN_EXE_raddle")))
}

/// As [`raddle`], and an interrupt ends it even if these tests run behind `&` in a script, which has it ignored, and a
/// hangup even if they run under `nohup`.
fn interruptible() -> Command {
    let mut command = without_settings(Command::new("env"));
    command.args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_raddle")]);
    command
}

fn without_settings(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    command
}

/// `raddle run /bin/sh -- -c SCRIPT`, with options before.
fn run_shell(options: &[&str], script: &str) -> Command {
    let mut command = interruptible();
    command.arg("run").args(options).args(["/bin/sh", "--", "-c", script]);
    command
}

/// What the command wrote, as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
