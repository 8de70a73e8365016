//! The command `raddle`, refused one thing at a time: each allocation, OS thread, mapping, descriptor.
//!
//! `REFUSE=every cargo test -p raddle-cli --test it refused` refuses each; otherwise some.

#![allow(clippy::print_stderr, reason = "it says how many there were")]

#[path = "../../../raddle-core/tests/support/refuse.rs"]
mod refuse;

use super::raddle;
use refuse::{DESCRIPTORS, MEMORY, Refused, THREADS, each_in_turn};
use std::path::Path;

/// Processes, channels, a timer and memory of their own, for two workers.
const PROGRAM: &str = "\
PROC worker (CHAN INT in?, out!)
  INITIAL MOBILE []INT block IS MOBILE [3000]INT:
  INT x:
  TIMER tim:
  INT t:
  SEQ
    in ? x
    tim ? t
    tim ? AFTER t PLUS 50
    SEQ i = 0 FOR 3000
      block[i] := x + i
    out ! block[2999]
:
PROC main (CHAN BYTE screen!)
  [8]CHAN INT to, from:
  PAR
    PAR i = 0 FOR 8
      worker (to[i]?, from[i]!)
    PAR i = 0 FOR 8
      to[i] ! i
    SEQ i = 0 FOR 8
      INT x:
      SEQ
        from[i] ? x
        screen ! BYTE ('0' PLUS (BYTE (x - 2999)))
:
";

/// What is refused one thing at a time, in a folder with a program, its code and a trace of it.
const COMMANDS: [&[&str]; 5] = [RUN, CHECK, BUILD, TRACE_RUN, TRACE_STATS];
const RUN: &[&str] = &["run", "--workers", "2", "it.rbc"];
const CHECK: &[&str] = &["check", "it.occ"];
const BUILD: &[&str] = &["build", "-o", "again.rbc", "it.occ"];
const TRACE_STATS: &[&str] = &["trace", "stats", "it.rdt"];
const TRACE_RUN: &[&str] = &["trace", "run", "-o", "again.rdt", "--", "it.occ"];

fn refuse_each(what: Refused, commands: &[&[&str]]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("refused-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    std::fs::write(folder.join("it.occ"), PROGRAM).expect("there is room");
    let command = |arguments: &[&str]| {
        let mut command = raddle();
        command.current_dir(&folder).args(arguments);
        command
    };
    let before: [&[&str]; 2] =
        [&["build", "-o", "it.rbc", "it.occ"], &["trace", "run", "-o", "it.rdt", "--", "it.rbc"]];
    for arguments in before {
        let done = command(arguments).output().expect("it starts");
        assert!(done.status.success(), "{}", super::text(&done.stderr));
    }
    for arguments in commands {
        each_in_turn(what, &arguments.join(" "), env!("CARGO_TARGET_TMPDIR"), || command(arguments));
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

// A test for each command: there are thousands of allocations.
#[test]
fn each_allocation_of_a_run() {
    refuse_each(Refused::Allocations, &[RUN]);
}

#[test]
fn each_allocation_of_the_compiler() {
    refuse_each(Refused::Allocations, &[CHECK, BUILD]);
}

#[test]
fn each_allocation_of_a_recorded_run() {
    refuse_each(Refused::Allocations, &[TRACE_RUN]);
}

#[test]
fn each_allocation_of_the_statistics() {
    refuse_each(Refused::Allocations, &[TRACE_STATS]);
}

#[test]
fn each_call_for_memory() {
    refuse_each(MEMORY, &COMMANDS);
}

#[test]
fn each_os_thread() {
    // The others start none.
    refuse_each(THREADS, &[RUN, TRACE_RUN]);
}

#[test]
fn each_descriptor() {
    refuse_each(DESCRIPTORS, &COMMANDS);
}
