//! A test that dies, or that needs an environment, runs itself again in a process of its own.

#![allow(dead_code, reason = "each test program uses a part")]

#[path = "guard.rs"]
mod guard;

use guard::CHILD;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

/// What starts a program that is not for this machine, as Cargo's `runner`; split at spaces.
const RUNNER: &str = "TEST_RUNNER";

/// Runs `body` in a process of its own: this very test, told by a variable that it is the child.
#[track_caller]
pub(crate) fn in_child(test: &str, body: impl FnOnce()) -> Output {
    in_child_with(test, &[], body)
}

/// As [`in_child`], with variables.
#[track_caller]
pub(crate) fn in_child_with(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) -> Output {
    if std::env::var_os(CHILD).is_some() {
        body();
        std::process::exit(0);
    }
    command(test, variables).output().expect("the child starts")
}

/// As [`in_child`], for a parent that reads what it says, and ends its standard input when it has read enough.
pub(crate) fn begin_child(test: &str, body: impl FnOnce()) -> Child {
    if std::env::var_os(CHILD).is_some() {
        body();
        std::process::exit(0);
    }
    let mut command = command(test, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the child starts")
}

/// Runs one of the programs that run before there is a harness: see `hang`.
pub(crate) fn in_program(name: &str, variables: &[(&str, &str)]) -> Output {
    program(name, variables).output().expect("the program starts")
}

/// What starts one of these programs.
pub(crate) fn program(name: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = command(name, variables);
    command.env("TEST_PROGRAM", name);
    command
}

fn command(test: &str, variables: &[(&str, &str)]) -> Command {
    let program = std::env::current_exe().expect("the test's own path");
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    // A forked child has memory of threads that it does not have: AddressSanitizer would call that leaks.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    command.env(CHILD, "1").envs(variables.iter().copied());
    command
}

/// What the child wrote on standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The child ended by itself, with code 0.
#[track_caller]
pub(crate) fn assert_success(output: &Output) {
    assert!(output.status.success(), "{:?}\n{}", output.status, stderr(output));
}

/// The child was aborted, after it had said all of `said`.
#[track_caller]
pub(crate) fn assert_aborted(output: &Output, said: &[&str]) {
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{:?}\n{}", output.status, stderr(output));
    assert_said(output, said);
}

/// The child said all of `said` on standard error.
#[track_caller]
pub(crate) fn assert_said(output: &Output, said: &[&str]) {
    let text = stderr(output);
    for part in said {
        assert!(text.contains(part), "\"{part}\" is missing in:\n{text}");
    }
}
