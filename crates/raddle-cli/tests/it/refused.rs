//! `raddle` refused one thing at a time: each allocation, OS thread, mapping, descriptor.
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

fn refuse_each(what: Refused) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("refused-{:?}.occ", std::thread::current().id()));
    std::fs::write(&source, PROGRAM).expect("there is room");
    let code = source.with_extension("rbc");
    let built = raddle().arg("build").arg("-o").arg(&code).arg(&source).output().expect("it starts");
    assert!(built.status.success(), "{}", super::text(&built.stderr));
    each_in_turn(what, env!("CARGO_TARGET_TMPDIR"), || {
        let mut command = raddle();
        command.args(["run", "--workers", "2"]).arg(&code);
        command
    });
}

#[test]
fn each_allocation() {
    refuse_each(Refused::Allocations);
}

#[test]
fn each_call_for_memory() {
    refuse_each(MEMORY);
}

#[test]
fn each_os_thread() {
    refuse_each(THREADS);
}

#[test]
fn each_descriptor() {
    refuse_each(DESCRIPTORS);
}
