//! Owns: `cargo xtask verdicts`: whether `raddle trace stats` finds the same cause in one trace after another.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: a judgement of speed; what a verdict is based on may differ from run to run, the cause may not.
//!
//! The programs are those of `examples/faults.rs`. Each is traced some times on two workers, and half of these times
//! beside a program that keeps one core busy. The tests of `raddle-trace` judge written traces; this is for real ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, ensure};
use clap::builder::PossibleValuesParser;

use crate::report;

/// The programs, and the cause that is to be found.
const EXPECTED: [(&str, &str); 8] = [
    ("producer", "starved: split producer"),
    ("serial", "starved: split phases"),
    ("split", "starved: split half"),
    ("fine", "stealing: larger pieces"),
    ("pingpong", "hand-off: ping and pong together"),
    ("sleep", "blocked: client"),
    ("pipe", "blocked: reader"),
    ("mutex", "blocked: writer"),
];

/// Which programs are traced, and how often.
#[derive(clap::Args)]
pub(crate) struct VerdictsArgs {
    /// How often each is traced, half of the times beside a busy program
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    captures: u32,
    /// Only these programs
    #[arg(value_name = "PROGRAM", value_parser = PossibleValuesParser::new(EXPECTED.map(|(name, _)| name)))]
    programs: Vec<String>,
}

/// Ends with 1 if a cause was found in fewer than nine of ten traces.
pub(crate) fn run(args: &VerdictsArgs) -> anyhow::Result<ExitCode> {
    build(&["--package", "raddle", "--example", "faults"])?;
    build(&["--package", "raddle-cli"])?;
    let folder = crate::house::root().join("target/verdicts");
    std::fs::create_dir_all(&folder).context("could not make target/verdicts")?;
    let is_wanted =
        |name: &&str| args.programs.is_empty() || args.programs.iter().any(|wanted| wanted == name);
    let mut all_well = true;
    for (name, expected) in EXPECTED.iter().filter(|(name, _)| is_wanted(name)) {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for capture in 0..args.captures {
            let cause = cause(name, capture % 2 == 1, &folder.join(format!("{name}.{capture}.rdt")))?;
            *found.entry(cause).or_default() += 1;
        }
        let right = found.get(*expected).copied().unwrap_or(0);
        let is_well = right * 10 >= args.captures * 9;
        all_well &= is_well;
        let mut line = format!("{name:<10} {right} of {} {expected}", args.captures);
        for (other, count) in found.iter().filter(|(other, _)| other != expected) {
            let _ = write!(line, "; {count} {other}");
        }
        report::say(&format!("{line}\n"));
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build(what: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("cargo").args(["build", "--quiet", "--release"]).args(what).status();
    ensure!(status.context("could not start `cargo`; is it on PATH?")?.success(), "{what:?} was not built");
    Ok(())
}

/// A process that is ended when this goes.
struct Busy(Child);

impl Busy {
    /// One that keeps the first core busy.
    fn new() -> anyhow::Result<Busy> {
        let mut endless = Command::new("taskset");
        endless.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        Ok(Busy(endless.spawn().context("could not start `taskset`")?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _has_ended = self.0.wait();
    }
}

/// Traces a program, and asks for the cause.
fn cause(program: &str, beside_another: bool, trace: &Path) -> anyhow::Result<String> {
    let busy = if beside_another { Some(Busy::new()?) } else { None };
    let mut faults = Command::new(built("examples/faults"));
    faults.arg(program).env("RADDLE_WORKERS", "2").env("RADDLE_TRACE", trace);
    ensure!(faults.status().context("could not start the program")?.success(), "{program} failed");
    drop(busy);
    let mut stats = Command::new(built("raddle"));
    let output =
        stats.args(["trace", "stats", "--json"]).arg(trace).output().context("could not start `raddle`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("\"cause\": \""));
    let cause = line.and_then(|rest| rest.split('"').next());
    cause.map(str::to_owned).with_context(|| format!("no cause of {}: {text}", trace.display()))
}

fn built(what: &str) -> PathBuf {
    crate::house::root().join("target/release").join(what)
}
