//! Owns: experiment 7: allocators by many more threads than cores, and with threads that are stopped in them.
//! May use: runs, figures.
//! Never: starting a program.

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, ChartLine, bars, chart};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "alloc",
    title: "Allocators: threads that are stopped, many threads a core, memory",
    story: "One program in C, with Raddle's allocator, those that are installed, and the C library's. Threads are \
            stopped for ever at random instructions of malloc and free, and others have to go on; 1 to 64 threads a \
            core exchange blocks, or live and hand their blocks to an heir; what is resident then. McRT's memory \
            manager was to be non-blocking, and to scale with large oversubscription.",
    cells,
    claims,
    remarks: |_| Vec::new(),
    figures,
    afterwards: None,
};

const RUNTIMES: [(&str, &str); 7] = [
    ("alloc", "Raddle"),
    ("mimalloc", "mimalloc"),
    ("snmalloc", "snmalloc"),
    ("rpmalloc", "rpmalloc"),
    ("jemalloc", "jemalloc"),
    ("tcmalloc", "tcmalloc"),
    ("glibc", "glibc"),
];

/// Of which blocks, and how many threads are stopped.
const FREEZES: [(&str, u64); 4] = [("small", 8), ("mixed", 8), ("huge", 8), ("mixed", 64)];
const TRIALS: u64 = 5;

const A_CORE: [u64; 4] = [1, 4, 16, 64];
const MANY: [&str; 2] = ["exchange", "generations"];

/// What is measured of one call or start, by how many threads, and what a unit of the picture is, in nanoseconds.
const CALLS: [(&str, u64, f64); 3] = [("pair", 1, 1.0), ("consumer", 2, 1.0), ("start", 1, 1000.0)];

/// With many threads a core it takes at most so much longer than with one: 0.9 of the throughput.
const LONGER: f64 = 1.0 / 0.9;
/// A pair takes at most so much of what it takes with others.
const OF_OTHERS: f64 = 1.15;
/// The start of a thread takes at most so much of what it takes with the C library's.
const START: f64 = 1.1;
/// So much more may be resident than with others.
const MEMORY: f64 = 1.1;

fn freeze(kind: &str, victims: u64) -> String {
    format!("measure=freeze,kind={kind},victims={victims},times={TRIALS}")
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let times = if settings.size == Size::Quick { 1_000_000 } else { 4_000_000 };
    let Some(&workers) = settings.workers.last() else { return Vec::new() };
    let mut cells = Vec::new();
    for (runtime, _) in RUNTIMES {
        let mut add = |params: String, checksum, unit, samples| {
            let spec = Spec::new("malloc", runtime, workers, params, checksum);
            cells.push(Spec { unit, samples, ..spec });
        };
        for (kind, victims) in FREEZES {
            add(freeze(kind, victims), TRIALS, "frozen", 1);
        }
        let mut timed = |measure: &str, threads: u64, times: u64, unit, samples| {
            let params = format!("measure={measure},threads={threads},times={times}");
            add(params, times / threads * threads, unit, samples);
        };
        timed("pair", 1, 10 * times, "ns", 3);
        timed("start", 1, times / 200, "ns", 3);
        timed("consumer", 2, times, "ns", 3);
        for a_core in A_CORE {
            MANY.iter().for_each(|measure| timed(measure, a_core * workers as u64, times, "ns", 1));
            // What a second look finds in memory is the first one's.
            timed("resident", a_core * workers as u64, times, "bytes", 1);
        }
    }
    cells
}

fn found<'a>(run: &'a Run, runtime: &str, params: &str) -> Option<&'a Cell> {
    run.workers().into_iter().find_map(|workers| run.find("malloc", runtime, workers, params))
}

fn timed<'a>(run: &'a Run, runtime: &str, measure: &str, threads: u64) -> Option<&'a Cell> {
    found(run, runtime, &format!("measure={measure},threads={threads},"))
}

