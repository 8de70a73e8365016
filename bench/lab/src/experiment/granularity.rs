//! Owns: experiment 1: the Transterpreter's replicated PAR.
//! May use: runs, figures.
//! Never: starting a program.
//!
//! Figures are per round (the updates, and one communication in a PAR of two). From a granularity of 10000 on a packet
//! does fewer rounds (occam from 1000 on), so that a sample stays below seconds: the figure per round does not depend
//! on how many there are. OS threads do 20 rounds.

mod figures;

use std::collections::BTreeSet;

use bench_runner::runtimes;
use raddle_measure::table::figure;

use super::{Experiment, Settings, Size, Spec, cores, triangle};
use crate::claim::Claim;
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
    figures: figures::figures,
    afterwards: None,
};

const PACKETS: u64 = 64;

/// The forms in which Raddle runs it: runtime, parameter, name.
const FORMS: [(&str, &str, &str); 5] = [
    ("raddle", "kind=process", "processes"),
    ("light", "kind=process", "light processes"),
    ("raddle", "kind=thread", "threads"),
    ("occam", "kind=process", "occam on the VM"),
    ("occam-native", "kind=process", "occam native"),
];

const RIVALS: [&str; 4] = ["go", "java", "boost", "std"];

/// Multiples of the number of cores that are also measured as numbers of workers.
const OVERSUBSCRIBED: [usize; 2] = [2, 4];

fn overgrains(size: Size) -> &'static [u64] {
    if size == Size::Quick { &[1, 1000] } else { &[1, 100, 1000, 10_000] }
}

/// Other numbers of packets, and their rounds.
const SWEEP: [(u64, u64); 4] = [(2, 1000), (8, 1000), (512, 1000), (64, 10)];

fn grains(size: Size, runtime: &str) -> &'static [u64] {
    match (size, runtime) {
        (Size::Quick, _) => &[1, 10, 100, 1000],
        // Java's compiler needs two seconds of warm-up in each process.
        (Size::Usual, "java") => &[1, 100, 1000, 10_000],
        _ => &[1, 5, 10, 50, 100, 1000, 10_000, 100_000],
    }
}

