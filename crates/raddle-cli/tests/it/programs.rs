//! Owns: random programs without a mistake, run by the machine and by an interpreter that walks their tree.
//! May use: `program`, which makes, writes and interprets them.
//! Never: a program whose result depends on a schedule.
//!
//! `FUZZ_ROUNDS=100000` makes it a long run, `FUZZ_FROM=5000` begins there; each round's seed is its number.

mod tree;

use raddle_host::{Port, RunOptions, World};
use raddle_occam::{pre::NoFiles, source::Sources};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use tree::GenProgram;

const ROUNDS: u64 = 120;
/// Programs that last some milliseconds: so many fewer.
const ROUNDS_OF_MANY: u64 = 12;
/// So many side by side, each so often: long enough that they come over to several workers.
const COPIES: usize = 24;
const REPEATS: usize = 8;

#[derive(Default)]
struct CapturedOutput(Mutex<Vec<u8>>);

impl World for CapturedOutput {
    fn output(&self, _: Port, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    fn key(&self) -> Option<u8> {
        None
    }
}

pub(crate) fn compile(text: &str) -> raddle_bytecode::Verified {
    let mut sources = Sources::new();
    let root = sources.add("generated", text).unwrap();
    let analysis = raddle_occam::analyse(&mut sources, root, &raddle_occam::Options::default(), &mut NoFiles);
    let shown: String =
        analysis.diagnostics().iter().map(|it| raddle_occam::diag::render(it, &sources)).collect();
    let checked = analysis.checked().unwrap_or_else(|_| panic!("{shown}\n{text}"));
    let module = raddle_occam::lower::lower(&checked, &sources).unwrap_or_else(|complaints| {
        let shown: String = complaints.iter().map(|it| raddle_occam::diag::render(it, &sources)).collect();
        panic!("{shown}\n{text}")
    });
    raddle_bytecode::verify(module).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

/// What a program writes, or that a run-time error ended it.
pub(crate) fn run(program: &raddle_bytecode::Verified, options: RunOptions) -> Option<String> {
    let paper = Arc::new(CapturedOutput::default());
    let outcome = raddle_host::run(program.clone(), options, paper.clone()).unwrap();
    let text = String::from_utf8_lossy(&paper.0.lock().unwrap()).into_owned();
    match outcome.result {
        Ok(()) => {
            assert_eq!(outcome.memory_left, 0, "bytes that nobody has given back");
            Some(text)
        }
        Err(raddle_host::Failure::Fault(_)) => None,
        Err(other) => {
            Some(format!("{other:?}\n{}", outcome.report.map_or(String::new(), |it| it.to_string())))
        }
    }
}

pub(crate) fn rounds(usual: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let from = number("FUZZ_FROM").unwrap_or(1);
    from..from + number("FUZZ_ROUNDS").unwrap_or(usual)
}

#[test]
fn the_machine_does_what_the_tree_says() {
    let (rounds, mut faults) = (rounds(ROUNDS), 0);
    let count = rounds.end - rounds.start;
    for round in rounds {
        let program = GenProgram::random(round);
        let text = program.text();
        let expected = program.result();
        faults += u64::from(expected.is_none());
        let compiled = compile(&text);
        let base = RunOptions { workers: 1, memory_bytes: 1 << 20, ..RunOptions::default() };
        let two = RunOptions { workers: 2, at_once: true, ..base.clone() };
        let seeded = RunOptions { seed: Some(round), ..base.clone() };
        for (how, options) in [("1 worker", base), ("2 workers", two), ("a seed", seeded)] {
            assert_eq!(run(&compiled, options), expected, "round {round} with {how}:\n{text}");
        }
    }
    assert!(faults * 2 < count, "{faults} of {count} programs fail: too many to be of use");
}

/// Those that do not fail, long enough to begin on one thread and to be dealt to several.
#[test]
fn what_comes_over_to_several_workers_does_what_the_tree_says() {
    for round in rounds(ROUNDS_OF_MANY) {
        let program = GenProgram::random(round);
        let Some(expected) = program.result().map(|one| one.repeat(COPIES)) else { continue };
        let text = program.text_of_many(COPIES, REPEATS);
        let compiled = compile(&text);
        let base = RunOptions { memory_bytes: 16 << 20, ..RunOptions::default() };
        for workers in [1, 2, 3, 8] {
            for at_once in [false, true] {
                let options = RunOptions { workers, at_once, ..base.clone() };
                let how = format!("{workers} workers, at once: {at_once}");
                assert_eq!(
                    run(&compiled, options).as_ref(),
                    Some(&expected),
                    "round {round}, {how}:\n{text}"
                );
            }
        }
        let seeded = RunOptions { seed: Some(round), ..base };
        assert_eq!(run(&compiled, seeded).as_ref(), Some(&expected), "round {round} with a seed:\n{text}");
    }
}
