//! Owns: an experiment's results for the terminal: a table, the claims, what is absent or failed.
//! May use: runs, claims, tables.
//! Never: the terminal itself; it is text.

use raddle_measure::Interval;
use raddle_measure::rounds::pair_ratios;
use raddle_measure::table::{Table, figure};

use crate::claim;
use crate::experiment::Experiment;
use crate::run::{Cell, Run};

/// Machine, commit and command: without them no figure means anything.
pub fn heading(run: &Run) -> String {
    let state = if run.complete { "" } else { ", interrupted" };
    let plural = if run.rounds() == 1 { "" } else { "s" };
    format!(
        "machine  {}\ncommit   {}\ncommand  {}\nsize     {}, {} round{plural}{state}\n",
        run.machine,
        run.commit,
        run.command,
        run.size,
        run.rounds()
    )
}

/// The whole report.
pub fn text(experiment: &Experiment, run: &Run) -> String {
    let mut text = format!("{}\n\n{}\n{}\n", experiment.title, heading(run), table(run));
    for (name, why) in missing(run) {
        text += &format!("{name}: {why}\n");
    }
    text += "\n";
    for sentence in sentences(experiment, run) {
        text += &format!("- {sentence}\n");
    }
    text
}

/// Text in lines of at most `columns`, each indented.
pub fn folded(text: &str, columns: usize, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.len() + 1 + word.len() > columns {
            lines += &format!("{:indent$}{line}\n", "");
            line.clear();
        }
        line += if line.is_empty() { "" } else { " " };
        line += word;
    }
    lines + &format!("{:indent$}{line}\n", "")
}

#[test]
fn text_is_folded_between_words() {
    assert_eq!(folded("one two three", 9, 2), "  one two\n  three\n");
}

/// Claims first, then notes and remarks.
pub fn sentences(experiment: &Experiment, run: &Run) -> Vec<String> {
    let claims = claim::sentences(&(experiment.claims)(run));
    claims.into_iter().chain(remarks(experiment, run)).collect()
}

/// The notes and remarks.
pub fn remarks(experiment: &Experiment, run: &Run) -> Vec<String> {
    run.notes.iter().cloned().chain((experiment.remarks)(run)).collect()
}

/// What is absent or failed, with the reason.
pub fn missing(run: &Run) -> Vec<(String, String)> {
    let absent = run.absent.iter().map(|(name, why)| (format!("absent {name}"), why.clone()));
    let failed = run.cells.iter().filter_map(|cell| {
        let name = format!("FAILED {} {} on {} ({})", cell.bench, cell.runtime, cell.workers, cell.params);
        Some((name, cell.failure.clone()?))
    });
    absent.chain(failed).collect()
}

/// The titles of [`rows`].
pub const TITLES: [&str; 10] =
    ["bench", "runtime ", "workers", "params ", "unit", "median", "min", "max", "mad", "/ first runtime"];

/// One row for each cell that has a figure; the last column is the ratio to the first cell with the same workers and
/// parameters.
pub fn rows(run: &Run) -> Vec<Vec<String>> {
    let row = |cell: &Cell| {
        let summary = cell.summary("")?;
        let figures = [summary.median, summary.min, summary.max, summary.mad].map(figure);
        let names = [&cell.bench, &cell.runtime, &cell.workers.to_string(), &cell.params, &cell.unit]
            .map(String::clone);
        Some(names.into_iter().chain(figures).chain([ratio(run, cell)]).collect())
    };
    run.cells.iter().filter_map(row).collect()
}

fn ratio(run: &Run, cell: &Cell) -> String {
    let first = run.cells.iter().find(|other| {
        other.bench == cell.bench && other.workers == cell.workers && other.params == cell.params
    });
    let ratios = first.map_or_else(Vec::new, |other| pair_ratios(&cell.series(""), &other.series("")));
    Interval::of(&ratios).map_or_else(|| "-".into(), |interval| figure(interval.median))
}

fn table(run: &Run) -> Table {
    let mut table = Table::new(TITLES);
    for row in rows(run) {
        table.row(row);
    }
    table
}
