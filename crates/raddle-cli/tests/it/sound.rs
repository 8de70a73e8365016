//! What the checker has accepted never ends with a message of the machine: it has no address and no channel's word that
//! could be wrong, no message of another size, no call of the host, no race.
//!
//! `FUZZ_ROUNDS=100000` makes it a long run, `FUZZ_FROM=5000` begins there; each round's seed is its number.

use crate::programs::rounds;
use raddle_bytecode::Trap;
use raddle_host::{Failure, Port, RunOptions, World};
use raddle_occam::{pre::NoFiles, source::Sources};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ROUNDS: u64 = 1200;
/// How often a program is asked whether it should go on, some tens of times per second.
const ASKED_MAX: u32 = 4;

/// A world that writes nothing, and ends what does not end by itself.
#[derive(Default)]
pub(crate) struct Short(AtomicU32);

impl World for Short {
    fn output(&self, _: Port, _: &[u8]) {}

    fn key(&self) -> Option<u8> {
        None
    }

    fn wants_end(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) >= ASKED_MAX
    }
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn of(round: u64) -> Random {
        Random(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % end as u64) as usize
    }

    pub(crate) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The program, if it is accepted as one that can be run.
pub(crate) fn accepted(text: &str) -> Option<raddle_bytecode::Verified> {
    accepted_with(text, &raddle_occam::Options::default())
}

pub(crate) fn accepted_with(
    text: &str,
    options: &raddle_occam::Options,
) -> Option<raddle_bytecode::Verified> {
    let mut sources = Sources::new();
    let root = sources.add("fuzz", text)?;
    let checked = raddle_occam::analyse(&mut sources, root, options, &mut NoFiles).checked().ok()?;
    raddle_bytecode::verify(raddle_occam::lower::lower(&checked, &sources).ok()?).ok()
}

/// Whether a program that was checked can never end so. All others are a value's fault, which the check cannot know: a
/// mobile's, too, which may have been moved away on one path and not on another.
fn is_the_machines(trap: Trap) -> bool {
    match trap {
        Trap::Message | Trap::Channel | Trap::Address | Trap::Alias | Trap::Host | Trap::Race => true,
        // Only among ranks.
        Trap::Placed => true,
        Trap::Stop | Trap::Assert | Trap::If | Trap::Case | Trap::Alt | Trap::Tag => false,
        Trap::Overflow | Trap::Division | Trap::Range | Trap::Shift | Trap::Count => false,
        Trap::Subscript | Trap::Slice | Trap::Size | Trap::Undefined => false,
        Trap::Memory | Trap::Depth => false,
    }
}

pub(crate) fn one_worker(seed: u64) -> RunOptions {
    RunOptions { seed: Some(seed), memory_bytes: 1 << 20, ..RunOptions::default() }
}

/// Runs an accepted program; whether it is accepted.
pub(crate) fn ends_in_its_own_words(text: &str, seed: u64) -> bool {
    let Some(program) = accepted(text) else { return false };
    let one = one_worker(seed);
    let two = RunOptions { workers: 2, at_once: true, memory_bytes: 1 << 20, ..RunOptions::default() };
    for options in [one, two] {
        let outcome = raddle_host::run(program.clone(), options, Arc::new(Short::default())).unwrap();
        match outcome.result {
            Ok(()) => assert_eq!(outcome.memory_left, 0, "bytes that nobody has given back:\n{text}"),
            Err(Failure::Fault(fault)) => {
                let report = outcome.report.map_or(String::new(), |it| it.to_string());
                assert!(!is_the_machines(fault.trap), "{report}\n{text}");
            }
            Err(_) => {}
        }
    }
    true
}

