//! Owns: experiment 6: transactions, alone and by many more threads than cores.
//! May use: runs, figures.
//! Never: starting a program.

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, ChartLine, bars, chart};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "stm",
    title: "Transactions: short, contended, by many threads, beside an audit",
    story: "A counter, a transfer, 16 reads, a bank of 1024 accounts: by Raddle's transactions, by a mutex for each \
            variable, by the crates stm and fast-stm, and as gcc compiles them, on libitm and on Raddle's library for \
            it. Sets of numbers: by transactions, and under one mutex. McRT's transactional memory was measured on 16 \
            processors, with a thread on each; libitm falls from 15 to 0.9 million transactions a second from 1 to 16 \
            threads on two cores.",
    cells,
    claims,
    remarks: |_| Vec::new(),
    figures,
    afterwards: None,
};

const RUNTIMES: [(&str, &str); 7] = [
    ("raddle", "Raddle, processes"),
    ("light", "Raddle, light processes"),
    ("std", "a mutex for each"),
    ("stm", "stm"),
    ("fast-stm", "fast-stm"),
    ("libitm", "libitm"),
    ("itm", "gcc's on Raddle"),
];

/// What one thread does alone; its bound in nanoseconds.
const SHORT: [(&str, f64); 3] = [("counter", 30.0), ("transfer", 50.0), ("reads", 70.0)];

/// Sets of numbers, and how many operations of one sample.
const SETS: [(&str, u64); 3] = [("list", 20_000), ("table", 100_000), ("tree", 100_000)];

/// So many of a hundred operations change a set.
const CHANGES: [u64; 3] = [0, 20, 100];

/// Who has sets.
const SET_RUNTIMES: [(&str, &str); 2] = [("raddle", "Raddle, processes"), ("std", "one mutex")];

/// So many threads a core move money.
const A_CORE: [u64; 4] = [1, 8, 32, 64];

/// With so many threads a core it takes at most so much longer: 0.8 of the throughput.
const LONGER: f64 = 1.25;

/// An audit is over after so many nanoseconds, beside two that move money.
const AUDIT_NS: f64 = 10e6;

/// The transfer takes at most this part of what it takes in the crates.
const OF_CRATES: f64 = 0.1;

fn params(form: &str, threads: u64, rounds: u64) -> String {
    format!("form={form},threads={threads},rounds={rounds}")
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let rounds = if settings.size == Size::Quick { 51_200 } else { 204_800 };
    let mut cells = Vec::new();
    for (runtime, _) in RUNTIMES {
        let mut add =
            |workers, params, checksum| cells.push(Spec::new("stm", runtime, workers, params, checksum));
        for &workers in &settings.workers {
            if workers == 1 {
                SHORT.iter().for_each(|(form, _)| add(1, params(form, 1, rounds), rounds));
            }
            for a_core in A_CORE {
                let threads = a_core * workers as u64;
                let done = rounds / threads * threads;
                add(workers, params("bank", threads, rounds), done);
            }
            if workers == 2 {
                add(2, params("audit", 3, 300), 300);
            }
        }
    }
    cells.extend(set_cells(settings));
    cells
}

/// A thread a worker has the set in common with the others.
fn set_cells(settings: &Settings) -> Vec<Spec> {
    let mut cells = Vec::new();
    for (runtime, _) in SET_RUNTIMES {
        for &workers in &settings.workers {
            for ((form, rounds), changes) in SETS.into_iter().flat_map(|set| CHANGES.map(|some| (set, some)))
            {
                let done = rounds / workers as u64 * workers as u64;
                let params = format!("form={form},changes={changes},threads={workers},rounds={rounds}");
                cells.push(Spec::new("sets", runtime, workers, params, done));
            }
        }
    }
    cells
}

