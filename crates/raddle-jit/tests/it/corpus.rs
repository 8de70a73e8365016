//! Whole programs: the corpus, with seeds, and on several workers.

use crate::support::{Paper, module, programs, same, verified};
use raddle_bytecode::Verified;
use raddle_host::{Port, RunOptions, RunOutcome, World};
use raddle_jit::{Compiler, When};
use std::path::Path;
use std::sync::{Arc, Mutex};

const SEEDS: u64 = 4;

#[test]
fn the_corpus_is_the_same_under_every_seed() {
    let mut count = 0;
    for path in ["run", "accept", "debug"].into_iter().flat_map(programs) {
        let Some(program) = module(&path) else { continue };
        let (program, name) = (verified(program), path.display().to_string());
        for seed in 0..SEEDS {
            let paper = || Paper::new("12 keys\n", 2000);
            assert!(same(&program, paper, (16 << 20, seed), &name).is_some(), "{name}");
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}

/// Keeps what a program writes; its keyboard has the bytes given.
struct CapturedScreen {
    screen: Mutex<Vec<u8>>,
    keys: Mutex<std::vec::IntoIter<u8>>,
}

impl World for CapturedScreen {
    fn output(&self, _: Port, bytes: &[u8]) {
        self.screen.lock().unwrap().extend_from_slice(bytes);
    }

    fn key(&self) -> Option<u8> {
        self.keys.lock().unwrap().next()
    }
}

/// Runs a program as compiled code; how it ended, and what it wrote.
fn ran(program: &Verified, typed: &str, workers: usize, at_once: bool) -> (RunOutcome, String) {
    let when =
        if at_once { When::Some(workers as u64 + program.module().code.len() as u64) } else { When::AtOnce };
    ran_by(program, typed, (workers, at_once), Some(Compiler { when, perf_map: false }))
}

/// The same by that compiler, or by the interpreter.
fn ran_by(
    program: &Verified,
    typed: &str,
    (workers, at_once): (usize, bool),
    compiler: Option<Compiler>,
) -> (RunOutcome, String) {
    let keys = Mutex::new(typed.as_bytes().to_vec().into_iter());
    let world = Arc::new(CapturedScreen { screen: Mutex::default(), keys });
    let compiler = compiler.map(|it| Arc::new(it) as _);
    let options = RunOptions { workers, at_once, compiler, memory_bytes: 64 << 20, ..RunOptions::default() };
    let outcome = raddle_host::run(program.clone(), options, Arc::clone(&world) as Arc<dyn World>).unwrap();
    let text = String::from_utf8_lossy(&world.screen.lock().unwrap()).into_owned();
    (outcome, text)
}

/// Runs a program of which nothing depends on who is faster on one worker and on two, interpreted and compiled: what it
/// writes, how it ends, and how many messages pass must not differ.
pub(crate) fn on_workers(program: &Verified, name: &str) {
    let seen = |workers, when: Option<When>| {
        let compiler = when.map(|when| Compiler { when, perf_map: false });
        let (outcome, text) = ran_by(program, "", (workers, workers > 1), compiler);
        let report = outcome.report.map(|it| it.to_string());
        // Where it is stopped by an error the others have gone as far as they had.
        let messages = outcome.result.is_ok().then_some(outcome.stats.messages);
        (text, outcome.result.is_ok(), report, messages)
    };
    let interpreted = seen(1, None);
    for (workers, when) in [(1, When::AtOnce), (2, When::AtOnce), (2, When::Some(1))] {
        let native = seen(workers, Some(when));
        assert_eq!(interpreted, native, "{name}\non {workers} workers, {when:?}");
    }
}

/// What a program writes as compiled code, and what ended it if it failed.
fn run(program: &Verified, workers: usize, at_once: bool) -> String {
    let (outcome, mut text) = ran(program, "12 keys\n", workers, at_once);
    match (outcome.result, outcome.report) {
        (Err(_), Some(report)) => text += &format!("{report}\n"),
        (Err(failure), None) => text += &format!("{failure:?}\n"),
        _ => {}
    }
    text
}

#[test]
fn the_corpus_is_as_expected_on_several_workers() {
    let mut wrong = Vec::new();
    for path in programs("run") {
        let Ok(want) = std::fs::read_to_string(path.with_extension("expected")) else { continue };
        // The report names the file, which here has another name.
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let program = verified(module(&path).unwrap());
        for (workers, at_once) in [(1, false), (2, false), (2, true), (8, true)] {
            let got = run(&program, workers, at_once).replace("program:", &format!("{name}:"));
            if got != want {
                wrong.push(format!("{name} on {workers}, at once {at_once}:\n{got}\nexpected:\n{want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The column of machine code in the table that boards, the page in a browser and the interpreter are held against.
#[test]
fn boards_pages_and_machine_code_write_and_communicate_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../boards/programs");
    let table = std::fs::read_to_string(folder.join("same.txt")).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|it| !it.starts_with('#')).map(|it| it.split('|').collect()).collect();
    assert!(rows.len() >= 3);
    for row in rows {
        let [name, messages, typed, written] = row[..] else { panic!("{row:?}") };
        let program = verified(module(&folder.join(format!("{name}.occ"))).unwrap());
        for (workers, at_once) in [(1, false), (2, true), (8, true)] {
            let (outcome, text) = ran(&program, typed, workers, at_once);
            let seen =
                (outcome.result.is_ok(), outcome.stats.messages.to_string(), text.trim_end().to_owned());
            eprintln!("{name}, machine code on {workers}: {} messages, `{}`", seen.1, seen.2);
            assert_eq!(seen, (true, messages.to_owned(), written.to_owned()), "{name} on {workers}");
        }
    }
}
