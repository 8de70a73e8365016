//! Owns: experiment 5: unmodified programs with POSIX threads, on the C library's threads and on Raddle's.
//! May use: runs, figures.
//! Never: starting a program.

use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec, triangle};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, bars};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "pthreads",
    title: "Pthreads: unmodified programs on Raddle's threads",
    story: "One program in C, and programs that are installed, natively and with Raddle's library for POSIX threads \
            preloaded: life, locks, hand-offs, memory, a server with a thread for each request, a pipeline of 1000 \
            threads, memcached, programs that compute. McRT ran POSIX threads by an adaptor on user-level threads; \
            NGPT and NPTL were compared in 2003, and threads of the kernel won.",
    cells,
    claims,
    remarks,
    figures,
    afterwards: None,
};

/// A measure, its bound and its cost.
struct Measure {
    /// In sentences and figures.
    title: &'static str,
    params: &'static str,
    /// How often, at the usual size.
    times: u64,
    /// At most this part of NPTL's figure.
    part: f64,
    /// At most this figure itself, in nanoseconds; 0 for none.
    figure: f64,
    checksum: fn(u64) -> u64,
}

const fn measure(title: &'static str, params: &'static str, times: u64, part: f64) -> Measure {
    Measure { title, params, times, part, figure: 0.0, checksum: |times| times }
}

const STAGES: u64 = 1000;

/// Of the issue that asked for this door: what each must reach.
const MEASURES: &[Measure] = &[
    Measure { figure: 1000.0, ..measure("create and join", "measure=create", 4000, 0.06) },
    Measure {
        figure: 400.0,
        checksum: |times| 2 * times,
        ..measure("condition variable", "measure=condition", 20_000, 0.04)
    },
    measure("barrier of 128", "measure=barrier", 300, 0.06),
    Measure {
        checksum: |times| 64 * times,
        ..measure("64 threads at one mutex", "measure=contended", 20_000, 0.5)
    },
    measure("uncontended mutex", "measure=uncontended", 5_000_000, 0.0),
    measure("pipe", "measure=pipe", 10_000, 1.0),
    measure("socket", "measure=socket", 10_000, 1.0),
    Measure {
        checksum: |times| times * STAGES + triangle(times),
        ..measure("pipeline of 1000 threads", "measure=pipeline,stages=1000", 60, 0.7)
    },
    measure("server, a thread a request", "measure=server,connections=16", 4000, 0.7),
    measure("memcached", "measure=memcached,connections=50", 20_000, 1.0),
    Measure { checksum: |_| 1, ..measure("pigz", "measure=compute,program=pigz", 1, 1.02) },
    Measure { checksum: |_| 1, ..measure("xz", "measure=compute,program=xz", 1, 1.02) },
    Measure { checksum: |_| 1, ..measure("x264", "measure=compute,program=x264", 1, 1.02) },
    measure("start and end of /bin/true", "measure=start", 100, 0.0),
];

/// Bytes of a thread, of 10 000 that wait.
const ALIVE: Measure =
    Measure { figure: 10_240.0, ..measure("a thread that waits", "measure=alive", 10_000, 0.0) };

/// An uncontended mutex may cost so much more; a start, so much.
const MUTEX_MORE_NS: f64 = 2.0;
const START_MORE_NS: f64 = 1e6;

fn cells(settings: &Settings) -> Vec<Spec> {
    let mut cells = Vec::new();
    for one in MEASURES.iter().chain([&ALIVE]) {
        for &workers in &settings.workers {
            cells.push(cell(one, settings.size, "pthreads", workers));
        }
        // NPTL has no workers; it stands where most are.
        cells.extend(settings.workers.last().map(|&workers| cell(one, settings.size, "nptl", workers)));
    }
    cells
}

fn cell(one: &Measure, size: Size, runtime: &'static str, workers: usize) -> Spec {
    let times = if size == Size::Full && one.times > 1 { 4 * one.times } else { one.times };
    let params = format!("{},times={times}", one.params);
    let spec = Spec::new("pthreads", runtime, workers, params, (one.checksum)(times));
    // What a second look finds in memory is the first one's.
    let unit = if one.params == ALIVE.params { "bytes" } else { "ns" };
    Spec { samples: 1, unit, ..spec }
}

