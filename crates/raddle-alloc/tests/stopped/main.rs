//! Owns: the proof by trial that nobody waits for a thread that is stopped: T1, T2 and T4 of docs/ALLOC.md.
//! May use: `libc`, `raddle-alloc`, `raddle-syscall`.
//! Never: a bound on how long something takes, but a watchdog of minutes: what is stopped is stopped for ever.
//!
//! Each trial is this program once more, with words of its own:
//!
//! | words | trial |
//! |---|---|
//! | `step SCRIPT EVERY` | T1: one thread is stepped through a script; at each `EVERY`th instruction others allocate |
//! | `park KIND VICTIMS SEED` | T2: threads are stopped by a signal at any instruction; others allocate |
//! | `invert` | T4: threads of three priorities share one processor |
//!
//! Without words it runs a sample. `RADDLE_ALLOC_TRIALS=1000` and `RADDLE_ALLOC_STEP=1` are the long forms.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says what was tried, and what failed")]

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

mod invert;
mod park;
mod step;
mod work;

use std::process::{Command, ExitCode};

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

fn parent() -> ExitCode {
    let mut failed = 0;
    let every = number("RADDLE_ALLOC_STEP", 499);
    for script in step::SCRIPTS {
        failed += usize::from(!trial(&["step".to_owned(), script.0.to_owned(), every.to_string()]));
    }
    let trials = number("RADDLE_ALLOC_TRIALS", 5);
    let sizes: &[usize] = if trials > 100 { &[8, 64, 256] } else { &[8] };
    let mut done = 0;
    for kind in park::KINDS {
        for victims in sizes {
            for seed in 1..=trials.div_ceil(sizes.len() * park::KINDS.len()).max(2) {
                done += 1;
                failed +=
                    usize::from(!trial(&["park".into(), kind.into(), victims.to_string(), seed.to_string()]));
            }
        }
    }
    failed += usize::from(!trial(&["invert".to_owned()]));
    println!(
        "{} scripts at every {every}th instruction, {done} trials of parking: {failed} failed",
        step::SCRIPTS.len()
    );
    ExitCode::from(u8::from(failed > 0))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["step", script, every] => step::run(script, every.parse().expect("a number")),
        ["park", kind, victims, seed] => {
            park::run(kind, victims.parse().expect("a number"), seed.parse().expect("a number"))
        }
        ["invert"] => invert::run(),
        _ => parent(),
    }
}
