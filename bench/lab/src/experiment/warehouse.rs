//! Owns: experiment 4: K42's study of thread migration.
//! May use: runs, figures.
//! Never: starting a program.
//!
//! With migration on, the balance is `fair`, so that threads rotate while no worker is idle; with migration off, a
//! thread stays where it was first placed, round robin. The ray tracer draws with 8 threads.

mod figures;

use raddle_measure::table::figure;

use super::{Experiment, Settings, Size, Spec};
use crate::claim::Claim;
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
    figures: figures::figures,
    afterwards: None,
};

/// The names of a variant: in parameters, in texts, and in file names.
struct Variant {
    params: &'static str,
    name: &'static str,
    throughput: &'static str,
    spread: &'static str,
}

/// The variants: always busy, and thinking after short or long slices of work.
const FORMS: [Variant; 3] = [
    Variant { params: "form=busy", name: "busy", throughput: "throughput-busy", spread: "spread-busy" },
    Variant {
        params: "form=think,every=1000,think_us=1000",
        name: "thinking, 1 ms after 1000 transactions",
        throughput: "throughput-thinking",
        spread: "spread-thinking",
    },
    Variant {
        params: "form=think,every=100,think_us=300",
        name: "thinking, 0.3 ms after 100 transactions",
        throughput: "throughput-brief",
        spread: "spread-brief",
    },
];
const WAREHOUSES: [u64; 6] = [1, 2, 3, 5, 8, 16];
/// The usual tick in microseconds, at which the length of a list is published, and others.
const TICK_US: u64 = 10_000;
const OTHER_TICKS: [u64; 2] = [1000, 100_000];

/// The measured time and the warm-up, in milliseconds.
fn times(size: Size) -> (u64, u64) {
    match size {
        Size::Quick => (200, 800),
        Size::Usual => (200, 1200),
        Size::Full => (10_000, 30_000),
    }
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let (size, mut cells) = (settings.size, Vec::new());
    let counts: &[u64] = if size == Size::Quick { &[1, 2, 3, 5] } else { &WAREHOUSES };
    for &workers in &settings.workers {
        for (number, form) in FORMS.iter().enumerate() {
            for &count in counts {
                for migration in ["on", "off"] {
                    let uneven = !count.is_multiple_of(workers as u64);
                    let required =
                        workers > 1 && count > workers as u64 && (number == 0 || number == 1 && uneven);
                    // With one worker there is no migration; the brief variant is for comparison.
                    let shown = size == Size::Full
                        || (workers > 1 && number < 2)
                        || (number < 1 + workers && [3, 5].contains(&count));
                    if required || shown {
                        let every = if required { 1 } else { size.every() };
                        cells.push(Spec { every, ..hall(size, workers, count, form, migration, TICK_US) });
                    }
                }
            }
        }
        for tick in OTHER_TICKS.into_iter().filter(|_| workers > 1 && size != Size::Quick) {
            for (form, count) in FORMS[..2].iter().flat_map(|form| [(form, 3), (form, 5)]) {
                cells.push(Spec { every: size.every(), ..hall(size, workers, count, form, "on", tick) });
            }
        }
        for migration in ["on", "off"] {
            let params = format!("width=320,height=180,threads=8,migration={migration}");
            cells.push(Spec { unit: "ms", ..spec("raytrace", "raddle", workers, params, 1) });
        }
    }
    let (warm_up, measured) = times(size);
    cells.extend(counts.iter().map(|count| {
        let params = format!("warehouses={count},form=busy,warm_ms={warm_up},ms={measured}");
        Spec { every: size.every(), ..spec("warehouse", "floor", 1, params, *count) }
    }));
    cells.push(Spec { unit: "ms", ..spec("raytrace", "floor", 1, "width=320,height=180".into(), 1) });
    cells
}

fn hall(size: Size, workers: usize, count: u64, form: &Variant, migration: &str, tick_us: u64) -> Spec {
    let ((warm_up, measured), form) = (times(size), form.params);
    let params = format!(
        "warehouses={count},{form},migration={migration},tick_us={tick_us},warm_ms={warm_up},ms={measured}"
    );
    spec("warehouse", "raddle", workers, params, count)
}

fn spec(bench: &'static str, runtime: &'static str, workers: usize, params: String, checksum: u64) -> Spec {
    Spec { samples: 1, ..Spec::new(bench, runtime, workers, params, checksum) }
}

fn counts(run: &Run) -> Vec<u64> {
    let there = |count: &u64| run.cells.iter().any(|cell| cell.number("warehouses") as u64 == *count);
    WAREHOUSES.into_iter().filter(there).collect()
}

fn find<'a>(run: &'a Run, workers: usize, count: u64, form: &Variant, migration: &str) -> Option<&'a Cell> {
    at_tick(run, workers, count, form, migration, TICK_US)
}

