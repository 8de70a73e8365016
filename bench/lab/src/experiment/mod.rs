//! Owns: the table of experiments, and what an experiment is: cells to measure, claims and figures about a run.
//! May use: runs; the catalogue's programs by name.
//! Never: starting a program.
//!
//! Each experiment comes from published work: it reported a result, and Raddle is required to do better.

mod alloc;
mod granularity;
mod openmp;
mod proxy;
mod pthreads;
mod ring;
mod stm;
mod threads;
mod warehouse;

use std::path::Path;
use std::thread::available_parallelism;

use crate::claim::Claim;
use crate::run::Run;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// A quick look: few rounds, few parameters.
    Quick,
    /// Fifteen rounds, so that requirements can be judged.
    Usual,
    /// Everything that the original studies varied.
    Full,
}

impl Size {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Usual => "usual",
            Size::Full => "full",
        }
    }

    /// The number of rounds.
    pub fn rounds(self) -> usize {
        if self == Size::Quick { 3 } else { 15 }
    }

    /// Cells without a requirement run in one of this many rounds.
    fn every(self) -> usize {
        if self == Size::Usual { 5 } else { 1 }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    pub workers: Vec<usize>,
    pub size: Size,
    /// Empty: all.
    pub runtimes: Vec<String>,
}

impl Settings {
    /// Whether cells of this runtime are measured.
    pub fn wants(&self, runtime: &str) -> bool {
        self.runtimes.is_empty() || self.runtimes.iter().any(|wanted| wanted == runtime)
    }
}

/// One cell that is to be measured.
#[derive(Clone, Debug)]
pub struct Spec {
    pub bench: &'static str,
    pub program: &'static str,
    pub runtime: &'static str,
    pub workers: usize,
    pub params: String,
    pub unit: &'static str,
    pub checksum: u64,
    pub samples: usize,
    /// It runs in one of this many rounds: cells without a requirement need fewer.
    pub every: usize,
}

impl Spec {
    /// A cell whose program has the name of its benchmark.
    pub fn new(
        bench: &'static str,
        runtime: &'static str,
        workers: usize,
        params: String,
        checksum: u64,
    ) -> Spec {
        Spec { bench, program: bench, runtime, workers, params, unit: "ns", checksum, samples: 3, every: 1 }
    }

    /// Whether it runs in this round. All infrequent cells run in the same rounds, so that they have ratios.
    pub fn runs_in(&self, round: usize) -> bool {
        round.is_multiple_of(self.every.max(1))
    }
}

/// A figure: the suffix of its file's name, and the drawing.
pub type Figure = (&'static str, String);

/// A step after the rounds that adds to a run; it may use temporary files in the folder.
pub type Afterwards = fn(&mut Run, &Path) -> Result<(), String>;

/// One experiment.
pub struct Experiment {
    pub name: &'static str,
    pub title: &'static str,
    /// What it is, and the original result.
    pub story: &'static str,
    pub cells: fn(&Settings) -> Vec<Spec>,
    pub claims: fn(&Run) -> Vec<Claim>,
    /// Further remarks, one sentence each.
    pub remarks: fn(&Run) -> Vec<String>,
    pub figures: fn(&Run) -> Vec<Figure>,
    /// A step after the rounds, whose results go into the run's notes.
    pub afterwards: Option<Afterwards>,
}

/// All of them, in the order of docs/LAB.md.
pub const EXPERIMENTS: &[Experiment] = &[
    granularity::EXPERIMENT,
    ring::EXPERIMENT,
    threads::EXPERIMENT,
    warehouse::EXPERIMENT,
    pthreads::EXPERIMENT,
    openmp::EXPERIMENT,
    stm::EXPERIMENT,
    alloc::EXPERIMENT,
    proxy::EXPERIMENT,
];

/// The number of cores for the workers.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The sum of all numbers below.
fn triangle(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn every_experiment_has_cells_of_raddle_in_every_size_and_nothing_twice() {
        for experiment in EXPERIMENTS {
            for size in [Size::Quick, Size::Usual, Size::Full] {
                let cells = (experiment.cells)(&Settings { workers: vec![1, 2], size, runtimes: vec![] });
                let is_ours = |cell: &Spec| ["raddle", "pthreads", "alloc", "omp"].contains(&cell.runtime);
                assert!(cells.iter().any(is_ours), "{}", experiment.name);
                let mut keys: Vec<_> =
                    cells.iter().map(|c| (c.bench, c.runtime, c.workers, c.params.clone())).collect();
                keys.sort_unstable();
                keys.dedup();
                assert_eq!(keys.len(), cells.len(), "{} {size:?} measures something twice", experiment.name);
            }
        }
    }

    /// A run with every cell of the usual size has a figure for each claim that does not need the full size.
    #[test]
    fn claims_find_their_cells() {
        for experiment in EXPERIMENTS {
            let cells =
                (experiment.cells)(&Settings { workers: vec![1, 2], size: Size::Full, runtimes: vec![] });
            let cells: Vec<_> =
                cells.iter().map(|c| (c.bench, c.runtime, c.workers, c.params.as_str(), 10.0)).collect();
            let mut full = run(experiment.name, &cells);
            for sample in full.cells.iter_mut().flat_map(|cell| &mut cell.rounds).flatten() {
                for name in [
                    "net_create_ns",
                    "thread_spread",
                    "idle_ms",
                    "throughput",
                    "incidents",
                    "create_ns",
                    "busy_ns",
                    "migrations",
                ] {
                    sample.extra.insert(name.to_owned(), 10.0);
                }
            }
            let claims = (experiment.claims)(&full);
            assert!(!claims.is_empty());
            for claim in claims {
                assert!(claim.interval.is_some(), "{}: {}", experiment.name, claim.sentence());
            }
            assert!((experiment.figures)(&full).iter().all(|(_, svg)| svg.starts_with("<svg")));
            assert!(
                (experiment.figures)(&run(experiment.name, &[]))
                    .iter()
                    .all(|(_, svg)| svg.starts_with("<svg"))
            );
        }
    }
}