fn found<'a>(run: &'a Run, runtime: &str, workers: usize, form: &str, threads: u64) -> Option<&'a Cell> {
    run.find("stm", runtime, workers, &format!("form={form},threads={threads},"))
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (form, bound) in SHORT {
        let ours = found(run, "raddle", 1, form, 1);
        claims.push(Claim::of_series("one transaction, ns,", form, Claim::value("", ours, "", bound)));
        let theirs = found(run, "libitm", 1, form, 1);
        let ratio = Claim::ratio("", ours, theirs, ("", ""), 1.0);
        claims.push(Claim::of_series("as a part of libitm's,", form, ratio));
    }
    for other in ["stm", "fast-stm"] {
        let (ours, theirs) = (found(run, "raddle", 1, "transfer", 1), found(run, other, 1, "transfer", 1));
        let ratio = Claim::ratio("", ours, theirs, ("", ""), OF_CRATES);
        claims.push(Claim::of_series("a transfer, as a part of the crate's,", other, ratio));
    }
    for runtime in ["raddle", "itm"] {
        for workers in run.workers() {
            let of = |a_core| found(run, runtime, workers, "bank", a_core * workers as u64);
            for a_core in &A_CORE[1..] {
                let ratio = Claim::ratio("", of(*a_core), of(1), ("", ""), LONGER);
                let series = format!("{runtime}: a move by many threads a core, as a part of one a core,");
                claims.push(Claim::of_series(series, format!("{a_core}, {workers} workers"), ratio));
            }
        }
    }
    claims.push(Claim::value(
        "an audit beside two that move, ns,",
        found(run, "raddle", 2, "audit", 3),
        "",
        AUDIT_NS,
    ));
    claims
}

fn figures(run: &Run) -> Vec<Figure> {
    let height = |cell: Option<&Cell>| cell.and_then(|cell| cell.median("")).unwrap_or(0.0);
    let short: Vec<Bar> = RUNTIMES
        .iter()
        .enumerate()
        .map(|(colour, (runtime, title))| Bar {
            name: (*title).into(),
            heights: SHORT.iter().map(|(form, _)| height(found(run, runtime, 1, form, 1))).collect(),
            colour,
        })
        .collect();
    let names: Vec<&str> = SHORT.iter().map(|(form, _)| *form).collect();
    let mut figures =
        vec![("short", bars("One transaction, one thread", Axis::log("time (ns)"), &names, &short))];
    if let Some(&workers) = run.workers().last() {
        let line = |(colour, (runtime, title)): (usize, &(&str, &str))| ChartLine {
            name: (*title).into(),
            points: A_CORE
                .iter()
                .filter_map(|a_core| {
                    let cell = found(run, runtime, workers, "bank", a_core * workers as u64)?;
                    Some((*a_core as f64, cell.median("")?))
                })
                .collect(),
            colour,
            dashed: false,
        };
        let lines: Vec<_> = RUNTIMES.iter().enumerate().map(line).collect();
        let title = format!("Moves between 1024 accounts, {workers} workers");
        let (x, y) = (Axis::log2("threads a core"), Axis::log("time of a move (ns)"));
        figures.push(("bank", chart(&title, x, y, &lines)));
        figures.push(("sets", sets(run, workers)));
    }
    figures
}

/// What an operation of a set takes, by how many change it.
fn sets(run: &Run, workers: usize) -> String {
    let kinds: Vec<_> = SETS.iter().flat_map(|(form, _)| CHANGES.map(|changes| (form, changes))).collect();
    let height = |runtime: &str, form: &str, changes: u64| {
        let cell = run.find("sets", runtime, workers, &format!("form={form},changes={changes},"));
        cell.and_then(|cell| cell.median("")).unwrap_or(0.0)
    };
    let bar = |(colour, (runtime, title)): (usize, &(&str, &str))| Bar {
        name: (*title).into(),
        heights: kinds.iter().map(|(form, changes)| height(runtime, form, *changes)).collect(),
        colour,
    };
    let all: Vec<Bar> = SET_RUNTIMES.iter().enumerate().map(bar).collect();
    let names: Vec<String> = kinds.iter().map(|(form, changes)| format!("{form}, {changes} %")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let title = format!("Sets of numbers, so many in 100 change them, {workers} workers");
    bars(&title, Axis::log("time of an operation (ns)"), &names, &all)
}
