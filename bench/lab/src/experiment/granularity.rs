//! Owns: experiment 1: the Transterpreter's replicated PAR.
//! May use: runs, figures.
//! Never: starting a program.
//!
//! Figures are per round (the updates, and one communication in a PAR of two). From a granularity of 10000 on a packet
//! does fewer rounds, so that a sample stays below seconds: the figure per round does not depend on how many there are.
//! OS threads do 20 rounds at any granularity.

use std::collections::BTreeSet;

use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec, cores, triangle};
use crate::claim::Claim;
use crate::figure::{Axis, Line, chart};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "granularity",
    title: "Granularity: the Transterpreter's replicated PAR",
    story: "64 packets each do rounds of so many updates of an array and one communication inside a PAR of two \
            processes. Packets never talk to each other, so a second core should help at every granularity. Found in \
            2007 on a dual-core laptop: at granularity 1 one thread was about 20 times faster than two; they broke \
            even at 50, on a dual Pentium III at 5.",
    cells,
    claims,
    remarks,
    figures,
};

const PACKETS: u64 = 64;

/// The forms in which Raddle runs it: runtime, parameter, name.
const FORMS: [(&str, &str, &str); 3] = [
    ("raddle", "kind=process", "light processes"),
    ("raddle", "kind=thread", "threads"),
    ("occam", "kind=process", "occam on the VM"),
];

fn grains(size: Size) -> &'static [u64] {
    match size {
        Size::Quick => &[1, 10, 100, 1000],
        Size::Usual => &[1, 5, 10, 50, 100, 1000, 10_000],
        Size::Full => &[1, 5, 10, 50, 100, 1000, 10_000, 100_000],
    }
}

fn rounds(runtime: &str, grain: u64) -> u64 {
    match (runtime, grain) {
        ("std", 100_000..) => 2,
        ("std", _) => 20,
        (_, 100_000..) => 10,
        ("occam", 10_000..) => 10,
        (_, 10_000..) => 100,
        _ => 1000,
    }
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let mut cells = Vec::new();
    for &grain in grains(settings.size) {
        for (runtime, kind, _) in FORMS {
            for &workers in &settings.workers {
                cells.push(cell(runtime, workers, grain, kind));
            }
        }
        for runtime in ["go", "java", "boost"] {
            for &workers in &settings.workers {
                cells.push(cell(runtime, workers, grain, "kind=process"));
            }
        }
        cells.push(cell("std", cores(), grain, "kind=process"));
        cells.push(cell("floor", 1, grain, "kind=process"));
    }
    if settings.size == Size::Full {
        for workers in [2 * cores(), 4 * cores()] {
            cells.extend(
                grains(Size::Quick).iter().map(|&grain| cell("raddle", workers, grain, "kind=process")),
            );
        }
        for (packets, per_packet) in [(2, 1000), (8, 1000), (512, 1000), (64, 10)] {
            for &workers in &settings.workers {
                cells.extend(
                    [1, 1000]
                        .map(|grain| spec("raddle", workers, packets, per_packet, grain, "kind=process")),
                );
            }
        }
    }
    let key = |c: &Spec| (c.runtime, c.workers, c.params.clone());
    let mut seen = BTreeSet::new();
    cells.retain(|cell| seen.insert(key(cell)));
    cells
}

fn cell(runtime: &'static str, workers: usize, grain: u64, kind: &str) -> Spec {
    spec(runtime, workers, PACKETS, rounds(runtime, grain), grain, kind)
}

fn spec(runtime: &'static str, workers: usize, packets: u64, rounds: u64, grain: u64, kind: &str) -> Spec {
    let params = format!("packets={packets},rounds={rounds},grain={grain},{kind}");
    Spec::new("granularity", runtime, workers, params, rounds * (1 + grain) * triangle(packets))
}

fn at(grain: u64, kind: &str) -> String {
    format!("packets={PACKETS},grain={grain},{kind}")
}

