//! Owns: experiment 4: K42's study of thread migration.
//! May use: runs, figures.
//! Never: starting a program.
//!
//! With migration on the balance is `fair`, so that threads go round while nobody is idle; off means that a thread
//! stays where it was first placed, round robin. The ray tracer draws with 8 threads.

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, Line, bars, chart};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "warehouse",
    title: "Warehouse: K42's thread migration study",
    story: "Each warehouse is a thread that processes orders against tables of its own; busy ones never wait, thinking \
            ones also wait for a lock on the shared items and think between transactions. Found then, on 4 processors: \
            migration evened out the threads, took away most idle incidents of 10 to 100 ms, and above 4 warehouses \
            cost about 15 % of throughput.",
    cells,
    claims,
    remarks,
    figures,
};

const FORMS: [(&str, &str); 2] = [("form=busy", "busy"), ("form=think", "thinking")];
const WAREHOUSES: [u64; 6] = [1, 2, 3, 5, 8, 16];

/// How long is measured, in milliseconds, after how long.
fn times(size: Size) -> (u64, u64) {
    match size {
        Size::Quick => (200, 1000),
        Size::Usual => (500, 3000),
        Size::Full => (10_000, 30_000),
    }
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let (warm_up, measured) = times(settings.size);
    let counts: &[u64] = if settings.size == Size::Quick { &[1, 2, 3, 5] } else { &WAREHOUSES };
    let mut cells = Vec::new();
    for &workers in &settings.workers {
        for (form, _) in FORMS {
            let thoughts = if form == "form=think" { ",every=1000,think_us=1000" } else { "" };
            for &count in counts {
                for migration in ["on", "off"] {
                    let params = format!(
                        "warehouses={count},{form}{thoughts},migration={migration},tick_us=10000,warm_ms={warm_up},\
                         ms={measured}"
                    );
                    cells.push(spec("warehouse", "raddle", workers, params, count));
                }
                let params = format!("warehouses={count},{form},warm_ms={warm_up},ms={measured}");
                if workers == 1 && form == "form=busy" {
                    cells.push(spec("warehouse", "floor", 1, params, count));
                }
            }
        }
        for migration in ["on", "off"] {
            let params = format!("width=320,height=180,threads=8,migration={migration}");
            cells.push(Spec { unit: "ms", ..spec("raytrace", "raddle", workers, params, 1) });
        }
    }
    cells.push(Spec { unit: "ms", ..spec("raytrace", "floor", 1, "width=320,height=180".into(), 1) });
    cells
}

fn spec(bench: &'static str, runtime: &'static str, workers: usize, params: String, checksum: u64) -> Spec {
    Spec { samples: 1, ..Spec::new(bench, runtime, workers, params, checksum) }
}

fn at(count: u64, form: &str, migration: &str) -> String {
    format!("warehouses={count},{form},migration={migration}")
}

fn counts(run: &Run) -> Vec<u64> {
    let there = |count: &u64| run.cells.iter().any(|cell| cell.number("warehouses") as u64 == *count);
    WAREHOUSES.into_iter().filter(there).collect()
}

fn find<'a>(run: &'a Run, workers: usize, count: u64, form: &str, migration: &str) -> Option<&'a Cell> {
    run.find("warehouse", "raddle", workers, &at(count, form, migration))
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for workers in run.workers().into_iter().filter(|workers| *workers > 1) {
        for count in counts(run) {
            let of = |form, migration| find(run, workers, count, form, migration);
            let name = |what: &str| {
                format!("{what} with migration against without, {count} warehouses on {workers} workers,")
            };
            let (on, off) = (of("form=busy", "on"), of("form=busy", "off"));
            if count > workers as u64 && count % workers as u64 != 0 {
                let what = name("thread spread (busy)");
                claims.push(Claim::ratio(what, on, off, ("thread_spread", "thread_spread"), 1.0 / 3.0));
            }
            if count > workers as u64 {
                claims.push(Claim::ratio(name("time of a transaction (busy)"), on, off, ("", ""), 1.01));
                let (on, off) = (of("form=think", "on"), of("form=think", "off"));
                claims.push(Claim::ratio(name("time of a transaction (thinking)"), on, off, ("", ""), 1.0));
            }
        }
        let picture = |migration| run.find("raytrace", "raddle", workers, &format!("migration={migration}"));
        let what = format!("time of the picture with migration against without, on {workers} workers,");
        claims.push(Claim::ratio(what, picture("on"), picture("off"), ("", ""), 1.0));
    }
    claims
}

