//! Owns: what the runner prints and writes: heading, a table for each benchmark, requirements, JSON.
//! May use: groups of cells; `git` for the commit.
//! Never: a figure that the cells do not hold.

use std::path::Path;
use std::process::Command;

use raddle_measure::rounds::pair_ratios;
use raddle_measure::table::{Table, figure};
use raddle_measure::{Interval, Record, machine};
use serde_json::Value;

use crate::cell::{Cell, Params};
use crate::options::RunnerOptions;
use crate::programs::bench_folder;
use crate::requirements::standings;
use crate::session::BenchGroup;

/// Machine, commit, command line and profiles: without them no figure means anything.
pub fn heading(options: &RunnerOptions) -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("cargo xtask bench {}", arguments.join(" "));
    let mut text = format!("machine  {}\ncommit   {}\n", machine::describe(), commit());
    text += &format!("command  {}\n", command.trim_end());
    for profile in &options.profiles {
        text += &format!("profile  {profile}: {}\n", profile.what());
    }
    if let Some(root) = &options.against {
        text += &format!("against  {} in {}\n", commit_in(root), root.display());
    }
    text + "\n"
}

/// The commit of this source tree, and whether it has been changed since.
pub fn commit() -> String {
    commit_in(bench_folder())
}

/// The commit of the source tree at `folder`, likewise.
pub fn commit_in(folder: &Path) -> String {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain"]).is_some_and(|text| !text.is_empty());
    let hash = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown (no git)".into());
    if changed { hash + " with uncommitted changes" } else { hash }
}

/// The table of one benchmark, then what was skipped or failed.
pub fn group(group: &BenchGroup) -> String {
    let bench = group.bench;
    let mut text = format!("{} ({}): {}\n", bench.name, group.profile, bench.what);
    let titles = [
        "runtime", "workers", "params ", "figure ", "median", "min", "max", "mad", "runs", "/ go", "/ floor",
    ];
    let mut table = Table::new(titles);
    for cell in &group.cells {
        for (metric, unit) in bench.metrics() {
            row(&mut table, group, cell, metric, unit);
        }
    }
    if !table.is_empty() {
        text += &table.to_string();
    }
    for (runtime, why) in &group.skipped {
        text += &format!("skipped {runtime}: {why}\n");
    }
    for (name, why) in group.failures() {
        text += &format!("FAILED {name}: {why}\n");
    }
    text
}

fn row(table: &mut Table, group: &BenchGroup, cell: &Cell, metric: &str, unit: &str) {
    let Some(summary) = cell.summary(metric) else { return };
    let label = if metric.is_empty() { unit.to_owned() } else { format!("{metric} ({unit})") };
    table.row([
        cell.runtime.to_owned(),
        cell.workers.to_string(),
        cell.params.clone(),
        label,
        figure(summary.median),
        figure(summary.min),
        figure(summary.max),
        figure(summary.mad),
        summary.runs.to_string(),
        ratio(group, cell, "go", metric),
        ratio(group, cell, "floor", metric),
    ]);
}

/// The median ratio to the cell of `rival` with the same parameters: on as many workers, or on its only number.
fn ratio(group: &BenchGroup, cell: &Cell, rival: &str, metric: &str) -> String {
    let alike = || group.cells.iter().filter(|other| other.runtime == rival && other.params == cell.params);
    let other = alike().find(|other| other.workers == cell.workers).or(alike().next());
    let ratios = other.map_or_else(Vec::new, |o| pair_ratios(&cell.series(metric), &o.series(metric)));
    Interval::of(&ratios).map_or_else(|| "-".into(), |interval| figure(interval.median))
}

/// How the requirements of the measured benchmarks stand.
pub fn requirements(groups: &[BenchGroup]) -> String {
    let mut table = Table::new(["requirement", "bound", "measured", "95 % interval", "pairs", "reached "]);
    for standing in groups.iter().flat_map(standings) {
        table.row(standing);
    }
    let legend = "reached: yes/no by the whole interval over at least 15 pairs, open if the bound lies in it; yes?/no? \
                  by the median of fewer\n";
    if table.is_empty() { String::new() } else { format!("{table}{legend}") }
}

/// Writes every figure of `groups` as a JSON array.
pub fn write_json(path: &Path, groups: &[BenchGroup]) -> Result<(), String> {
    let array = Value::Array(groups.iter().flat_map(records).map(|record| record.to_json()).collect());
    std::fs::write(path, format!("{array:#}\n")).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn records(group: &BenchGroup) -> Vec<Record> {
    let record = |cell: &Cell, metric: &str, unit: &str| {
        let mut params: Vec<(String, String)> =
            Params(&cell.params).pairs().map(|(name, value)| (name.into(), value.into())).collect();
        params.push(("profile".into(), group.profile.name().into()));
        if !metric.is_empty() {
            params.push(("metric".into(), metric.into()));
        }
        let (bench, runtime) = (group.bench.name.into(), cell.runtime.into());
        Some(Record {
            bench,
            runtime,
            workers: cell.workers,
            unit: unit.into(),
            summary: cell.summary(metric)?,
            params,
        })
    };
    let figures = |cell| group.bench.metrics().filter_map(move |(metric, unit)| record(cell, metric, unit));
    group.cells.iter().flat_map(figures).collect()
}

#[cfg(test)]
mod tests {
    use raddle_measure::Sample;

    use super::*;
    use crate::catalogue::BENCHES;
    use crate::profile::Profile;

    fn cell(runtime: &'static str, workers: usize, figure: f64) -> Cell {
        let mut cell = Cell::new(runtime, workers, "wakes=150,from=os");
        cell.rounds = vec![Some(Sample::new(figure, 150).with("p99_ns", 2.0 * figure)), None];
        cell
    }

    fn sample() -> BenchGroup {
        let bench = BENCHES.iter().find(|bench| bench.name == "wake").unwrap();
        let cells = vec![cell("raddle", 1, 10.0), cell("go", 1, 40.0), cell("floor", 1, 5.0)];
        BenchGroup {
            bench,
            profile: Profile::User,
            cells,
            skipped: vec![("may", "no may".into())],
            unbuilt: vec![("tokio", "no field".into())],
        }
    }

    #[test]
    fn the_table_shows_ratios_to_go_and_to_the_floor() {
        let text = group(&sample());
        let line = text.lines().find(|line| line.starts_with("raddle")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["raddle", "1", "wakes=150,from=os", "ns", "10.0", "10.0", "10.0", "0.00", "1", "0.250", "2.00"]
        );
        assert!(text.starts_with("wake (user): "), "{text}");
        assert!(text.contains("skipped may: no may") && text.contains("FAILED tokio: no field"), "{text}");
    }

    #[test]
    fn side_figures_are_records_of_their_own() {
        let records = records(&sample());
        assert_eq!(records.len(), 6);
        assert_eq!(records[1].params.last().unwrap(), &("metric".to_owned(), "p99_ns".to_owned()));
        assert_eq!(records[1].summary.median, 20.0);
    }
}
