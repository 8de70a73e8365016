//! Owns: experiment 3: McRT's micro-benchmarks.
//! May use: the catalogue of benchmarks, runs, figures.
//! Never: starting a program.
//!
//! These are benchmarks of the catalogue, with their parameters and checksums; this file lists them, additional cells,
//! and the requirements.

use bench_runner::catalogue::{BENCHES, Bench};
use bench_runner::cell::Params;
use bench_runner::runtimes::{RUNTIMES, Runtime};
use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, ChartLine, bars, chart};
use crate::run::Run;

pub const EXPERIMENT: Experiment = Experiment {
    name: "threads",
    title: "Threads: McRT's micro-benchmarks",
    story: "What it costs to create, join, switch and lock, and to have very many alive. McRT found futures that \
            return at once 40 to 100 times cheaper than threads that do.",
    cells,
    claims,
    remarks,
    figures,
    afterwards: None,
};

const NAMES: [&str; 15] = [
    "create_join",
    "create255",
    "alive",
    "thread_create",
    "thread_alive",
    "yield1000",
    "thread_yield1000",
    "mutex",
    "queue_lock",
    "rwlock",
    "mpsc",
    "flat",
    "tasks",
    "call",
    "loops",
];

/// Only at the full size.
const FULL_NAMES: [&str; 1] = ["fib"];

/// Cells that are not in the catalogue: benchmark, runtime, workers, parameters.
const MORE: [(&str, &str, usize, &str); 20] = [
    ("alive", "raddle", 1, "count=10000,kind=process"),
    ("alive", "light", 1, "count=10000,kind=process"),
    ("alive", "go", 1, "count=10000,kind=process"),
    ("alive", "floor", 1, "count=10000,kind=process"),
    ("thread_alive", "raddle", 1, "count=10000,kind=thread"),
    ("mutex", "raddle", 2, "lock=mutex,threads=1000,rounds=100000"),
    ("mutex", "go", 2, "lock=mutex,threads=1000,rounds=100000"),
    ("mutex", "std", 2, "lock=mutex,threads=1000,rounds=100000"),
    ("create_join", "java", 1, CREATE_ONE),
    ("create_join", "java", 2, CREATE_ONE),
    ("create_join", "boost", 1, CREATE_ONE),
    ("create255", "java", 1, CREATE_255),
    ("create255", "java", 2, CREATE_255),
    ("create255", "boost", 1, CREATE_255),
    ("create255", "boost", 2, CREATE_255),
    ("yield1000", "java", 1, YIELD_1000),
    ("yield1000", "java", 2, YIELD_1000),
    ("yield1000", "boost", 1, YIELD_1000),
    ("yield1000", "boost", 2, YIELD_1000),
    ("yield1000", "std", 2, YIELD_1000),
];
const CREATE_ONE: &str = "count=2550,batch=1";
const CREATE_255: &str = "count=2550,batch=255";
const YIELD_1000: &str = "processes=1000,rounds=200";

fn cells(settings: &Settings) -> Vec<Spec> {
    let chosen =
        |name: &&str| NAMES.contains(name) || (settings.size == Size::Full && FULL_NAMES.contains(name));
    let mut cells = Vec::new();
    for bench in BENCHES.iter().filter(|bench| chosen(&bench.name)) {
        for &(runtime, workers) in bench.runtimes {
            for &workers in workers {
                let all = bench.params(runtime, workers, settings.size == Size::Quick);
                cells.extend(
                    all.into_iter().map(|params| spec(bench, settings.size, runtime, workers, params)),
                );
            }
        }
        let more = MORE.iter().filter(|(name, ..)| *name == bench.name);
        cells.extend(
            more.map(|(_, runtime, workers, params)| spec(bench, settings.size, runtime, *workers, params)),
        );
    }
    cells.retain(|cell| settings.workers.contains(&cell.workers));
    cells
}