fn cores(run: &Run) -> u64 {
    run.workers().last().map_or(1, |&workers| workers as u64)
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (kind, victims) in FREEZES {
        // Not one of them.
        let claim = Claim::value("", found(run, "alloc", &freeze(kind, victims)), "", 0.0);
        let series = format!("others frozen, trials of {TRIALS},");
        claims.push(Claim::of_series(series, format!("{victims} stopped, {kind} blocks"), claim));
    }
    for (other, title) in &RUNTIMES[1..4] {
        let ratio = Claim::ratio(
            "",
            timed(run, "alloc", "pair", 1),
            timed(run, other, "pair", 1),
            ("", ""),
            OF_OTHERS,
        );
        claims.push(Claim::of_series("64 bytes allocated and freed, as a part of a rival's,", *title, ratio));
    }
    let ratio =
        Claim::ratio("", timed(run, "alloc", "start", 1), timed(run, "glibc", "start", 1), ("", ""), START);
    claims.push(Claim::of_series(
        "a thread's start, first block and end, as a part of a rival's,",
        "glibc",
        ratio,
    ));
    for (other, title) in &RUNTIMES[1..] {
        let of = |runtime| timed(run, runtime, "consumer", 2);
        let ratio = Claim::ratio("", of("alloc"), of(other), ("", ""), 1.0);
        claims.push(Claim::of_series(
            "blocks that another thread frees, as a part of a rival's,",
            *title,
            ratio,
        ));
    }
    let cores = cores(run);
    for measure in MANY {
        for a_core in &A_CORE[1..] {
            let of = |a_core: u64| timed(run, "alloc", measure, a_core * cores);
            let ratio = Claim::ratio("", of(*a_core), of(1), ("", ""), LONGER);
            let series = format!("{measure} by many threads a core, as a part of one a core,");
            claims.push(Claim::of_series(series, a_core.to_string(), ratio));
        }
    }
    let resident = |runtime| timed(run, runtime, "resident", cores);
    let ratio = Claim::ratio("", resident("alloc"), resident("mimalloc"), ("", ""), MEMORY);
    claims.push(Claim::of_series("resident, as a part of a rival's,", "mimalloc", ratio));
    claims
}

fn figures(run: &Run) -> Vec<Figure> {
    let cores = cores(run);
    let median = |cell: Option<&Cell>| cell.and_then(|cell| cell.median(""));
    let of_all = |heights: &dyn Fn(&str) -> Vec<f64>| -> Vec<Bar> {
        let bar = |(colour, (runtime, title)): (usize, &(&str, &str))| Bar {
            name: (*title).into(),
            heights: heights(runtime),
            colour,
        };
        RUNTIMES.iter().enumerate().map(bar).collect()
    };
    let frozen = |runtime: &str| {
        let height = |(kind, victims): &(&str, u64)| median(found(run, runtime, &freeze(kind, *victims)));
        FREEZES.iter().map(|one| height(one).unwrap_or(0.0)).collect()
    };
    let names = FREEZES.map(|(kind, victims)| format!("{victims} {kind}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let axis = Axis::linear("trials in which others froze");
    let title = format!("Threads stopped in malloc: trials of {TRIALS} that freeze others");
    let mut figures = vec![("freeze", bars(&title, axis, &names, &of_all(&frozen)))];
    let calls = |runtime: &str| {
        let one = |(measure, threads, scale): &(&str, u64, f64)| {
            median(timed(run, runtime, measure, *threads)).unwrap_or(0.0) / scale
        };
        CALLS.iter().map(one).collect()
    };
    let names = ["64 bytes", "another frees", "a thread (us)"];
    let title =
        "A block allocated and freed, by one thread or two; a thread that starts, has a block, and ends";
    figures.push(("calls", bars(title, Axis::linear("time (ns)"), &names, &of_all(&calls))));
    let lines = |measure: &str| -> Vec<ChartLine> {
        let point = |runtime: &str, a_core: u64| {
            Some((a_core as f64, median(timed(run, runtime, measure, a_core * cores))?))
        };
        let line = |(colour, (runtime, title)): (usize, &(&str, &str))| ChartLine {
            name: (*title).into(),
            points: A_CORE.iter().filter_map(|&a_core| point(runtime, a_core)).collect(),
            colour,
            dashed: false,
        };
        RUNTIMES.iter().enumerate().map(line).collect()
    };
    for (measure, title, y) in [
        ("exchange", "Blocks exchanged between threads", Axis::log("time of an exchange (ns)")),
        (
            "generations",
            "Threads that live and leave their blocks to an heir",
            Axis::log("time of a block (ns)"),
        ),
        ("resident", "Resident after an exchange of 4096 blocks", Axis::log("bytes")),
    ] {
        figures.push((measure, chart(title, Axis::log2("threads a core"), y, &lines(measure))));
    }
    figures
}