fn at_tick<'a>(
    run: &'a Run,
    workers: usize,
    count: u64,
    form: &Variant,
    migration: &str,
    tick_us: u64,
) -> Option<&'a Cell> {
    let params = format!("warehouses={count},{},migration={migration},tick_us={tick_us}", form.params);
    run.find("warehouse", "raddle", workers, &params)
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for workers in run.workers().into_iter().filter(|workers| *workers > 1) {
        for form in &FORMS {
            let more = counts(run).into_iter().filter(|count| *count > workers as u64);
            let mut all: Vec<Claim> = more.flat_map(|count| of_form(run, workers, count, form)).collect();
            all.sort_by(|a, b| b.series.as_ref().map(|s| &s.0).cmp(&a.series.as_ref().map(|s| &s.0)));
            claims.extend(all);
        }
        let picture = |migration| run.find("raytrace", "raddle", workers, &format!("migration={migration}"));
        let what = format!("time of the picture with migration against without, on {workers} workers,");
        claims.push(Claim::ratio(what, picture("on"), picture("off"), ("", ""), 1.0));
    }
    claims
}

/// The requirements with more warehouses than workers.
fn of_form(run: &Run, workers: usize, count: u64, form: &Variant) -> Vec<Claim> {
    let of = |migration| find(run, workers, count, form, migration);
    let (Some(on), Some(off)) = (of("on"), of("off")) else { return Vec::new() };
    let claim = |what: &str, metric: &'static str, bound: f64| {
        let series = format!(
            "{what} with migration against without, by warehouses ({}) on {workers} workers,",
            form.name
        );
        let claim = Claim::ratio("", Some(on), Some(off), (metric, metric), bound);
        Claim::of_series(series, count.to_string(), claim)
    };
    let mut claims = Vec::new();
    if !count.is_multiple_of(workers as u64) {
        claims.push(claim("thread spread", "thread_spread", 1.0 / 3.0));
    }
    if form.name == "busy" {
        claims.push(claim("time of a transaction", "", 1.01));
    } else if !count.is_multiple_of(workers as u64) {
        // Throughput rises by the recovered idle time: it rises, and busy time yields as much as before.
        claims.push(claim("time of a transaction", "", 1.0));
        claims.push(claim("processor time of a transaction", "busy_ns", 1.01));
    }
    claims
}

/// The study's results on idleness, migrations and the tick.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for workers in run.workers().into_iter().filter(|workers| *workers > 1) {
        for form in &FORMS {
            for count in counts(run) {
                let of = |migration| find(run, workers, count, form, migration);
                remarks.extend(of("on").zip(of("off")).and_then(|(on, off)| {
                    let plural = if count == 1 { "" } else { "s" };
                    let what = format!("{count} warehouse{plural} ({}) on {workers} workers", form.name);
                    compared(&what, workers, on, off)
                }));
            }
        }
        remarks.extend(
            FORMS[..2].iter().flat_map(|form| [3, 5].map(|count| ticks(run, workers, count, form))).flatten(),
        );
        let spread = |migration| {
            run.find("raytrace", "raddle", workers, &format!("migration={migration}"))?
                .median("thread_spread")
        };
        if let (Some(on), Some(off)) = (spread("on"), spread("off")) {
            remarks.push(format!(
                "The ray tracer on {workers} workers: thread spread {on:.0} % with migration, {off:.0} % without."
            ));
        }
    }
    remarks
}

/// Idle incidents, their mean and their sum, with and without migration.
fn compared(what: &str, workers: usize, on: &Cell, off: &Cell) -> Option<String> {
    let change = |metric: &str| Some(100.0 * (on.median(metric)? / off.median(metric)? - 1.0));
    let average = |cell: &Cell| Some(cell.median("idle_ms")? * 1e3 / cell.median("incidents")?.max(1.0));
    // The study's threads slept for disks, and idled for 10 to 100 ms; these think for a tenth of that.
    let decades: Vec<String> =
        (0..workers).flat_map(|w| (3..8).map(move |decade| format!("w{w}_d{decade}"))).collect();
    let long = |cell: &Cell| decades.iter().filter_map(|name| cell.median(name)).sum::<f64>();
    let by_worker = |cell: &Cell| {
        let each = (0..workers).filter_map(|w| cell.median(&format!("w{w}_idle_ms")));
        each.map(figure).collect::<Vec<_>>().join(" and ")
    };
    Some(format!(
        "{what}: with migration throughput {:+.1} %, thread spread {:.1} % instead of {:.1} %, idle {} ms instead of \
         {} ms by worker, in {:.0} incidents of {:.0} us instead of {:.0} of {:.0} us, {:.0} of a millisecond or more \
         instead of {:.0}, {:.0} migrations instead of {:.0}.",
        change("throughput")?,
        on.median("thread_spread")?,
        off.median("thread_spread")?,
        by_worker(on),
        by_worker(off),
        on.median("incidents")?,
        average(on)?,
        off.median("incidents")?,
        average(off)?,
        long(on),
        long(off),
        on.median("migrations")?,
        off.median("migrations")?
    ))
}

/// The effect of the tick, with migration.
fn ticks(run: &Run, workers: usize, count: u64, form: &Variant) -> Option<String> {
    let of = |tick: &u64| {
        let cell = at_tick(run, workers, count, form, "on", *tick)?;
        Some(format!(
            "{} ms: {:.0} transactions a second, spread {:.1} %, {:.0} migrations",
            *tick as f64 / 1e3,
            cell.median("throughput")?,
            cell.median("thread_spread")?,
            cell.median("migrations")?
        ))
    };
    let all: Vec<String> = [OTHER_TICKS[0], TICK_US, OTHER_TICKS[1]].iter().filter_map(of).collect();
    let what = format!("{count} warehouses ({}) on {workers} workers, by tick", form.name);
    (all.len() > 1).then(|| format!("{what}: {}.", all.join("; ")))
}
