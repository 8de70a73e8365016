//! Owns: `cargo xtask verdicts`: whether `raddle trace` finds the same cause again and again, and forecasts what comes.
//! May use: `house`, `report`, `anyhow`, `clap`.
//! Never: a judgement of speed; what a verdict is based on may differ from run to run, the cause may not.
//!
//! The programs are those of `examples/faults.rs`, and those of `examples/planted.rs`, which were written before their
//! author had seen the analysis. Each is traced some times on two workers, and half of these times beside a program
//! that keeps one core busy. After each of the others its mended form is traced, too: it must not have the same cause,
//! and where the advice came with a forecast, its time is compared with that. Forecasts leave out what others do, so
//! that these figures mean something on a quiet machine only. The tests of `raddle-trace` judge written traces; this is
//! for real ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, ensure};
use clap::builder::PossibleValuesParser;

use crate::report;

/// A program of an example.
struct Fault {
    example: &'static str,
    name: &'static str,
    /// The cause that is to be found.
    cause: &'static str,
    /// With this setting.
    setting: Option<(&'static str, &'static str)>,
    /// Whether the advice comes with a forecast of what the mended program takes.
    is_forecast: bool,
    /// Whether it takes the trace of one worker, too, to see it: `trace diff`.
    by_comparison: bool,
}

const fn fault(name: &'static str, cause: &'static str) -> Fault {
    Fault { example: "faults", name, cause, setting: None, is_forecast: false, by_comparison: false }
}

const fn planted(name: &'static str, cause: &'static str) -> Fault {
    Fault { example: "planted", ..fault(name, cause) }
}

impl Fault {
    const fn forecast(self) -> Fault {
        Fault { is_forecast: true, ..self }
    }

    const fn with(self, variable: &'static str, value: &'static str) -> Fault {
        Fault { setting: Some((variable, value)), ..self }
    }

    const fn by_comparison(self) -> Fault {
        Fault { by_comparison: true, ..self }
    }
}

const FAULTS: [Fault; 29] = [
    fault("producer", "starved: split producer").forecast(),
    fault("serial", "starved: split phases").forecast(),
    fault("split", "starved: split half").forecast(),
    fault("placed", "misplaced: spread item").forecast(),
    fault("stays", "misplaced: migrate").forecast().with("RADDLE_BALANCE", "none"),
    fault("fine", "stealing: larger pieces"),
    fault("pingpong", "hand-off: ping and pong together"),
    fault("sleep", "blocked: client"),
    fault("pipe", "blocked: reader"),
    fault("mutex", "blocked: writer"),
    fault("convoy", "lock convoy: clerk"),
    fault("claims", "lock convoy: guest"),
    fault("storm", "wake storm: taker"),
    fault("lines", "slower: counter").by_comparison(),
    planted("pipeline", "starved: split resize").forecast(),
    planted("reduce", "starved: split reducer").forecast(),
    planted("triangle", "starved: split rows").forecast(),
    planted("chain", "starved: split link").forecast(),
    planted("socket", "blocked: fetch"),
    planted("queue", "blocked: reader"),
    planted("child", "blocked: build"),
    planted("cache", "lock convoy: request"),
    planted("herd", "wake storm: server"),
    planted("lopsided", "misplaced: spread request").forecast(),
    planted("crumbs", "stealing: larger pieces"),
    planted("relay", "hand-off: runner and runner together"),
    planted("stats", "slower: looker").by_comparison(),
    planted("arc", "slower: user").by_comparison(),
    planted("ticks", "starved: waits for time"),
];

/// Which programs are traced, and how often.
#[derive(clap::Args)]
pub(crate) struct VerdictsArgs {
    /// How often each is traced, half of the times beside a busy program
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    captures: u32,
    /// Judge the causes only, as on a machine that others use
    #[arg(long)]
    no_forecasts: bool,
    /// Only these programs
    #[arg(value_name = "PROGRAM", value_parser = PossibleValuesParser::new(FAULTS.map(|fault| fault.name)))]
    programs: Vec<String>,
}

