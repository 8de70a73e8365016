//! Owns: experiment 2: ThreadScope's thread ring.
//! May use: runs, figures.
//! Never: starting a program.

use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec, triangle};
use crate::claim::Claim;
use crate::diagnosis;
use crate::figure::{Axis, ChartLine, chart};
use crate::run::Run;

pub const EXPERIMENT: Experiment = Experiment {
    name: "ring",
    title: "Ring: ThreadScope's thread ring",
    story: "A line of 2000 threads; each takes a number from its left, adds 1, hands it to its right. The slots \
            between them hold one number (as an MVar), or none (rendezvous). Found then with GHC: 500 messages took \
            0.21 s on one core, 0.38 s on two, and 0.21 s again when the threads were placed by hand in two segments.",
    cells,
    claims,
    remarks,
    figures,
    afterwards: Some(diagnosis::of_ring),
};

const STAGES: u64 = 2000;

/// A rival takes half a minute for 100000 messages, and so does Raddle through slots.
fn messages(size: Size, runtime: &str) -> &'static [u64] {
    match (size, runtime) {
        (Size::Quick, _) => &[1, 500],
        (_, "raddle") => &[1, 500, 2000, 100_000],
        _ => &[1, 500, 2000],
    }
}

/// No placement; two contiguous segments; each thread on another worker than its neighbours.
const PLACEMENTS: [(u64, &str); 3] = [(0, ""), (2, ", two segments"), (STAGES, ", scattered")];

fn cells(settings: &Settings) -> Vec<Spec> {
    let (size, mut cells) = (settings.size, Vec::new());
    let rivals = [
        ("light", "slots=0"),
        ("occam", "slots=0"),
        ("occam-native", "slots=0"),
        ("go", "slots=0"),
        ("go", "slots=1"),
        ("ghc", "slots=1"),
        ("erlang", "slots=1"),
    ];
    for (runtime, slots) in [("raddle", "slots=0"), ("raddle", "slots=1")].into_iter().chain(rivals) {
        for &workers in &settings.workers {
            for &count in messages(size, runtime) {
                let looked_at = runtime != "raddle" || (count == 100_000 && slots == "slots=1");
                let every = if looked_at { size.every() } else { 1 };
                for (segments, _) in PLACEMENTS {
                    let placed = workers == 2 && ["raddle", "ghc"].contains(&runtime);
                    let scattered = placed && (runtime, slots, count) == ("raddle", "slots=0", 500);
                    if segments == 0 || (segments == 2 && placed) || scattered {
                        cells.push(Spec { every, ..cell(runtime, workers, count, segments, slots) });
                    }
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
                let claim = Claim::ratio("", two, one(count), ("", ""), 1.05);
                let place = format!("{count} message{}", if count == 1 { "" } else { "s" });
                claims.push(Claim::of_series(format!("T2/T1 without placement, {name},"), place, claim));
            }
        }
        if one(100_000).is_some() {
            let placed = run.find("line", "raddle", 2, &at(100_000, 2, slots));
            let what = format!("T2/T1 with two segments placed, 100000 messages, {name},");
            claims.push(Claim::ratio(what, placed, one(100_000), ("", ""), 0.65));
        }
    }
    for count in [1, 500, 2000] {
        let of = |workers| run.find("line", "occam-native", workers, &at(count, 0, "slots=0"));
        if of(1).is_some() {
            let place = format!("{count} message{}", if count == 1 { "" } else { "s" });
            let claim = Claim::ratio("", of(2), of(1), ("", ""), 1.05);
            claims.push(Claim::of_series("T2/T1, occam native,".to_owned(), place, claim));
        }
    }
    claims
}

/// Two segments where overlap is possible, and the rivals; the requirement of the case study is a claim.
fn remarks(run: &Run) -> Vec<String> {
    let mut remarks = Vec::new();
    for (slots, name) in [("slots=0", "rendezvous"), ("slots=1", "slots of one")] {
        let of = |workers, segments| {
            let cell = run.find("line", "raddle", workers, &at(2000, segments, slots))?;
            Some(cell.median("")? * (2000 * STAGES) as f64 / 1e6)
        };
        if let (Some(one), Some(two), Some(placed)) = (of(1, 0), of(2, 0), of(2, 2)) {
            remarks.push(format!(
                "2000 messages, {name}: {} ms on one worker, {} ms on two, {} ms on two with segments placed ({} of \
                 one worker).",
                figure(one),
                figure(two),
                figure(placed),
                figure(placed / one)
            ));
        }
    }
    remarks.push(
        "Argobots: not measured, no program for it is written (Debian has no package of it).".to_owned(),
    );
    remarks
}

fn figures(run: &Run) -> Vec<Figure> {
    let raddle = [("raddle", "slots=0", "Raddle, rendezvous"), ("raddle", "slots=1", "Raddle, slots of one")];
    let rivals = [
        ("raddle", "slots=1", "Raddle, slots of one"),
        ("light", "slots=0", "Raddle, light processes, rendezvous"),
        ("occam", "slots=0", "occam on the VM, rendezvous"),
        ("occam-native", "slots=0", "occam native, rendezvous"),
        ("go", "slots=0", "Go, rendezvous"),
        ("go", "slots=1", "Go, slots of one"),
        ("ghc", "slots=1", "GHC, MVars"),
        ("erlang", "slots=1", "Erlang (sends do not wait)"),
    ];
    let (x, y) = (|| Axis::log("messages"), || Axis::log2("time of a communication (ns)"));
    let placed = lines(run, &raddle, &PLACEMENTS, 3);
    let beside = lines(run, &rivals, &PLACEMENTS[..1], 1);
    vec![
        (
            "placement",
            chart("Thread ring on Raddle: placed and not, by number of workers", x(), y(), &placed),
        ),
        (
            "rivals",
            chart("Thread ring beside rivals: nothing placed, by number of workers", x(), y(), &beside),
        ),
    ]
}

/// Time of a communication against messages, a line for each form, number of workers and placement.
fn lines(run: &Run, forms: &[(&str, &str, &str)], placements: &[(u64, &str)], step: usize) -> Vec<ChartLine> {
    let mut lines = Vec::new();
    for (form, (runtime, slots, name)) in forms.iter().enumerate() {
        for workers in run.workers() {
            for (place, (segments, placed)) in placements.iter().enumerate() {
                let point = |count| {
                    let cell = run.find("line", runtime, workers, &at(count, *segments, slots))?;
                    Some((count as f64, cell.median("")?))
                };
                let points: Vec<_> = [1, 500, 2000, 100_000].into_iter().filter_map(point).collect();
                let name = format!("{name}, {workers}{placed}");
                lines.push(ChartLine { name, points, colour: form * step + place, dashed: workers == 1 });
            }
        }
    }
    lines
}
