//! Random loops of MOBILEs, in which nothing depends on a value: what the checker refuses would stop, and what it
//! accepts without a warning does not.
//!
//! `FUZZ_ROUNDS=100000` makes it a long run, `FUZZ_FROM=5000` begins there; each round's seed is its number.

use crate::programs::rounds;
use crate::sound::{Random, Short, accepted, accepted_with, one_worker};
use raddle_bytecode::Trap;
use raddle_host::Failure;
use raddle_occam::{Options, diag::Code};
use std::fmt::Write as _;
use std::sync::Arc;

const ROUNDS: u64 = 800;

const HEAD: &str = "\
PROC take (INITIAL MOBILE []INT x)
  x[0] := 1
:
PROC look (VAL []INT x)
  SKIP
:
PROC give (RESULT MOBILE []INT x)
  x := MOBILE [2]INT
:
PROC main (CHAN BYTE screen!)
  MOBILE []INT m0, m1, m2:
  INT n:
  SEQ
    m0, m1, m2 := MOBILE [1]INT, MOBILE [2]INT, MOBILE [3]INT
    n := 1
";

struct LoopsWriter {
    random: Random,
    text: String,
    channels: usize,
}

impl LoopsWriter {
    fn lines(&mut self, indent: usize, lines: &[&str]) {
        for line in lines {
            let _ = writeln!(self.text, "{:indent$}{line}", "");
        }
    }

    fn statement(&mut self, indent: usize, depth: usize) {
        let (one, other) = (self.random.below(3), self.random.below(3));
        let (x, y) = (format!("m{one}"), format!("m{other}"));
        match self.random.below(if depth == 0 { 9 } else { 12 }) {
            0 => self.lines(indent, &[&format!("take ({x})")]),
            1 | 2 => self.lines(indent, &[&format!("{x} := MOBILE [2]INT")]),
            3 => self.lines(indent, &[&format!("give ({x})")]),
            4 => self.lines(indent, &[&format!("look ({x})")]),
            // Who moves nothing away, and nobody looks, goes on; so somebody looks.
            5 if x != y => {
                let look = format!("  look ({y})");
                self.lines(indent, &["SEQ", &look, &format!("  {x} := {y}")]);
            }
            6 => self.lines(indent, &[&format!("take (CLONE {x})")]),
            7 if x != y => {
                let c = format!("c{}", self.channels);
                self.channels += 1;
                let declared = format!("CHAN MOBILE []INT {c}:");
                self.lines(indent, &["SEQ", &format!("  look ({x})"), &format!("  {declared}"), "  PAR"]);
                self.lines(indent + 4, &[&format!("{c} ! {x}"), &format!("{c} ? {y}")]);
            }
            8 => {
                let (call, fork) = (format!("    take ({x})"), format!("      FORK take ({x})"));
                self.lines(indent, &["IF", "  n = 1", &call, "  TRUE", "    FORKING", &fork]);
            }
            9 | 10 => {
                let count = 1 + self.random.below(3);
                self.lines(indent, &[&format!("SEQ r{indent} = 0 FOR {count}")]);
                self.statements(indent + 2, depth - 1);
            }
            11 => {
                self.lines(indent, &["PAR", "  SKIP"]);
                self.statements(indent + 2, depth - 1);
            }
            _ => self.lines(indent, &["SKIP"]),
        }
    }

    fn statements(&mut self, indent: usize, depth: usize) {
        self.lines(indent, &["SEQ"]);
        for _ in 0..1 + self.random.below(3) {
            self.statement(indent + 2, depth);
        }
    }
}

fn program(round: u64) -> String {
    let mut writer = LoopsWriter { random: Random::of(round), text: HEAD.to_owned(), channels: 0 };
    for _ in 0..1 + writer.random.below(3) {
        writer.statement(4, 3);
    }
    writer.text + ":\n"
}

/// A program that would stop by no other fault is run although the checker refuses it.
#[test]
fn loops_are_refused_if_they_use_what_has_moved_away_and_only_then() {
    let lax_rules = Options { undefined_warns: true, ..Options::default() };
    let strict_rules = Options { deny: vec![Code::MaybeUndefined], ..Options::default() };
    let (mut run, mut refused, mut warned) = (0, 0, 0);
    for round in rounds(ROUNDS) {
        let text = program(round);
        let Some(lax) = accepted_with(&text, &lax_rules) else { continue };
        let strict = accepted(&text).is_some();
        if strict && accepted_with(&text, &strict_rules).is_none() {
            warned += 1;
            continue;
        }
        let outcome = raddle_host::run(lax, one_worker(round), Arc::new(Short::default())).unwrap();
        let undefined =
            matches!(&outcome.result, Err(Failure::Fault(fault)) if fault.trap == Trap::Undefined);
        assert_eq!(strict, !undefined, "round {round}, accepted: {strict}, {:?}:\n{text}", outcome.result);
        if strict { run += 1 } else { refused += 1 }
    }
    let counts = format!("{run} run, {refused} refused, {warned} warned of");
    assert!(run * 8 > refused && refused * 8 > run && warned < run, "{counts}: the generator is lopsided");
}