/// Incidents, their average and their sum, as the study told them.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for workers in run.workers().into_iter().filter(|workers| *workers > 1) {
        for count in counts(run) {
            let of = |migration| find(run, workers, count, "form=think", migration);
            let (Some(on), Some(off)) = (of("on"), of("off")) else { continue };
            let change = |metric: &str| Some(100.0 * (on.median(metric)? / off.median(metric)? - 1.0));
            let average = |cell: &Cell| Some(cell.median("idle_ms")? * 1e3 / cell.median("incidents")?);
            // The study's threads slept for disks, and idled for 10 to 100 ms; these think for a tenth of that.
            let decades = (0..workers).flat_map(|w| (3..8).map(move |decade| format!("w{w}_d{decade}")));
            let decades: Vec<String> = decades.collect();
            let long = |cell: &Cell| decades.iter().filter_map(|name| cell.median(name)).sum::<f64>();
            let text = (|| {
                Some(format!(
                    "{count} thinking warehouses on {workers} workers: with migration throughput {:+.0} %, idle time \
                     {:+.0} %, {:.0} us an idle incident instead of {:.0}, {:.0} incidents of a millisecond or more \
                     instead of {:.0}, thread spread {:.1} % instead of {:.1} %.",
                    change("throughput")?,
                    change("idle_ms")?,
                    average(on)?,
                    average(off)?,
                    long(on),
                    long(off),
                    on.median("thread_spread")?,
                    off.median("thread_spread")?
                ))
            })();
            remarks.extend(text);
        }
    }
    remarks
}

fn figures(run: &Run) -> Vec<Figure> {
    let against = |metric: &str, form: &str, scale: f64| {
        let mut lines = Vec::new();
        for (colour, workers) in run.workers().into_iter().enumerate() {
            for migration in ["on", "off"] {
                let point = |count| {
                    Some((count as f64, find(run, workers, count, form, migration)?.median(metric)? * scale))
                };
                let points = counts(run).into_iter().filter_map(point).collect();
                let name =
                    format!("{workers} worker{}, migration {migration}", if workers == 1 { "" } else { "s" });
                lines.push(Line { name, points, colour, dashed: migration == "off" });
            }
        }
        lines
    };
    let mut figures = Vec::new();
    for (form, name, throughput, spread) in [
        ("form=busy", "busy", "throughput-busy", "spread-busy"),
        ("form=think", "thinking", "throughput-thinking", "spread-thinking"),
    ] {
        let x = || Axis::linear("warehouses");
        let y = Axis::linear("thousands of transactions a second");
        let title = format!("Throughput of {name} warehouses");
        figures.push((throughput, chart(&title, x(), y, &against("throughput", form, 1e-3))));
        let title = format!("Thread spread of {name} warehouses");
        let y = Axis::linear("100 (max - min) / max (%)");
        figures.push((spread, chart(&title, x(), y, &against("thread_spread", form, 1.0))));
    }
    figures.push(("idle", histogram(run)));
    figures
}

/// Idle incidents by decade, for each worker, at the first number of warehouses that is no multiple of the workers.
fn histogram(run: &Run) -> String {
    let workers = run.workers().into_iter().max().unwrap_or(1);
    let count = counts(run).into_iter().find(|count| *count > workers as u64).unwrap_or(1);
    let decades = ["0-10 us", "10-100 us", "0.1-1 ms", "1-10 ms", "10-100 ms", "0.1-1 s"];
    let mut all = Vec::new();
    for (series, migration) in ["off", "on"].into_iter().enumerate() {
        let cell = find(run, workers, count, "form=think", migration);
        for worker in 0..workers {
            let height =
                |decade: usize| cell.and_then(|c| c.median(&format!("w{worker}_d{decade}"))).unwrap_or(0.0);
            let name = format!("worker {worker}, migration {migration}");
            let heights = (0..decades.len()).map(height).collect();
            all.push(Bar { name, heights, colour: 4 * series + worker });
        }
    }
    let title = format!("Idle incidents by length: {count} thinking warehouses on {workers} workers");
    bars(&title, "incidents", &decades, &all)
}
