//! Owns: experiment 3: McRT's micro-benchmarks.
//! May use: the catalogue of benchmarks, runs, figures.
//! Never: starting a program.
//!
//! These are benchmarks of the catalogue already, with their parameters and checksums; here stand which, and what is
//! required of them.

use bench_runner::catalogue::BENCHES;
use bench_runner::cell::Params;

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Line, chart};
use crate::run::Run;

pub const EXPERIMENT: Experiment = Experiment {
    name: "threads",
    title: "Threads: McRT's micro-benchmarks",
    story: "What it costs to create, join, switch and lock, and to have very many alive. McRT found futures that \
            return at once 40 to 100 times cheaper than threads that do.",
    cells,
    claims,
    remarks: |_| Vec::new(),
    figures,
};

const NAMES: [&str; 9] = [
    "create_join",
    "create255",
    "alive",
    "thread_create",
    "thread_alive",
    "yield1000",
    "thread_yield1000",
    "mutex",
    "flat",
];

/// Only at the full size.
const FULL_NAMES: [&str; 2] = ["queue_lock", "fib"];

fn cells(settings: &Settings) -> Vec<Spec> {
    let chosen =
        |name: &&str| NAMES.contains(name) || (settings.size == Size::Full && FULL_NAMES.contains(name));
    let mut cells = Vec::new();
    for bench in BENCHES.iter().filter(|bench| chosen(&bench.name)) {
        for &(runtime, workers) in bench.runtimes {
            for &workers in workers.iter().filter(|workers| settings.workers.contains(workers)) {
                for params in bench.params(runtime, workers, settings.size == Size::Quick) {
                    cells.push(Spec {
                        bench: bench.name,
                        program: bench.program,
                        runtime,
                        workers,
                        params: params.to_owned(),
                        unit: bench.unit,
                        checksum: (bench.checksum)(&Params(params)),
                        samples: bench.samples,
                    });
                }
            }
        }
    }
    cells
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
        let process = flat("kind=process");
        claims.push(Claim::ratio(
            format!("a future against a warm light process {on}"),
            future,
            process,
            none,
            0.2,
        ));
        claims.push(Claim::value(format!("a future {on} in ns,"), future, "", 6.0));
    }
    claims
}

fn figures(run: &Run) -> Vec<Figure> {
    let mut lines = Vec::new();
    let forms = [
        ("alive", "raddle", "kind=process", "", "Raddle, light processes"),
        ("alive", "raddle", "kind=process", "net_create_ns", "the same, beyond fresh stacks"),
        ("thread_alive", "raddle", "kind=thread", "create_ns", "Raddle, threads"),
        ("alive", "raddle", "kind=cell", "create_ns", "Raddle, cells"),
        ("alive", "go", "kind=process", "create_ns", "Go"),
        ("alive", "tokio", "kind=cell", "create_ns", "tokio, tasks"),
        ("alive", "floor", "kind=process", "create_ns", "fresh guarded stacks"),
    ];
    for (colour, (bench, runtime, kind, metric, name)) in forms.into_iter().enumerate() {
        let metric = if metric.is_empty() { "create_ns" } else { metric };
        let point = |count: u64| {
            let cell = run.find(bench, runtime, 1, &format!("count={count},{kind}"))?;
            Some((count as f64, cell.median(metric).or_else(|| cell.median(""))?))
        };
        let points = [1000, 10_000, 100_000, 1_000_000].into_iter().filter_map(point).collect();
        lines.push(Line { name: name.to_owned(), points, colour, dashed: false });
    }
    let (x, y) = (Axis::log("alive at once"), Axis::log("time to create one (ns)"));
    vec![("creation", chart("Creation: cost of one against how many are alive, on one worker", x, y, &lines))]
}
