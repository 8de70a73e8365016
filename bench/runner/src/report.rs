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
    let titles =
        ["runtime", "workers", "params ", "figure ", "median", "worst", "min", "mad", "runs", "repeated"];
    let ratios = ["noisy", "T2/T1", "worst T2/T1", "/ go", "/ floor"];
    let mut table = Table::new(titles.into_iter().chain(ratios));
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
    let of_one = scaling(group, cell, metric);
    let label = if metric.is_empty() { unit.to_owned() } else { format!("{metric} ({unit})") };
    table.row([
        cell.runtime.to_owned(),
        cell.workers.to_string(),
        cell.params.clone(),
        label,
        figure(summary.median),
        figure(summary.max),
        figure(summary.min),
        figure(summary.mad),
        summary.runs.to_string(),
        cell.repeated.to_string(),
        cell.noisy().to_string(),
        of_one.map_or_else(|| "-".into(), |ratio| figure(ratio.median)),
        of_one.map_or_else(|| "-".into(), |ratio| figure(ratio.worst)),
        ratio(group, cell, "go", metric),
        ratio(group, cell, "floor", metric),
    ]);
}

/// What a cell takes on several workers over what it takes on one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaling {
    /// The median of its rounds over the median of those on one worker.
    median: f64,
    /// Its worst round over the same.
    worst: f64,
}

/// How `cell` stands to that of the same runtime and parameters on one worker; `None` where there is none.
fn scaling(group: &BenchGroup, cell: &Cell, metric: &str) -> Option<Scaling> {
    let alike =
        |other: &&Cell| other.workers == 1 && other.runtime == cell.runtime && other.params == cell.params;
    let one = group.cells.iter().find(alike).filter(|_| cell.workers > 1)?;
    let (several, one) = (cell.summary(metric)?, one.summary(metric)?.median);
    (one != 0.0).then(|| Scaling { median: several.median / one, worst: several.max / one })
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
    let mut table =
        Table::new(["requirement", "bound", "measured", "95 % interval", "pairs", "noisy", "reached "]);
    for standing in groups.iter().flat_map(standings) {
        table.row(standing);
    }
    let legend = "reached: yes/no by the whole interval over at least 15 pairs, open if the bound lies in it; yes?/no? \
                  by the median of fewer; a worst run above its bound is a no, all below it are a yes if they are 30\n";
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
        let names = |of: Scaling| {
            let workers = cell.workers;
            [(format!("t{workers}_t1_median"), of.median), (format!("t{workers}_t1_worst"), of.worst)]
        };
        let mut strangers = cell.strangers.clone();
        strangers.resize(cell.rounds.len(), None);
        Some(Record {
            bench,
            runtime,
            workers: cell.workers,
            unit: unit.into(),
            rounds: cell.series(metric),
            strangers,
            repeated: cell.repeated,
            noisy: cell.noisy(),
            summary: cell.summary(metric)?,
            ratios: scaling(group, cell, metric).map(names).into_iter().flatten().collect(),
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
            [
                ["raddle", "1", "wakes=150,from=os", "ns", "10.0"],
                ["10.0", "10.0", "0.00", "1", "0"],
                ["0", "-", "-", "0.250", "2.00"]
            ]
            .concat()
        );
        assert!(text.starts_with("wake (user): "), "{text}");
        assert!(text.contains("skipped may: no may") && text.contains("FAILED tokio: no field"), "{text}");
    }

    #[test]
    fn the_worst_run_on_two_workers_is_held_against_the_median_on_one() {
        let mut group = sample();
        let series = |figures: [f64; 3]| figures.map(|ns| Some(Sample::new(ns, 150))).to_vec();
        group.cells[0].rounds = series([9.0, 10.0, 30.0]);
        let two = Cell { rounds: series([8.0, 12.0, 50.0]), ..cell("raddle", 2, 0.0) };
        assert_eq!(scaling(&group, &two, ""), Some(Scaling { median: 1.2, worst: 5.0 }));
        assert_eq!(scaling(&group, &group.cells[0], ""), None);
        assert_eq!(scaling(&group, &Cell { params: "wakes=1".into(), ..cell("raddle", 2, 1.0) }, ""), None);
        group.cells.push(Cell { strangers: vec![Some(0.0), Some(0.2)], repeated: 7, ..two });
        let records = records(&group);
        let record = records.iter().find(|record| record.workers == 2).unwrap();
        assert_eq!(record.ratios, [("t2_t1_median".to_owned(), 1.2), ("t2_t1_worst".to_owned(), 5.0)]);
        assert_eq!(record.rounds, [Some(8.0), Some(12.0), Some(50.0)]);
        assert_eq!((&record.strangers[..], record.repeated), (&[Some(0.0), Some(0.2), None][..], 7));
        let text = self::group(&group);
        let line = text.lines().find(|line| line.starts_with("raddle") && line.contains("50.0")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[9..13], ["7", "1", "1.20", "5.00"]);
    }

    #[test]
    fn side_figures_are_records_of_their_own() {
        let records = records(&sample());
        assert_eq!(records.len(), 6);
        assert_eq!(records[1].params.last().unwrap(), &("metric".to_owned(), "p99_ns".to_owned()));
        assert_eq!(records[1].summary.median, 20.0);
    }
}
