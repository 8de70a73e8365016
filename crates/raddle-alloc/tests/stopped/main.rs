//! Owns: the proof by trial that nobody waits for a thread that is stopped: T1, T2 and T4 of docs/ALLOC.md.
//! May use: `libc`, `raddle-alloc`, `raddle-syscall`.
//! Never: a bound on how long something takes, but `witness`'s and a watchdog of minutes.
//!
//! Each trial is this program once more, with words of its own:
//!
//! | words | trial |
//! |---|---|
//! | `step SCRIPT EVERY` | T1: one thread is stepped through a script; at each `EVERY`th instruction others allocate |
//! | `park KIND VICTIMS SEED` | T2: threads are stopped by a signal at any instruction; others allocate |
//! | `park ... malloc` | the same of the program's `malloc`: a control, or another allocator, preloaded |
//! | `invert` | T4: threads of three priorities share one processor |
//!
//! Without words it runs a sample. `RADDLE_ALLOC_TRIALS=1000` and `RADDLE_ALLOC_STEP=1` are the long forms;
//! `RADDLE_ALLOC_OF=malloc`, or a library's path, tries another allocator.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what was tried, and what failed")]

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

mod invert;
mod park;
mod step;
mod witness;
mod work;

use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs this program with these words; true if it ended well.
fn trial(words: &[String]) -> bool {
    let program = std::env::current_exe().expect("a program has a path");
    let status = Command::new(program).args(words).status().expect("it starts");
    if !status.success() {
        eprintln!("{}: {status}", words.join(" "));
    }
    status.success()
}

/// What trials of parking have found.
#[derive(Default)]
struct Parked {
    trials: usize,
    frozen: usize,
    failed: usize,
    threads: usize,
    busy: usize,
}

impl Parked {
    /// One more, of an allocator: `raddle`, `malloc`, or a library that is preloaded. True if others froze.
    fn try_one(&mut self, of: &str, kind: &str, victims: usize, seed: usize) -> bool {
        let mut command = Command::new(std::env::current_exe().expect("a program has a path"));
        command.args(["park", kind, &victims.to_string(), &seed.to_string()]);
        match of {
            "raddle" => {}
            "malloc" => _ = command.arg("malloc"),
            library => _ = command.arg("malloc").env("LD_PRELOAD", library),
        }
        let output = command.stderr(std::process::Stdio::inherit()).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        let mut count = || words.next().and_then(|word| word.parse::<usize>().ok());
        self.trials += 1;
        let (Some(threads), Some(busy), true) = (count(), count(), output.status.success()) else {
            eprintln!("{of}: {kind}, {victims} victims, seed {seed}: {}", output.status);
            self.failed += 1;
            return false;
        };
        let froze = text.trim_end().ends_with("frozen");
        self.threads += threads;
        self.busy += busy;
        self.frozen += usize::from(froze);
        froze
    }

    fn say(&self, what: &str) {
        let Parked { trials, frozen, failed, threads, busy } = self;
        print!("{what}: {trials} trials of parking, {threads} threads stopped");
        println!(", {busy} at work in their heap: {frozen} froze others, {failed} failed");
    }
}

/// T2: so many trials in all, of each kind and number of victims; how many were not as they should be.
fn parks(of: &str, trials: usize) -> usize {
    let sizes: &[usize] = if trials > 100 { &[8, 64, 256] } else { &[8] };
    let mut bad = 0;
    for kind in park::KINDS {
        for &victims in sizes {
            let mut parked = Parked::default();
            for seed in 1..=trials.div_ceil(sizes.len() * park::KINDS.len()) {
                parked.try_one(of, kind, victims, seed);
            }
            if parked.trials > 0 {
                parked.say(&format!("{of}, {kind}, {victims} victims"));
            }
            bad += parked.frozen + parked.failed;
        }
    }
    bad
}

/// The C library's `malloc` has locks: the trials have to notice it, or they notice nothing.
fn control() -> usize {
    const MOST: usize = 60;
    let mut parked = Parked::default();
    let noticed = (1..=MOST).any(|seed| parked.try_one("malloc", "mixed", 8, seed));
    parked.say("control: the C library's malloc, until one freezes others");
    usize::from(!noticed)
}

fn parent() -> ExitCode {
    let mut failed = 0;
    let every = number("RADDLE_ALLOC_STEP", 499);
    if every != usize::MAX {
        for script in step::SCRIPTS {
            failed += usize::from(!trial(&["step".to_owned(), script.0.to_owned(), every.to_string()]));
        }
        println!("{} scripts at every {every}th instruction", step::SCRIPTS.len());
    }
    let of = std::env::var("RADDLE_ALLOC_OF").unwrap_or_else(|_| "raddle".to_owned());
    let trials = number("RADDLE_ALLOC_TRIALS", 8);
    failed += parks(&of, trials);
    if of == "raddle" {
        if trials > 0 {
            failed += control();
        }
        failed += usize::from(!trial(&["invert".to_owned()]));
    }
    println!("{failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["step", script, every] => step::run(script, every.parse().expect("a number")),
        ["park", kind, victims, seed, ref of @ ..] => {
            work::IS_MALLOC.store(*of == ["malloc"], Ordering::Relaxed);
            park::run(kind, victims.parse().expect("a number"), seed.parse().expect("a number"))
        }
        ["invert"] => invert::run(),
        _ => parent(),
    }
}
