//! Owns: KRoC's cgtests, in the profile for compilers other than KRoC's.
//! May use: `anyhow`.
//! Never: counts a program as passed that does not say so itself.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::files;

/// Programs that need what is not there yet, and what that is: they must be refused for it, and all others pass.
const LATER: &[(&str, &str)] = &[];

/// A complaint that something is not supported yet.
const NOT_SUPPORTED: &str = "error[O1001]";

/// How one program went on one number of workers.
struct Run {
    passed: bool,
    assertions: u32,
    /// The first complaint of one that did not pass.
    why: String,
}

/// The table, and whether enough passed.
pub(super) fn table(raddle: &Path, folder: &Path) -> anyhow::Result<(String, bool)> {
    let programs = files(folder, |name| {
        name.starts_with("cgtest") && name.ends_with(".occ") && name.len() == "cgtest00.occ".len()
    })?;
    let mut text = String::from("cgtests             1 worker     2 workers  assertions\n");
    let (mut passed, mut assertions, mut good) = ([0, 0], 0, true);
    for program in &programs {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let runs = [run(raddle, folder, program, "1")?, run(raddle, folder, program, "2")?];
        for (count, run) in passed.iter_mut().zip(&runs) {
            *count += usize::from(run.passed);
        }
        assertions += runs[0].assertions;
        let later = LATER.iter().find(|later| later.0 == name);
        let word = |run: &Run| match (run.passed, later) {
            (true, None) => "passed",
            (false, Some(_)) if run.why.contains(NOT_SUPPORTED) => "later",
            _ => "FAILED",
        };
        good &= runs.iter().all(|run| word(run) != "FAILED");
        let needs = later.map_or(String::new(), |later| format!("needs {}: ", later.1));
        let why = runs.iter().find(|run| !run.passed).map_or("", |run| run.why.as_str());
        let _ = writeln!(
            text,
            "{name:<20}{:<13}{:<11}{:>10}  {needs}{why}",
            word(&runs[0]),
            word(&runs[1]),
            runs[0].assertions
        );
    }
    let _ = writeln!(
        text,
        "{:<20}{:<13}{:<11}{assertions:>10}  of {} programs\n",
        "all",
        passed[0],
        passed[1],
        programs.len()
    );
    Ok((text, good))
}

fn run(raddle: &Path, folder: &Path, program: &Path, workers: &str) -> anyhow::Result<Run> {
    let mut command = Command::new("timeout");
    command.arg("60").arg(raddle).args([
        "run",
        "--undefined-warns",
        "-D",
        "COMPILER.TOCK",
        "--workers",
        workers,
    ]);
    let output = command.arg(program).current_dir(folder).stdin(Stdio::null()).output()?;
    let screen = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && screen.contains("^^^ Passed");
    let told = String::from_utf8_lossy(&output.stderr);
    let mut lines = screen.lines().chain(told.lines());
    let why = lines
        .find(|line| ["^^^ Failed", "error", "run-time", "deadlock"].iter().any(|word| line.contains(word)));
    Ok(Run {
        passed,
        assertions: assertions(&screen),
        why: why.unwrap_or_default().chars().take(90).collect(),
    })
}

/// The number in `All 53 tests passed OK`.
fn assertions(screen: &str) -> u32 {
    let line = screen.lines().find(|line| line.contains("^^^ Passed"));
    let number = line.and_then(|line| line.split("All ").nth(1)?.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

#[test]
fn the_number_of_assertions_is_read() {
    assert_eq!(assertions("x\r\n^^^ Passed : CG test 2: All 53 tests passed OK\r\n"), 53);
    assert_eq!(assertions("^^^ Failed : CG test 2: 1 errors"), 0);
}
