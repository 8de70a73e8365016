//! Owns: experiment 8: messages that move while ranks compute.
//! May use: runs, figures.
//! Never: starting a program.
//!
//! Two ranks with a worker each. On a link that is shaped between two network namespaces there is the C program that
//! polls by hand; where those may not be made, its cells fail and say so, and those of the emulated link stay.

use raddle_measure::table::figure;

use super::{Experiment, Figure, Settings, Size, Spec};
use crate::claim::Claim;
use crate::figure::{Axis, Bar, bars};
use crate::run::{Cell, Run};

pub const EXPERIMENT: Experiment = Experiment {
    name: "proxy",
    title: "Proxy: messages that move while ranks compute",
    story: "RedBlack3D and SUMMA over two ranks of MPI, a worker each, with a link of 1 Gbit/s between them: faces and \
            panels exchanged before computing, posted early, moved by the workers between tasks, by a watchdog, and by \
            what mode auto finds; beside them a C program that polls by hand. The thesis of 2003 had a proxy thread on \
            a processor of each node: it hid 72 to 85 % of the communication, and took 0.86 to 1.04 of the time.",
    cells,
    claims,
    remarks,
    figures,
    afterwards: None,
};

const MPIS: [&str; 2] = ["openmpi", "mpich"];
const MODELS: [&str; 5] = ["sync", "async", "shared", "watched", "auto"];
const RIVALS: [&str; 2] = ["c-sync", "c-polled"];

/// A program, its size, and the checksum that all models, MPIs and the C program have.
struct Work {
    title: &'static str,
    params: &'static str,
    checksum: u64,
    /// What is sent at once, so that a proxy can gain something.
    is_large: bool,
}

const WORKS: [Work; 4] = [
    Work {
        title: "faces of 2 MB",
        params: "app=redblack3d,x=512,y=512,z=64,iterations=24",
        checksum: 0xf38e_7dad_9139_55ae,
        is_large: true,
    },
    Work {
        title: "faces of 512 KB",
        params: "app=redblack3d,x=256,y=256,z=128,iterations=40",
        checksum: 0x2a42_c98d_ac0b_0e7c,
        is_large: true,
    },
    Work {
        title: "faces of 16 KB",
        params: "app=redblack3d,x=45,y=45,z=2048,iterations=80",
        checksum: 0x77bc_878f_f012_60a1,
        is_large: false,
    },
    Work {
        title: "panels of 2 MB",
        params: "app=summa,x=2048,y=352,z=2048,panel=128",
        checksum: 0x13c4_9d74_3312_3d0f,
        is_large: true,
    },
];

fn is_of_c(work: &Work) -> bool {
    work.params.starts_with("app=redblack3d")
}

fn params(work: &Work, model: &str, mpi: &str, link: &str) -> String {
    format!("{},model={model},mpi={mpi},link={link}", work.params)
}

fn cells(settings: &Settings) -> Vec<Spec> {
    let mut cells = Vec::new();
    for (at, work) in WORKS.iter().enumerate() {
        for mpi in MPIS {
            for link in ["emulated", "shaped"] {
                let is_brief = settings.size == Size::Quick && (at % 2 == 1 || link == "shaped");
                if is_brief {
                    continue;
                }
                let rivals = RIVALS.iter().filter(|_| link == "shaped" && is_of_c(work));
                for model in MODELS.iter().chain(rivals) {
                    let params = params(work, model, mpi, link);
                    let spec = Spec::new("proxy", "raddle", 1, params, work.checksum);
                    cells.push(Spec { samples: 1, ..spec });
                }
            }
        }
    }
    cells
}

fn found<'a>(run: &'a Run, work: &Work, model: &str, mpi: &str, link: &str) -> Option<&'a Cell> {
    run.find("proxy", "raddle", 1, &params(work, model, mpi, link))
}

/// All places in which something was measured.
fn places(run: &Run) -> Vec<(&'static Work, &'static str, &'static str)> {
    let all = WORKS.iter().flat_map(|work| MPIS.map(|mpi| (work, mpi)));
    let all = all.flat_map(|(work, mpi)| ["emulated", "shaped"].map(|link| (work, mpi, link)));
    all.filter(|(work, mpi, link)| found(run, work, "sync", mpi, link).is_some()).collect()
}