fn spec(bench: &Bench, size: Size, runtime: &'static str, workers: usize, params: &str) -> Spec {
    let looked_at = runtime != "raddle"
        || params.contains("kind=task")
        || ["alive", "thread_alive", "queue_lock"].contains(&bench.name);
    Spec {
        bench: bench.name,
        program: bench.program,
        runtime,
        workers,
        params: params.to_owned(),
        unit: bench.unit,
        checksum: (bench.checksum)(&Params(params)),
        samples: bench.samples,
        every: if looked_at { size.every() } else { 1 },
    }
}

fn claims(run: &Run) -> Vec<Claim> {
    let alive = |count: &str| run.find("alive", "raddle", 1, &format!("count={count},kind=process"));
    let most = ["1000000", "100000"].into_iter().find(|count| alive(count).is_some()).unwrap_or("1000000");
    let what = format!("creation beyond the bare cost of fresh stacks, {most} alive against 1000 alive,");
    let net = ("net_create_ns", "net_create_ns");
    let mut claims = vec![Claim::ratio(what, alive(most), alive("1000"), net, 1.3)];
    for workers in run.workers() {
        let flat = |params: &str| run.find("flat", "raddle", workers, params);
        let future = flat("batch=250,kind=future");
        if future.is_none() {
            continue;
        }
        let on = format!("on {workers} worker{},", if workers == 1 { "" } else { "s" });
        let none = ("", "");
        let threads = flat("kind=thread");
        claims.push(Claim::ratio(
            format!("a future against a thread on a fresh stack {on}"),
            future,
            threads,
            none,
            0.025,
        ));
        for (runtime, name) in [("raddle", "process"), ("light", "light process")] {
            let process = run.find("flat", runtime, workers, "kind=process");
            claims.push(Claim::ratio(
                format!("a future against a warm {name} {on}"),
                future,
                process,
                none,
                0.2,
            ));
        }
        claims.push(Claim::value(format!("a future {on} in ns,"), future, "", 6.0));
    }
    claims
}

const TITLES: [(&str, &str, &str); 11] = [
    ("create_join", "", "one created and joined"),
    ("create255", "", "255 created, then joined, each"),
    ("yield1000", "", "a switch among 1000"),
    ("thread_create", "", "a thread, with thread-local storage of its own, created and joined"),
    ("thread_yield1000", "", "a switch among 1000 such threads"),
    ("mutex", "threads=1", "a lock and unlock"),
    ("rwlock", "threads=64,rounds=100000", "a lock of 64, of which 1 in 100 writes"),
    ("mpsc", "ends=8,capacity=64", "a message of one of 8 senders"),
    ("flat", "kind=spawn", "a job that is spawned, of 250"),
    ("tasks", "batch=250", "a task of 250"),
    ("call", "", "a call from outside"),
];

/// What McRT measured, by runtime.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for (bench, params, title) in TITLES {
        for workers in run.workers() {
            let of = |of: &Runtime| {
                let median = run.find(bench, of.name, workers, params)?.median("")?;
                Some(format!("{} {}", of.title, figure(median)))
            };
            let all: Vec<String> = RUNTIMES.iter().filter_map(of).collect();
            if all.len() > 1 {
                let plural = if workers == 1 { "" } else { "s" };
                remarks.push(format!("{title}, on {workers} worker{plural}, ns: {}.", all.join(", ")));
            }
        }
    }
    remarks.push(
        "libfork: not measured, no program for it is written (Debian has no package of it).".to_owned(),
    );
    remarks
}

fn figures(run: &Run) -> Vec<Figure> {
    vec![("creation", creation(run)), ("small", small(run)), ("locks", locks(run))]
}