#[test]
fn whatever_parameters_a_program_has() {
    let names = ["keyboard", "in", "screen", "out", "error", "err", "x", "y"];
    let uses =
        ["NAME ! 'a'", "NAME ? b", "SKIP", "write (NAME!)", "write (NAME)", "read (NAME?)", "read (NAME)"];
    let (mut run, mut refused) = (0, 0);
    for round in rounds(ROUNDS) {
        let mut random = Random::of(round);
        let mut chosen: Vec<&str> = Vec::new();
        for _ in 0..random.below(4) {
            let name: &&str = random.one_of(&names);
            chosen.push(name);
        }
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.len() > 1 && random.below(2) == 0 {
            chosen.swap(0, 1);
        }
        let mut formals = Vec::new();
        let mut lines = String::new();
        for name in &chosen {
            let (shared, end) = (random.below(4) == 0, random.one_of(&["", "", "", "!", "?"]));
            let word = if shared { "SHARED " } else { "" };
            formals.push(format!("{word}CHAN BYTE {name}{end}"));
            for _ in 0..1 + random.below(2) {
                let mut used = random.one_of(&uses).replace("NAME", name);
                if shared {
                    let end = if used.contains('?') || used.contains("read") { '?' } else { '!' };
                    used = format!("CLAIM {name}{end}\n      {used}");
                }
                lines += &format!("    {used}\n");
            }
        }
        let text = format!(
            "PROC write (CHAN BYTE to!)\n  to ! 'w'\n:\nPROC read (CHAN BYTE from?)\n  BYTE b:\n  from ? b\n:\n\
             PROC main ({})\n  BYTE b:\n  SEQ\n{lines}    SKIP\n:\n",
            formals.join(", ")
        );
        if ends_in_its_own_words(&text, round) { run += 1 } else { refused += 1 }
    }
    assert!(run * 8 > refused && refused > 0, "{run} run, {refused} refused: the generator is lopsided");
}

fn seeds() -> Vec<Vec<String>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut list = Vec::new();
    for kind in ["accept", "run", "reject"] {
        let mut paths: Vec<_> =
            std::fs::read_dir(corpus.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "occ")) {
            let text = std::fs::read_to_string(path).unwrap();
            // What the checks were told not to look at may go wrong.
            if !text.contains("#PRAGMA") && !text.contains("#OPTION") {
                list.push(text.lines().map(str::to_owned).collect());
            }
        }
    }
    assert!(list.len() > 40);
    list
}

/// What may stand for something else.
const WORDS: [(&str, &str); 13] = [
    ("SEQ", "PAR"),
    ("PAR", "SEQ"),
    ("SHARED ", ""),
    ("CHAN", "SHARED CHAN"),
    ("VAL ", ""),
    ("MOBILE ", ""),
    ("BARRIER", "MOBILE BARRIER"),
    ("FORKING", "SEQ"),
    ("SEQ", "FORKING"),
    ("FORK ", ""),
    (" ENROLL b", ""),
    ("SYNC b", "RESIGN b"),
    ("??", "?"),
];

/// Changes a line, a word or a number so that it is likely to be a program still.
fn mutate(lines: &mut Vec<String>, random: &mut Random) {
    let at = random.below(lines.len());
    match random.below(6) {
        0 => {
            lines.remove(at);
        }
        1 => {
            let indent = |line: &str| line.len() - line.trim_start().len();
            let like: Vec<String> =
                lines.iter().filter(|line| indent(line) == indent(&lines[at])).cloned().collect();
            lines.insert(at, random.one_of(&like).clone());
        }
        2 => {
            let (from, to) = random.one_of(&WORDS);
            lines[at] = lines[at].replacen(from, to, 1);
        }
        3 => {
            let (from, to) = random.one_of(&[
                ("!", ""),
                ("?", ""),
                ("?", "!"),
                ("!", "?"),
                ("?", "??"),
                ("0", "1"),
                ("1", "3"),
            ]);
            lines[at] = lines[at].replacen(from, to, 1);
        }
        _ => {
            let words = |line: &str| -> Vec<String> {
                let name = |c: char| !(c.is_ascii_alphanumeric() || c == '.');
                line.split(name).filter(|word| !word.is_empty()).map(str::to_owned).collect()
            };
            let (from, to) = (words(&lines[at]), words(&lines[random.below(lines.len())]));
            if !from.is_empty() && !to.is_empty() {
                let (from, to) = (random.one_of(&from).clone(), random.one_of(&to).clone());
                lines[at] = lines[at].replacen(&from, &to, 1);
            }
        }
    }
}

#[test]
fn whatever_becomes_of_a_program() {
    let seeds = seeds();
    let (mut run, mut all) = (0, 0);
    for round in rounds(ROUNDS) {
        let mut random = Random::of(round);
        let mut lines = random.one_of(&seeds).clone();
        for _ in 0..1 + random.below(3) {
            if !lines.is_empty() {
                mutate(&mut lines, &mut random);
            }
        }
        all += 1;
        run += u64::from(ends_in_its_own_words(&(lines.join("\n") + "\n"), round));
    }
    assert!(run * 20 > all, "{run} of {all} are programs: too few");
}
