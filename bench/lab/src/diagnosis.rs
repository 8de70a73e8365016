//! Owns: the diagnosis by traces: why is the ring not faster on two workers, and what helps?
//! May use: the line's program, traces and their analysis.
//! Never: a figure of its own for a claim; a traced run is slower than others.
//!
//! `raddle trace diff` has to find by itself what the case study found by hand. Two runs are compared with the run on
//! one worker: Raddle's run without placement, and one with each thread on another worker than its neighbours, as a
//! scheduler would place them that does not know who communicates with whom. The advice is then compared with the cells
//! of the run in which it was followed.

use std::path::Path;
use std::process::Command;

use bench_runner::programs::{self, BuildResult, progress};
use raddle_measure::table::figure;
use raddle_trace::analysis::{Advice, Analysis, Diff, diff};
use raddle_trace::log::Log;

use crate::run::Run;

const STAGES: u64 = 2000;
const MESSAGES: u64 = 500;

/// Traces the ring, and notes the causes, the advice, and the effect of following it.
pub fn of_ring(run: &mut Run, folder: &Path) -> Result<(), String> {
    if run.find("line", "raddle", 2, "slots=0").is_none() {
        return Ok(());
    }
    let path = match programs::build("line", "raddle") {
        BuildResult::Ready(path) => path,
        BuildResult::Missing(why) | BuildResult::Failed(why) => return Err(format!("line: {why}")),
    };
    progress("tracing the ring");
    let one = traced(&path, folder, 1, 0)?;
    for (segments, name) in [(0, "without placement"), (STAGES, "with each thread beside unrelated ones")] {
        let found = diff(&one, &traced(&path, folder, 2, segments)?);
        run.notes.push(format!(
            "`raddle trace diff` of {MESSAGES} messages on one worker and on two, {name}: {}",
            told(&found)
        ));
        run.notes.extend(followed(run, segments, &found.advice));
    }
    progress("");
    Ok(())
}

/// The cause and the advice of a difference, in a sentence.
fn told(found: &Diff) -> String {
    let [one, two] = found.wall_ns.map(|ns| ns as f64 / 1e6);
    let cause = match found.changes.first().filter(|change| change.more_ns() > 0) {
        Some(change) => {
            let [before, now] = change.ns.map(|ns| figure(ns as f64 / 1e6));
            format!("most of what was added is \"{}\", from {before} to {now} ms of worker time", change.what)
        }
        None => "nothing was added".to_owned(),
    };
    let [before, now] = found.crossing;
    format!(
        "{} and {} ms; {}{cause}; {now} wakes crossed workers ({before} before); advice: {}.",
        figure(one),
        figure(two),
        if found.crosses { "the cause is the crossing of workers; " } else { "" },
        found.advice
    )
}

/// The effect of the advice, if it is the placement that was measured.
fn followed(run: &Run, segments: u64, advice: &Advice) -> Option<String> {
    let Advice::Segments(_, parts) = advice else { return None };
    if parts.len() != 2 {
        return None;
    }
    let ms = |segments: u64| {
        let params = format!("stages={STAGES},messages={MESSAGES},segments={segments},slots=0");
        Some(run.find("line", "raddle", 2, &params)?.median("")? * (STAGES * MESSAGES) as f64 / 1e6)
    };
    let (before, after) = (ms(segments)?, ms(2)?);
    Some(format!("Its advice followed, without a trace: {} ms instead of {}.", figure(after), figure(before)))
}

/// Runs the line once with a trace and analyses it.
fn traced(path: &Path, folder: &Path, workers: usize, segments: u64) -> Result<Analysis, String> {
    let file = folder.join(format!("ring-{}-{workers}-{segments}.rdt", std::process::id()));
    let params = format!("stages={STAGES},messages={MESSAGES},segments={segments},slots=0,traced=1");
    let mut command = Command::new(path);
    command.args(["--workers", &workers.to_string(), "--params", &params]);
    command.env("RADDLE_TRACE", &file).env("RADDLE_TRACE_LEVEL", "sched");
    let done = command.output().map_err(|e| format!("cannot start {}: {e}", path.display()))?;
    if !done.status.success() {
        return Err(format!("the traced line: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    let bytes = std::fs::read(&file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let _ = std::fs::remove_file(&file);
    let log = Log::read(&bytes).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(Analysis::of(&log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn advice_is_held_against_the_cells_in_which_it_was_followed() {
        let at = |segments: u64| format!("stages=2000,messages=500,segments={segments},slots=0");
        let (scattered, placed) = (at(2000), at(2));
        let cells =
            [("line", "raddle", 2, scattered.as_str(), 100.0), ("line", "raddle", 2, placed.as_str(), 20.0)];
        let segments = Advice::Segments("stage".into(), vec![(0, 999), (1000, 1999)]);
        let said = followed(&run("ring", &cells), 2000, &segments).unwrap();
        assert!(said.contains("20.0 ms instead of 100"), "{said}");
        assert_eq!(followed(&run("ring", &cells), 2000, &Advice::None), None);
        assert_eq!(followed(&run("ring", &[]), 2000, &segments), None);
    }
}
