//! Owns: the figures of experiment 1.
//! May use: its cells.
//! Never: a claim.

use super::{all_forms, cores, find, measured};
use crate::experiment::Figure;
use crate::figure::{Axis, ChartLine, chart};
use crate::run::Run;

pub fn figures(run: &Run) -> Vec<Figure> {
    let lines_of = |workers: usize| -> Vec<ChartLine> {
        let forms = all_forms().chain([("floor", "kind=process", "the work alone, on one")]);
        let line = |(colour, (runtime, kind, name)): (usize, (&str, &str, &str))| {
            let on = if runtime == "floor" { 1 } else { workers };
            let point = |grain| Some((grain as f64, find(run, runtime, on, grain, kind)?.median("")?));
            let points = measured(run).into_iter().filter_map(point).collect();
            ChartLine { name: name.to_owned(), points, colour, dashed: runtime == "floor" }
        };
        forms.enumerate().map(line).collect()
    };
    let time = |workers: usize, title: &str| {
        let (x, y) = (Axis::log("granularity (updates a round)"), Axis::log("time of a round (ns)"));
        chart(title, x, y, &lines_of(workers))
    };
    let most = run.workers().into_iter().filter(|workers| *workers <= cores()).max().unwrap_or(1);
    vec![
        ("time", by_workers(run)),
        ("alone", time(1, "Replicated PAR on 1 worker: time of a round against granularity")),
        (
            "together",
            time(most, &format!("Replicated PAR on {most} workers: time of a round against granularity")),
        ),
        ("gain", gain(run)),
    ]
}

/// The figure of 2007: time against granularity by the number of workers, and with OS threads, as then.
fn by_workers(run: &Run) -> String {
    let mut lines = Vec::new();
    for (runtime, name, first) in [("raddle", "processes", 0), ("std", "OS threads", 4)] {
        for (colour, workers) in run.workers().into_iter().enumerate() {
            let point =
                |grain| Some((grain as f64, find(run, runtime, workers, grain, "kind=process")?.median("")?));
            let points = measured(run).into_iter().filter_map(point).collect();
            let name = format!("{name}, {workers} worker{}", if workers == 1 { "" } else { "s" });
            lines.push(ChartLine { name, points, colour: first + colour, dashed: workers > cores() });
        }
    }
    let (x, y) = (Axis::log("granularity (updates a round)"), Axis::log("time of a round (ns)"));
    chart("Replicated PAR: time against granularity, by number of workers", x, y, &lines)
}

/// Shows from which granularity on a second worker helps, and what more workers than cores cost.
fn gain(run: &Run) -> String {
    let mut lines = Vec::new();
    for (colour, (runtime, kind, name)) in all_forms().enumerate() {
        for workers in run.workers().into_iter().filter(|workers| *workers > 1) {
            let point = |grain| {
                let of = |workers| find(run, runtime, workers, grain, kind)?.median("");
                Some((grain as f64, of(workers)? / of(1)?))
            };
            let points = measured(run).into_iter().filter_map(point).collect();
            lines.push(ChartLine {
                name: format!("{name}, {workers}"),
                points,
                colour,
                dashed: workers > cores(),
            });
        }
    }
    let (x, y) = (Axis::log("granularity (updates a round)"), Axis::linear("time / time on 1 worker"));
    chart("Replicated PAR: time against that on 1 worker (dashed: more workers than cores)", x, y, &lines)
}