/// The granularities of a run, in order.
fn measured(run: &Run) -> Vec<u64> {
    let all: BTreeSet<u64> = run.cells.iter().map(|cell| cell.number("grain") as u64).collect();
    all.into_iter().collect()
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (runtime, kind, name) in FORMS {
        for grain in measured(run) {
            let of = |workers| {
                let wanted =
                    |c: &&Cell| c.runtime == runtime && c.workers == workers && c.has(&at(grain, kind));
                run.cells.iter().find(|c| wanted(c) && c.number("rounds") as u64 == rounds(runtime, grain))
            };
            let bound = if grain >= 1000 { 0.53 } else { 0.6 };
            let what = format!("T2/T1 at granularity {grain}, {name},");
            claims.push(Claim::ratio(what, of(2), of(1), ("", ""), bound));
        }
    }
    for factor in [2, 4] {
        let over = run.find("granularity", "raddle", factor * cores(), &at(1, "kind=process"));
        if over.is_some() && factor * cores() > cores() {
            let at_cores = run.find("granularity", "raddle", cores(), &at(1, "kind=process"));
            let what = format!("{factor} times as many workers as cores, at granularity 1, against as many,");
            claims.push(Claim::ratio(what, over, at_cores, ("", ""), 1.1));
        }
    }
    claims
}

/// The granularity in nanoseconds of work at which half of the time is work, and so for each form.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for (runtime, kind, name) in FORMS {
        for workers in run.workers() {
            let metg = metg(run, runtime, kind, workers);
            let workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
            remarks.extend(
                metg.map(|ns| format!("METG of {name} on {workers}: {} ns of work a round.", figure(ns))),
            );
        }
    }
    remarks
}

/// Between the last granularity with less than half and the first with more, on a straight line of the logarithms.
fn metg(run: &Run, runtime: &str, kind: &str, workers: usize) -> Option<f64> {
    let efficiency = |grain: u64| {
        let floor = run.find("granularity", "floor", 1, &at(grain, "kind=process"))?.median("")?;
        let time = run.find("granularity", runtime, workers, &at(grain, kind))?.median("")?;
        Some((floor, floor / (time * workers.min(cores()) as f64)))
    };
    let points: Vec<(f64, f64)> = measured(run).into_iter().filter_map(efficiency).collect();
    let reached = points.iter().position(|(_, efficiency)| *efficiency >= 0.5)?;
    let (ns, high) = points[reached];
    let Some(&(before, low)) = reached.checked_sub(1).and_then(|at| points.get(at)) else { return Some(ns) };
    let share = (0.5 - low) / (high - low);
    Some((before.ln() + share * (ns.ln() - before.ln())).exp())
}

fn figures(run: &Run) -> Vec<Figure> {
    let mut lines = Vec::new();
    let forms = FORMS.into_iter().chain([
        ("go", "kind=process", "Go"),
        ("java", "kind=process", "Java virtual threads"),
        ("boost", "kind=process", "Boost.Fiber"),
        ("std", "kind=process", "OS threads"),
        ("floor", "kind=process", "the work alone"),
    ]);
    for (colour, (runtime, kind, name)) in forms.enumerate() {
        for workers in run.workers() {
            let point = |grain| {
                Some((grain as f64, run.find("granularity", runtime, workers, &at(grain, kind))?.median("")?))
            };
            let points: Vec<_> = measured(run).into_iter().filter_map(point).collect();
            let name = if runtime == "floor" { name.to_owned() } else { format!("{name}, {workers}") };
            lines.push(Line { name, points, colour, dashed: workers == 1 });
        }
    }
    let (x, y) = (Axis::log("granularity (updates a round)"), Axis::log("time of a round (ns)"));
    vec![("time", chart("Replicated PAR: time against granularity, by number of workers", x, y, &lines))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn the_metg_lies_where_half_of_the_time_is_work() {
        let at = |grain| format!("packets=64,rounds=1000,grain={grain},kind=process");
        let (one, hundred) = (at(1), at(100));
        let cells = [
            ("granularity", "floor", 1, one.as_str(), 1.0),
            ("granularity", "raddle", 1, one.as_str(), 10.0),
            ("granularity", "floor", 1, hundred.as_str(), 100.0),
            ("granularity", "raddle", 1, hundred.as_str(), 111.111_111),
        ];
        let metg = metg(&run("granularity", &cells), "raddle", "kind=process", 1).unwrap();
        assert!((metg - 10.0).abs() < 0.01, "{metg}");
    }
}
