//! Owns: experiment 2: ThreadScope's thread ring.
//! May use: runs, figures.
//! Never: starting a program.

use super::{Experiment, Figure, Settings, Size, Spec, triangle};
use crate::claim::Claim;
use crate::figure::{Axis, Line, chart};
use crate::run::Run;

pub const EXPERIMENT: Experiment = Experiment {
    name: "ring",
    title: "Ring: ThreadScope's thread ring",
    story: "A line of 2000 threads; each takes a number from its left, adds 1, hands it to its right. The slots \
            between them hold one number (as an MVar), or none (rendezvous). Found then with GHC: 500 messages took \
            0.21 s on one core, 0.38 s on two, and 0.21 s again when the threads were placed by hand in two segments.",
    cells,
    claims,
    remarks: |_| Vec::new(),
    figures,
};

const STAGES: u64 = 2000;

/// Messages up to which a runtime is measured at the full size: a rival's 100000 take half a minute each.
fn messages(size: Size, runtime: &str) -> &'static [u64] {
    match (size, runtime) {
        (Size::Full, "raddle") => &[1, 500, 2000, 100_000],
        (Size::Quick, _) => &[1, 500],
        _ => &[1, 500, 2000],
    }
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let mut cells = Vec::new();
    let rivals = [("go", "slots=0"), ("go", "slots=1"), ("ghc", "slots=1"), ("erlang", "slots=1")];
    for (runtime, slots) in [("raddle", "slots=0"), ("raddle", "slots=1")].into_iter().chain(rivals) {
        for &workers in &settings.workers {
            for &count in messages(settings.size, runtime) {
                cells.push(cell(runtime, workers, count, 0, slots));
                if workers == 2 && ["raddle", "ghc"].contains(&runtime) {
                    cells.push(cell(runtime, workers, count, 2, slots));
                }
            }
        }
    }
    cells
}

fn cell(runtime: &'static str, workers: usize, messages: u64, segments: u64, slots: &str) -> Spec {
    let params = format!("stages={STAGES},messages={messages},segments={segments},{slots}");
    let spec = Spec::new("line", runtime, workers, params, messages * STAGES + triangle(messages));
    Spec { samples: 1, ..spec }
}

fn at(messages: u64, segments: u64, slots: &str) -> String {
    format!("messages={messages},segments={segments},{slots}")
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (slots, name) in [("slots=0", "rendezvous"), ("slots=1", "slots of one")] {
        let one = |count| run.find("line", "raddle", 1, &at(count, 0, slots));
        for count in [1, 500, 2000, 100_000] {
            if one(count).is_some() {
                let two = run.find("line", "raddle", 2, &at(count, 0, slots));
                let what = format!("T2/T1 without placement, {count} messages, {name},");
                claims.push(Claim::ratio(what, two, one(count), ("", ""), 1.05));
            }
        }
        if one(100_000).is_some() {
            let placed = run.find("line", "raddle", 2, &at(100_000, 2, slots));
            let what = format!("T2/T1 with two segments placed, 100000 messages, {name},");
            claims.push(Claim::ratio(what, placed, one(100_000), ("", ""), 0.65));
        }
    }
    claims
}

fn figures(run: &Run) -> Vec<Figure> {
    let mut lines = Vec::new();
    let forms = [
        ("raddle", "slots=0", "Raddle, rendezvous"),
        ("raddle", "slots=1", "Raddle, slots of one"),
        ("go", "slots=0", "Go, rendezvous"),
        ("go", "slots=1", "Go, slots of one"),
        ("ghc", "slots=1", "GHC, MVars"),
        ("erlang", "slots=1", "Erlang (sends do not wait)"),
    ];
    for (colour, (runtime, slots, name)) in forms.into_iter().enumerate() {
        for workers in run.workers() {
            for (segments, placed) in [(0, ""), (2, ", placed")] {
                let point = |count| {
                    let cell = run.find("line", runtime, workers, &at(count, segments, slots))?;
                    Some((count as f64, cell.median("")? * (count * STAGES) as f64 / 1e6))
                };
                let points: Vec<_> = [1, 500, 2000, 100_000].into_iter().filter_map(point).collect();
                let name = format!("{name}, {workers}{placed}");
                // Only the programs of Raddle and of GHC place anything.
                let colour = if segments == 2 { [6, 7, 2, 3, 1][colour.min(4)] } else { colour };
                lines.push(Line { name, points, colour, dashed: workers == 1 });
            }
        }
    }
    let (x, y) = (Axis::log("messages"), Axis::log("time (ms)"));
    vec![("time", chart("Thread ring: 2000 threads in a line, by number of workers", x, y, &lines))]
}