fn creation(run: &Run) -> String {
    let mut lines = Vec::new();
    let forms = [
        ("alive", "raddle", "kind=process", "create_ns", "Raddle, processes"),
        ("alive", "raddle", "kind=process", "net_create_ns", "the same, beyond fresh stacks"),
        ("alive", "light", "kind=process", "create_ns", "Raddle, light processes"),
        ("thread_alive", "raddle", "kind=thread", "create_ns", "Raddle, threads"),
        ("alive", "raddle", "kind=task", "create_ns", "Raddle, tasks"),
        ("alive", "go", "kind=process", "create_ns", "Go"),
        ("alive", "tokio", "kind=task", "create_ns", "tokio, tasks"),
        ("alive", "floor", "kind=process", "create_ns", "fresh guarded stacks"),
    ];
    for (colour, (bench, runtime, kind, metric, name)) in forms.into_iter().enumerate() {
        let point = |count: u64| {
            let cell = run.find(bench, runtime, 1, &format!("count={count},{kind}"))?;
            Some((count as f64, cell.median(metric).or_else(|| cell.median(""))?))
        };
        let points = [1000, 10_000, 100_000, 1_000_000].into_iter().filter_map(point).collect();
        lines.push(ChartLine { name: name.to_owned(), points, colour, dashed: false });
    }
    let (x, y) = (Axis::log("alive at once"), Axis::log("time to create one (ns)"));
    chart("Creation: cost of one against how many are alive, on one worker", x, y, &lines)
}

/// Calls that return at once, on one worker; OS threads have two cores.
fn small(run: &Run) -> String {
    let kinds = [
        ("create_join", CREATE_ONE, "one, joined"),
        ("create255", CREATE_255, "255, then joined"),
        ("flat", "batch=250,kind=future", "futures, 250 at once"),
        ("flat", "kind=thread", "on fresh stacks"),
    ];
    let bar = |(colour, of): (usize, &Runtime)| {
        let height = |(bench, params, _): &(&str, &str, &str)| {
            let on = |workers| run.find(bench, of.name, workers, params)?.median("");
            on(1).or_else(|| on(2)).unwrap_or(0.0)
        };
        Bar { name: of.title.to_owned(), heights: kinds.iter().map(height).collect(), colour }
    };
    let all =
        RUNTIMES.iter().enumerate().map(bar).filter(|bar| bar.heights.iter().any(|height| *height > 0.0));
    let names = kinds.map(|(_, _, name)| name);
    let title = "Calls that return at once: create and join, on one worker (OS threads: on two cores)";
    bars(title, Axis::log("ns each"), &names, &all.collect::<Vec<_>>())
}

/// Lock and unlock against how many contend for it.
fn locks(run: &Run) -> String {
    let forms = [
        ("mutex", "raddle", "mutex", "Raddle, mutex"),
        ("queue_lock", "raddle", "spin", "Raddle, spin lock"),
        ("queue_lock", "raddle", "ticket", "Raddle, ticket lock"),
        ("queue_lock", "raddle", "mcs", "Raddle, MCS"),
        ("queue_lock", "raddle", "clh", "Raddle, CLH"),
        ("mutex", "go", "mutex", "Go"),
        ("mutex", "std", "mutex", "OS threads, std"),
        ("mutex", "parking_lot", "mutex", "OS threads, parking_lot"),
    ];
    let line = |(colour, (bench, runtime, lock, name)): (usize, (&str, &str, &str, &str))| {
        let point = |threads: usize| {
            let params = format!("lock={lock},threads={threads}");
            Some((threads as f64, run.find(bench, runtime, threads.min(2), &params)?.median("")?))
        };
        let points = [1, 2, 64, 1000].into_iter().filter_map(point).collect();
        ChartLine { name: name.to_owned(), points, colour, dashed: false }
    };
    let lines: Vec<ChartLine> = forms.into_iter().enumerate().map(line).collect();
    let (x, y) = (Axis::log("threads that contend"), Axis::log2("lock and unlock (ns)"));
    chart("Locks: cost against contention (one alone: on one worker; else on two)", x, y, &lines)
}