fn found<'a>(run: &'a Run, one: &Measure, runtime: &str, workers: usize) -> Option<&'a Cell> {
    run.find("pthreads", runtime, workers, one.params)
}

/// NPTL's cell, wherever it stands.
fn native<'a>(run: &'a Run, one: &Measure) -> Option<&'a Cell> {
    run.workers().into_iter().find_map(|workers| found(run, one, "nptl", workers))
}

fn with(workers: usize) -> String {
    format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for one in MEASURES.iter().chain([&ALIVE]) {
        // What computes on two threads is to be compared on two workers.
        let least = if one.params.starts_with("measure=compute") { 2 } else { 1 };
        let measured = || {
            let all = run.workers().into_iter().filter(|workers| *workers >= least);
            all.filter_map(|workers| Some((workers, found(run, one, "pthreads", workers)?)))
        };
        for (workers, ours) in measured().filter(|_| one.part > 0.0) {
            let claim = Claim::ratio("", Some(ours), native(run, one), ("", ""), one.part);
            let series = format!("{}, as a part of NPTL's,", one.title);
            claims.push(Claim::of_series(series, with(workers), claim));
        }
        for (workers, ours) in measured().filter(|_| one.figure > 0.0) {
            let unit = if one.params == ALIVE.params { "bytes" } else { "ns" };
            let claim = Claim::value("", Some(ours), "", one.figure);
            claims.push(Claim::of_series(format!("{}, {unit},", one.title), with(workers), claim));
        }
    }
    claims
}

/// What is required as a difference.
fn remarks(run: &Run) -> Vec<String> {
    let bounds = [("uncontended mutex", MUTEX_MORE_NS), ("start and end of /bin/true", START_MORE_NS)];
    let more = |(title, bound): (&str, f64)| {
        let one = MEASURES.iter().find(|one| one.title == title)?;
        let theirs = native(run, one)?.median("")?;
        let of = |workers| Some((workers, found(run, one, "pthreads", workers)?.median("")? - theirs));
        let all: Vec<String> = run
            .workers()
            .into_iter()
            .filter_map(of)
            .map(|(workers, more)| format!("{} more with {}", figure(more), with(workers)))
            .collect();
        let (theirs, bound) = (figure(theirs), figure(bound));
        (!all.is_empty())
            .then(|| format!("{title}, ns: {theirs} on NPTL, {}; at most {bound} more.", all.join(", ")))
    };
    bounds.into_iter().filter_map(more).collect()
}

fn figures(run: &Run) -> Vec<Figure> {
    let halves = [
        ("inside", "Inside one program: NPTL and Raddle", 0..7),
        ("programs", "Servers and programs: NPTL and Raddle", 7..MEASURES.len()),
    ];
    halves
        .into_iter()
        .map(|(suffix, title, range)| {
            let measures = &MEASURES[range];
            let heights = |of: &dyn Fn(&Measure) -> Option<f64>| -> Vec<f64> {
                measures.iter().map(|one| of(one).unwrap_or(0.0)).collect()
            };
            let natively = heights(&|one| native(run, one)?.median(""));
            let mut all = vec![Bar { name: "NPTL".into(), heights: natively, colour: 1 }];
            for (at, workers) in run.workers().into_iter().enumerate() {
                let heights = heights(&|one| found(run, one, "pthreads", workers)?.median(""));
                let name = format!("Raddle, {workers}");
                all.push(Bar { name, heights, colour: if at == 0 { 5 } else { 2 * at - 2 } });
            }
            let names: Vec<&str> = measures.iter().map(|one| short(one.title)).collect();
            (suffix, bars(title, Axis::log("time (ns)"), &names, &all))
        })
        .collect()
}

/// What fits below a bar.
fn short(title: &str) -> &str {
    match title {
        "create and join" => "create",
        "condition variable" => "condition",
        "barrier of 128" => "barrier",
        "64 threads at one mutex" => "64 at one",
        "uncontended mutex" => "mutex",
        "pipeline of 1000 threads" => "pipeline",
        "server, a thread a request" => "server",
        "start and end of /bin/true" => "start",
        other => other,
    }
}