/// Ends with 1 if a cause was found in fewer than nine of ten traces, if a mended program still has it, or if fewer
/// than nine of ten forecasts came true.
pub(crate) fn run(args: &VerdictsArgs) -> anyhow::Result<ExitCode> {
    build(&["--package", "raddle", "--example", "faults", "--example", "planted"])?;
    build(&["--package", "raddle-cli"])?;
    let folder = crate::house::root().join("target/verdicts");
    std::fs::create_dir_all(&folder).context("could not make target/verdicts")?;
    let is_wanted =
        |fault: &&Fault| args.programs.is_empty() || args.programs.iter().any(|name| name == fault.name);
    let mut all_well = true;
    let mut table = String::new();
    for fault in FAULTS.iter().filter(is_wanted) {
        let seen = capture(fault, args.captures, &folder)?;
        let (line, is_well) = seen.causes(fault);
        report::say(&format!("{line}\n"));
        all_well &= is_well;
        if fault.is_forecast && !args.no_forecasts {
            let (line, is_well) = seen.forecasts(fault);
            table += &line;
            all_well &= is_well;
        }
    }
    if !table.is_empty() {
        report::say(&format!(
            "\n{:<10} {:>12} {:>12} {:>8}  within 15 %\n",
            "", "forecast", "measured", "ratio"
        ));
        report::say(&table);
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was found of one program.
#[derive(Default)]
struct FaultRecord {
    captures: u32,
    causes: BTreeMap<String, u32>,
    /// How many mended programs were traced, and how many of them still have the cause.
    mended: u32,
    not_mended: u32,
    /// Forecasts, and what the mended program then took: nanoseconds.
    forecasts: Vec<([u64; 2], u64)>,
}

fn capture(fault: &Fault, captures: u32, folder: &Path) -> anyhow::Result<FaultRecord> {
    let mut seen = FaultRecord { captures, ..FaultRecord::default() };
    for number in 0..captures {
        let is_beside = number % 2 == 1;
        let busy = if is_beside { Some(Busy::new()?) } else { None };
        let found = look(fault, false, &folder.join(format!("{}.{number}", fault.name)))?;
        drop(busy);
        let is_right = found.cause == fault.cause;
        *seen.causes.entry(found.cause).or_default() += 1;
        if is_beside {
            continue;
        }
        let mended = look(fault, true, &folder.join(format!("{}.mended.{number}", fault.name)))?;
        seen.mended += 1;
        seen.not_mended += u32::from(mended.cause == fault.cause);
        seen.forecasts.extend(found.forecast.filter(|_| is_right).map(|forecast| (forecast, mended.wall_ns)));
    }
    Ok(seen)
}

impl FaultRecord {
    /// The causes in one line, and whether it is the expected one in nine of ten.
    fn causes(&self, fault: &Fault) -> (String, bool) {
        let right = self.causes.get(fault.cause).copied().unwrap_or(0);
        let mut line = format!("{:<10} {right} of {} {}", fault.name, self.captures, fault.cause);
        for (other, count) in self.causes.iter().filter(|(other, _)| *other != fault.cause) {
            let _ = write!(line, "; {count} {other}");
        }
        if self.not_mended > 0 {
            let _ = write!(line, "; mended, {} of {} still have it", self.not_mended, self.mended);
        }
        (line, right * 10 >= self.captures * 9 && self.not_mended * 10 <= self.mended)
    }

    /// A row of the table of forecasts: the medians, and how many came true.
    fn forecasts(&self, fault: &Fault) -> (String, bool) {
        let mut ratios: Vec<f64> = self.forecasts.iter().map(|(range, ns)| ratio(*range, *ns)).collect();
        let right = ratios.iter().filter(|ratio| is_near(**ratio)).count();
        let middle = |[least, most]: [u64; 2]| (least + (most - least) / 2) as f64 / 1e6;
        let mut forecast: Vec<f64> = self.forecasts.iter().map(|(range, _)| middle(*range)).collect();
        let mut measured: Vec<f64> = self.forecasts.iter().map(|(_, ns)| *ns as f64 / 1e6).collect();
        let row = format!(
            "{:<10} {:>9.1} ms {:>9.1} ms {:>8.2}  {right} of {}\n",
            fault.name,
            median(&mut forecast),
            median(&mut measured),
            median(&mut ratios),
            self.forecasts.len()
        );
        (row, !self.forecasts.is_empty() && right * 10 >= self.forecasts.len() * 9)
    }
}

/// What was measured against a forecast; 1 within its range.
fn ratio([least, most]: [u64; 2], measured: u64) -> f64 {
    measured as f64 / measured.clamp(least, most.max(least)).max(1) as f64
}

fn is_near(ratio: f64) -> bool {
    (0.85..=1.15).contains(&ratio)
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
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

/// What `raddle trace` says of a run.
struct TracedRun {
    cause: String,
    forecast: Option<[u64; 2]>,
    wall_ns: u64,
}

/// Traces a program, and asks for the cause; `path` is the trace, without its extension.
fn look(fault: &Fault, is_mended: bool, path: &Path) -> anyhow::Result<TracedRun> {
    let trace_of = |workers: &str| PathBuf::from(format!("{}.{workers}.rdt", path.display()));
    let (two, one) = (trace_of("two"), trace_of("one"));
    trace(fault, is_mended, 2, &two)?;
    let text = ask(&["stats", "--json"], &[&two])?;
    let mut cause = word(&text, "cause").with_context(|| format!("no cause of {}: {text}", two.display()))?;
    if fault.by_comparison {
        trace(fault, is_mended, 1, &one)?;
        cause = slower(&ask(&["diff"], &[&one, &two])?).unwrap_or(cause);
    }
    let wall_ns = numbers(&text, "wall_ns").first().copied();
    let forecast = <[u64; 2]>::try_from(numbers(&text, "predicted_ns")).ok();
    Ok(TracedRun { cause, forecast, wall_ns: wall_ns.with_context(|| format!("no time in {text}"))? })
}

fn trace(fault: &Fault, is_mended: bool, workers: u32, trace: &Path) -> anyhow::Result<()> {
    let mut faults = Command::new(built("examples").join(fault.example));
    faults.arg(fault.name).env("RADDLE_WORKERS", workers.to_string()).env("RADDLE_TRACE", trace);
    if is_mended {
        faults.arg("mended");
    } else {
        faults.envs(fault.setting);
    }
    ensure!(faults.status().context("could not start the program")?.success(), "{} failed", fault.name);
    Ok(())
}

fn ask(words: &[&str], traces: &[&Path]) -> anyhow::Result<String> {
    let mut raddle = Command::new(built("raddle"));
    let output = raddle.arg("trace").args(words).args(traces).output().context("could not start `raddle`")?;
    ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a comparison says of work that took longer.
fn slower(diff: &str) -> Option<String> {
    let line = diff.lines().find(|line| line.starts_with("the same work took "))?;
    let label = line.split_once("above all ")?.1.split(':').next()?;
    Some(format!("slower: {label}"))
}

/// What stands after this key.
fn after<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    json.split_once(&format!("\"{key}\": ")).map(|(_, rest)| rest)
}

/// A word of a JSON object with one key a line.
fn word(json: &str, key: &str) -> Option<String> {
    after(json, key)?.strip_prefix('"')?.split('"').next().map(str::to_owned)
}

/// The number, or the numbers of the list, at this key; none of `null`.
fn numbers(json: &str, key: &str) -> Vec<u64> {
    let value = after(json, key).unwrap_or("");
    let end = if value.starts_with('[') { value.find(']') } else { value.find([',', '\n']) };
    let value = &value[..end.unwrap_or(value.len())];
    value.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn built(what: &str) -> PathBuf {
    crate::house::root().join("target/release").join(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "{\n  \"cause\": \"starved: split half\",\n  \"predicted\": \"2 ns\",\n  \
                        \"predicted_ns\": [\n    1900,\n    2100\n  ],\n  \"wall_ns\": 3000\n}";

    #[test]
    fn figures_are_found_in_what_raddle_says() {
        assert_eq!(word(JSON, "cause").as_deref(), Some("starved: split half"));
        assert_eq!((numbers(JSON, "predicted_ns"), numbers(JSON, "wall_ns")), (vec![1900, 2100], vec![3000]));
        assert_eq!(numbers("\"predicted_ns\": null,\n\"wall_ns\": 7", "predicted_ns"), [0; 0]);
        let diff =
            "1 us with 1 workers\nthe same work took 2.7 times as long, above all counter: shared lines\n";
        assert_eq!(slower(diff).as_deref(), Some("slower: counter"));
        assert_eq!(slower("most of what was added: running"), None);
    }

    #[test]
    fn a_forecast_comes_true_within_its_range_or_15_in_100() {
        for (measured, is_true) in
            [(1900, true), (2000, true), (2400, true), (2500, false), (1620, true), (1600, false)]
        {
            assert_eq!(is_near(ratio([1900, 2100], measured)), is_true, "{measured}");
        }
    }

    #[test]
    fn a_cause_is_well_found_if_nine_of_ten_have_it_and_no_mended_one() {
        let fault = fault("split", "starved: split half").forecast();
        let seen = |right, not_mended| FaultRecord {
            captures: 10,
            causes: BTreeMap::from([
                (fault.cause.to_owned(), right),
                ("none: nothing".to_owned(), 10 - right),
            ]),
            mended: 5,
            not_mended,
            forecasts: vec![([100, 120], 110), ([100, 120], 150)],
        };
        assert_eq!(
            [seen(9, 0), seen(8, 0), seen(9, 1)].map(|seen| seen.causes(&fault).1),
            [true, false, false]
        );
        let (row, is_well) = seen(9, 0).forecasts(&fault);
        assert!(row.ends_with("1 of 2\n") && !is_well, "{row}");
        assert!(!FaultRecord::default().forecasts(&fault).1, "there is none");
    }

    #[test]
    fn each_planted_fault_is_judged() {
        for example in ["faults", "planted"] {
            let source = crate::house::root().join(format!("examples/{example}.rs"));
            let source = std::fs::read_to_string(source).expect("it is there");
            let rows = source.lines().filter_map(|line| line.strip_prefix("        (\"")?.split('"').next());
            let judged = FAULTS.iter().filter(|fault| fault.example == example).map(|fault| fault.name);
            assert_eq!(rows.collect::<Vec<_>>(), judged.collect::<Vec<_>>());
        }
    }
}