fn rounds(runtime: &str, grain: u64) -> u64 {
    match (runtime, grain) {
        ("std" | "occam", 100_000..) => 2,
        ("std", _) => 20,
        ("occam", 10_000..) | (_, 100_000..) => 10,
        ("occam", 1000..) | (_, 10_000..) => 100,
        _ => 1000,
    }
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let (size, mut cells) = (settings.size, Vec::new());
    for (runtime, kind, _) in FORMS {
        for &workers in &settings.workers {
            cells.extend(grains(size, runtime).iter().map(|&grain| cell(runtime, workers, grain, kind)));
        }
    }
    for runtime in RIVALS {
        let of =
            |(grain, workers)| Spec { every: size.every(), ..cell(runtime, workers, grain, "kind=process") };
        let each =
            grains(size, runtime).iter().flat_map(|grain| settings.workers.iter().map(|w| (*grain, *w)));
        cells.extend(each.map(of));
    }
    cells.extend(grains(size, "floor").iter().map(|&grain| cell("floor", 1, grain, "kind=process")));
    for factor in OVERSUBSCRIBED {
        for (runtime, kind, _) in FORMS {
            cells.extend(overgrains(size).iter().map(|&grain| cell(runtime, factor * cores(), grain, kind)));
        }
    }
    if size != Size::Quick {
        for (packets, per_packet) in SWEEP {
            for &workers in &settings.workers {
                let of = |grain| spec("raddle", workers, packets, per_packet, grain, "kind=process");
                cells.extend([1, 1000].map(of));
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

/// The cell with the usual 64 packets, and as many rounds as its runtime does at this granularity.
fn find<'a>(run: &'a Run, runtime: &str, workers: usize, grain: u64, kind: &str) -> Option<&'a Cell> {
    let params = format!("{},rounds={}", at(grain, kind), rounds(runtime, grain));
    run.find("granularity", runtime, workers, &params)
}

/// The granularities of a run, in order.
fn measured(run: &Run) -> Vec<u64> {
    let all: BTreeSet<u64> = run.cells.iter().map(|cell| cell.number("grain") as u64).collect();
    all.into_iter().collect()
}

/// What is required of T2/T1; it also says that two workers are never slower than one.
fn bound(grain: u64) -> f64 {
    if grain >= 1000 { 0.53 } else { 0.6 }
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    let none = ("", "");
    for (runtime, kind, name) in FORMS {
        for grain in measured(run) {
            let of = |workers| find(run, runtime, workers, grain, kind);
            let claim = Claim::ratio("", of(2), of(1), none, bound(grain));
            let series = format!("T2/T1 by granularity, {name},");
            claims.push(Claim::of_series(series, grain.to_string(), claim));
        }
    }
    for workers in run.workers().into_iter().filter(|workers| *workers <= cores()) {
        for grain in measured(run) {
            let of = |runtime| find(run, runtime, workers, grain, "kind=process");
            let (native, go) = (of("occam-native"), of("go"));
            if native.is_some() && go.is_some() {
                let plural = if workers == 1 { "" } else { "s" };
                let series = format!("occam native against Go by granularity, on {workers} worker{plural},");
                let claim = Claim::ratio("", native, go, none, 0.5);
                claims.push(Claim::of_series(series, grain.to_string(), claim));
            }
        }
    }
    for grain in [1, 1000] {
        for (packets, rounds) in SWEEP {
            let params = format!("packets={packets},rounds={rounds},grain={grain},kind=process");
            let of = |workers| run.find("granularity", "raddle", workers, &params);
            if of(1).is_some() {
                let claim = Claim::ratio("", of(2), of(1), none, bound(grain));
                let place = format!("{packets} packets of {rounds} rounds");
                let series = format!("T2/T1, processes, swept at granularity {grain},");
                claims.push(Claim::of_series(series, place, claim));
            }
        }
    }
    for (runtime, kind, name) in FORMS {
        for factor in OVERSUBSCRIBED {
            for grain in measured(run) {
                let over = find(run, runtime, factor * cores(), grain, kind);
                let at_cores = find(run, runtime, cores(), grain, kind);
                let series = format!(
                    "{factor} times as many workers as cores against as many, by granularity, {name},"
                );
                let claim = Claim::ratio("", over, at_cores, none, 1.1);
                if over.is_some() && at_cores.is_some() {
                    claims.push(Claim::of_series(series, grain.to_string(), claim));
                }
            }
        }
    }
    claims
}

/// The granularity, in nanoseconds of work, at which half of the time is work (METG), for each form and each rival; and
/// what is missing.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for (runtime, kind, name) in all_forms() {
        let of = |workers| Some((workers, metg(run, runtime, kind, workers)?));
        let found: Vec<_> =
            run.workers().into_iter().filter(|workers| *workers <= cores()).filter_map(of).collect();
        let said = found.iter().map(|(workers, ns)| {
            let plural = if *workers == 1 { "" } else { "s" };
            format!("{} ns of work a round on {workers} worker{plural}", figure(*ns))
        });
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            remarks.push(format!("METG (half of the time is work), {name}: {}.", said.join(", ")));
        }
    }
    remarks
}

/// Raddle's forms and the rivals.
fn all_forms() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let rivals = RIVALS.into_iter().filter_map(runtimes::of).map(|of| (of.name, "kind=process", of.title));
    FORMS.into_iter().chain(rivals)
}

/// The work of a round alone: that of a loop, and for the VM its own, as its longest rounds show it.
fn work_ns(run: &Run, runtime: &str, grain: u64) -> Option<f64> {
    if runtime != "occam" {
        return find(run, "floor", 1, grain, "kind=process")?.median("");
    }
    let longest = *measured(run).last()?;
    Some(find(run, runtime, 1, longest, "kind=process")?.median("")? * grain as f64 / longest as f64)
}

/// Interpolates between the last granularity with less than half and the first with more, linearly in the logarithms.
fn metg(run: &Run, runtime: &str, kind: &str, workers: usize) -> Option<f64> {
    let efficiency = |grain: u64| {
        let floor = work_ns(run, runtime, grain)?;
        let time = find(run, runtime, workers, grain, kind)?.median("")?;
        Some((floor, floor / (time * workers.min(cores()) as f64)))
    };
    let points: Vec<(f64, f64)> = measured(run).into_iter().filter_map(efficiency).collect();
    let reached = points.iter().position(|(_, efficiency)| *efficiency >= 0.5)?;
    let (ns, high) = points[reached];
    let Some(&(before, low)) = reached.checked_sub(1).and_then(|at| points.get(at)) else { return Some(ns) };
    let share = (0.5 - low) / (high - low);
    Some((before.ln() + share * (ns.ln() - before.ln())).exp())
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
