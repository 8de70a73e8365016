//! Owns: KRoC's cgtests, in the profile for compilers other than KRoC's.
//! May use: `anyhow`.
//! Never: counts a program as passed that does not say so itself.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Way, files};

/// Programs that need what is not there yet, and what that is: they must be refused for it, and all others pass.
const LATER: &[(&str, &str)] = &[];

/// A complaint that something is not supported yet.
const NOT_SUPPORTED: &str = "error[O1001]";

/// How one program went in one way.
struct Run {
    passed: bool,
    assertions: u32,
    /// The first complaint of one that did not pass.
    why: String,
    /// All that it wrote, but for how long it took.
    screen: String,
}

/// The table, and whether enough passed. In each of the ways a program must write what it writes in the first.
pub(super) fn table(raddle: &Path, folder: &Path, ways: &[Way]) -> anyhow::Result<(String, bool)> {
    let programs = files(folder, |name| {
        name.starts_with("cgtest") && name.ends_with(".occ") && name.len() == "cgtest00.occ".len()
    })?;
    let row = |name: &str, words: &mut dyn Iterator<Item = String>, assertions: &str, why: &str| {
        let words: String = words.map(|word| format!("{word:<13}")).collect();
        format!("{name:<20}{words}{assertions:>10}  {why}\n")
    };
    let mut text = row("cgtests", &mut ways.iter().map(|way| way.name.to_owned()), "assertions", "");
    let (mut passed, mut assertions, mut good) = (vec![0; ways.len()], 0, true);
    for program in &programs {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut runs = Vec::new();
        for way in ways {
            let mut run = run(raddle, folder, program, way.options)?;
            if run.passed && runs.first().is_some_and(|first: &Run| first.screen != run.screen) {
                run.passed = false;
                run.why = format!("writes something else than {}", ways[0].name);
            }
            runs.push(run);
        }
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
        let words = &mut runs.iter().map(|run| word(run).to_owned());
        text += &row(&name, words, &runs[0].assertions.to_string(), &format!("{needs}{why}"));
    }
    let words = &mut passed.iter().map(usize::to_string);
    text += &row("all", words, &assertions.to_string(), &format!("of {} programs", programs.len()));
    Ok((text + "\n", good))
}

fn run(raddle: &Path, folder: &Path, program: &Path, options: &[&str]) -> anyhow::Result<Run> {
    let mut command = Command::new("timeout");
    command.arg("60").arg(raddle).args(["run", "--undefined-warns", "-D", "COMPILER.TOCK"]).args(options);
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
        screen: without_time(&screen),
    })
}

/// Without the lines `Time = 16 ticks`, which no two runs share.
fn without_time(screen: &str) -> String {
    screen.lines().filter(|line| !line.starts_with("Time = ")).flat_map(|line| [line, "\n"]).collect()
}

/// The number in `All 53 tests passed OK`.
fn assertions(screen: &str) -> u32 {
    let line = screen.lines().find(|line| line.contains("^^^ Passed"));
    let number = line.and_then(|line| line.split("All ").nth(1)?.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

#[test]
fn the_time_is_left_out_and_nothing_else() {
    assert_eq!(without_time("x\r\nTime = 16 ticks\r\ny\n"), "x\ny\n");
    assert_eq!(without_time("no Time = 16 ticks"), "no Time = 16 ticks\n");
}

#[test]
fn the_number_of_assertions_is_read() {
    assert_eq!(assertions("x\r\n^^^ Passed : CG test 2: All 53 tests passed OK\r\n"), 53);
    assert_eq!(assertions("^^^ Failed : CG test 2: 1 errors"), 0);
}
