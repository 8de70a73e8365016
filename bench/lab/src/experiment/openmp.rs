//! Owns: experiment 7: what OpenMP's constructs cost, on libgomp, on libomp and on Raddle.
//! May use: runs, figures.
//! Never: starting a program.

use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, bars};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "openmp",
    title: "OpenMP: unmodified programs on Raddle's threads",
    story: "One program in C, compiled by gcc for libgomp and by clang for libomp, and with Raddle's library in the \
            place of libgomp: regions, barriers, loops, nested regions, tasks, with as many threads as cores and with \
            more, and beside another program that keeps a core busy. McRT ran OpenMP programs by an adaptor; BOLT, on \
            Argobots, won where regions nest and lost where they do not.",
    cells,
    claims,
    remarks,
    figures,
    afterwards: None,
};

const RIVALS: [&str; 2] = ["libgomp", "libomp"];

/// A measure and its bounds.
struct Measure {
    /// In sentences and figures.
    title: &'static str,
    params: &'static str,
    /// How often, at the usual size.
    times: u64,
    /// At most this part of the better rival's figure.
    part: f64,
    /// At most this figure itself, in nanoseconds; 0 for none.
    figure: f64,
    /// The sum that a run of so often must give.
    checksum: fn(u64) -> u64,
}

const fn measure(title: &'static str, params: &'static str, times: u64, part: f64, figure: f64) -> Measure {
    Measure { title, params, times, part, figure, checksum: |times| times }
}

/// Of the issue that asked for this door: what each must reach.
const MEASURES: &[Measure] = &[
    measure("region", "measure=region,threads=2", 20_000, 1.2, 0.0),
    measure("barrier", "measure=barrier,threads=2", 50_000, 1.2, 0.0),
    measure("static loop", "measure=loop,threads=2", 50_000, 1.2, 0.0),
    measure("dynamic by 1", "measure=dynamic,threads=2", 500_000, 1.2, 0.0),
    measure("task", "measure=task,threads=2", 100_000, 1.0, 0.0),
    Measure {
        checksum: |times| times * 2584,
        ..measure("fib(18) by tasks", "measure=fib,n=18,threads=2", 10, 0.7, 0.0)
    },
    measure("region of 8", "measure=region,threads=8", 3_000, 0.1, 5_000.0),
    measure("barrier of 8", "measure=barrier,threads=8", 5_000, 0.1, 4_000.0),
    measure("region, neighbour", "measure=beside,construct=region,threads=2", 2_000, 0.2, 0.0),
    measure("barrier, neighbour", "measure=beside,construct=barrier,threads=2", 2_000, 0.2, 0.0),
    measure("nested 2x2", "measure=nested,threads=2", 1_000, 0.2, 3_000.0),
    measure("nested 4x4", "measure=nested,threads=4", 300, 0.2, 10_000.0),
    measure("nested 8x8", "measure=nested,threads=8", 60, 0.2, 20_000.0),
];

/// A process that never enters a region may take so much longer.
const START: Measure = measure("start", "measure=start,threads=1", 50, 0.0, 0.0);
const START_MORE_NS: f64 = 1e6;

fn cells(settings: &Settings) -> Vec<Spec> {
    let Some(&workers) = settings.workers.last() else { return Vec::new() };
    let all = MEASURES.iter().chain([&START]);
    all.flat_map(|one| {
        let times = if settings.size == Size::Full { 4 * one.times } else { one.times };
        let params = format!("{},times={times}", one.params);
        RIVALS.into_iter().chain(["omp"]).map(move |runtime| {
            let spec = Spec::new("openmp", runtime, workers, params.clone(), (one.checksum)(times));
            Spec { samples: 1, ..spec }
        })
    })
    .collect()
}

fn found<'a>(run: &'a Run, one: &Measure, runtime: &str) -> Option<&'a Cell> {
    run.workers().into_iter().find_map(|workers| run.find("openmp", runtime, workers, one.params))
}

/// Of the rivals, the one whose median is less.
fn better<'a>(run: &'a Run, one: &Measure) -> Option<&'a Cell> {
    let cells = RIVALS.into_iter().filter_map(|runtime| found(run, one, runtime));
    let figures = cells.filter_map(|cell| Some((cell.median("")?, cell)));
    figures.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, cell)| cell)
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for one in MEASURES {
        let ours = found(run, one, "omp");
        let ratio = Claim::ratio("", ours, better(run, one), ("", ""), one.part);
        claims.push(Claim::of_series("as a part of the better rival's,", one.title, ratio));
        if one.figure > 0.0 {
            let value = Claim::value("", ours, "", one.figure);
            claims.push(Claim::of_series("itself, ns,", one.title, value));
        }
    }
    claims
}

/// What is required as a difference.
fn remarks(run: &Run) -> Vec<String> {
    let median = |cell: Option<&Cell>| cell.and_then(|cell| cell.median(""));
    let starts = median(found(run, &START, "omp")).zip(median(better(run, &START)));
    let sentence = |(ours, theirs): (f64, f64)| {
        let (more, most) = (figure(ours - theirs), figure(START_MORE_NS));
        format!(
            "start and end of a process without a region, ns: {more} more than with the better rival; \
             at most {most} more."
        )
    };
    starts.map(sentence).into_iter().collect()
}

fn figures(run: &Run) -> Vec<Figure> {
    let halves = [
        ("flat", "As many threads as cores", 0..6),
        ("more", "More threads than cores, and a neighbour", 6..MEASURES.len()),
    ];
    let series = [("libgomp", "libgomp", 1), ("libomp", "libomp", 2), ("omp", "Raddle", 5)];
    halves
        .into_iter()
        .map(|(suffix, title, range)| {
            let measures = &MEASURES[range];
            let height = |one: &Measure, runtime: &str| {
                found(run, one, runtime).and_then(|cell| cell.median("")).unwrap_or(0.0)
            };
            let bar = |(runtime, name, colour): (&str, &str, usize)| Bar {
                name: name.into(),
                heights: measures.iter().map(|one| height(one, runtime)).collect(),
                colour,
            };
            let names: Vec<&str> = measures.iter().map(|one| short(one.title)).collect();
            (suffix, bars(title, Axis::log("time (ns)"), &names, &series.map(bar)))
        })
        .collect()
}

/// What fits below a bar.
fn short(title: &str) -> &str {
    match title {
        "dynamic by 1" => "dynamic",
        "fib(18) by tasks" => "fib(18)",
        "region, neighbour" => "r., neighb.",
        "barrier, neighbour" => "b., neighb.",
        other => other,
    }
}