fn claims(run: &Run) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (work, mpi, link) in places(run) {
        let of = |model| found(run, work, model, mpi, link);
        let place = format!("{}, {mpi}, {link}", work.title);
        let mut add = |series: &str, over, under, bound| {
            claims.push(Claim::of_series(
                series,
                place.clone(),
                Claim::ratio("", of(over), of(under), ("", ""), bound),
            ));
        };
        if work.is_large {
            add("shared, as a part of sync,", "shared", "sync", if is_of_c(work) { 0.62 } else { 0.65 });
            add("auto, as a part of shared,", "auto", "shared", 1.05);
        } else {
            add("auto, as a part of async,", "auto", "async", 1.03);
        }
        if link == "shaped" && is_of_c(work) {
            add("shared, as a part of the C program that polls,", "shared", "c-polled", 1.05);
        }
    }
    claims
}

/// What a run that hides nothing predicts for workers that look between tasks: what is not waited for, or the wire.
fn predicted(cell: &Cell) -> Option<f64> {
    let (total, wait) = (cell.median("total_ns")?, cell.median("wait_ns")?);
    Some((total - wait).max(wait))
}

fn remarks(run: &Run) -> Vec<String> {
    let mut all: Vec<String> = places(run)
        .into_iter()
        .filter_map(|(work, mpi, link)| {
            let (sync, shared) = (found(run, work, "sync", mpi, link)?, found(run, work, "shared", mpi, link)?);
            let ms = |ns: f64| figure(ns * 1e-6);
            Some(format!(
                "{}, {mpi}, {link}: of {} ms in sync {} are waited for; predicted {} ms, shared takes {}, of which {} \
                 waiting, {:.0} % hidden, the longest gap between two looks {} ms, the proxy's processor time {} ms.",
                work.title,
                ms(sync.median("")?),
                ms(sync.median("wait_ns")?),
                ms(predicted(sync)?),
                ms(shared.median("")?),
                ms(shared.median("wait_ns")?),
                100.0 * shared.median("hidden")?,
                ms(shared.median("gap_ns")?),
                ms(shared.median("proxy_ns")?),
            ))
        })
        .collect();
    all.push("On the emulated link messages are held back in the process: a model's answer.".to_owned());
    all
}

fn figures(run: &Run) -> Vec<Figure> {
    let places = places(run);
    let names: Vec<String> = places.iter().map(|(work, mpi, link)| short(work, mpi, link)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = |model: &str, metric: &str| -> Vec<f64> {
        let height =
            |(work, mpi, link): &(&Work, &str, &str)| found(run, work, model, mpi, link)?.median(metric);
        places.iter().map(|place| height(place).unwrap_or(0.0) * 1e-6).collect()
    };
    let bar = |(colour, model): (usize, &&str), metric: &str| Bar {
        name: (*model).to_owned(),
        heights: of(model, metric),
        colour,
    };
    let models = || MODELS.iter().chain(&RIVALS).enumerate();
    let of_all = |metric: &str| -> Vec<Bar> {
        let all = models().map(|model| bar(model, metric));
        all.filter(|bar| bar.heights.iter().any(|height| *height > 0.0)).collect()
    };
    let (times, waits) = (of_all(""), of_all("wait_ns"));
    let told = |(work, mpi, link): &(&Work, &str, &str)| predicted(found(run, work, "sync", mpi, link)?);
    let told = Bar {
        name: "predicted".to_owned(),
        heights: places.iter().map(|place| told(place).unwrap_or(0.0) * 1e-6).collect(),
        colour: 6,
    };
    let both = [told, bar((2, &"shared"), ""), bar((0, &"sync"), "")];
    let axis = || Axis::linear("time (ms)");
    vec![
        ("time", bars("Time of an iteration, by who moves messages", axis(), &names, &times)),
        ("wait", bars("Exposed wait in an iteration", axis(), &names, &waits)),
        ("predicted", bars("The prediction from sync, and what was measured", axis(), &names, &both)),
    ]
}

/// What fits below bars.
fn short(work: &Work, mpi: &str, link: &str) -> String {
    let what = work.title.replace("faces of ", "").replace("panels of ", "SUMMA ");
    format!("{what} {}{}", &mpi[..1], if link == "shaped" { "" } else { "*" })
}
