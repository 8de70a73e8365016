//! Owns: the rounds of one benchmark, and their interruption.
//! May use: cells, programs, the order of rounds.
//! Never: standard output; progress goes to standard error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_measure::rounds::order;

use crate::catalogue::Bench;
use crate::cell::{Cell, Params};
use crate::options::RunnerOptions;
use crate::profile::Profile;
use crate::programs::{BuildResult, Tree, progress};

/// A benchmark with its cells after the rounds.
pub struct BenchGroup {
    pub bench: &'static Bench,
    /// How the Rust programs among them were built.
    pub profile: Profile,
    pub cells: Vec<Cell>,
    /// Runtimes that are not there, with the reason.
    pub skipped: Vec<(&'static str, String)>,
    /// Runtimes whose program could not be built, with the reason.
    pub unbuilt: Vec<(&'static str, String)>,
}

impl BenchGroup {
    /// What failed, as runtime and reason.
    pub fn failures(&self) -> Vec<(String, String)> {
        let unbuilt = self.unbuilt.iter().map(|(name, why)| ((*name).to_owned(), why.clone()));
        let failed = self.cells.iter().filter_map(|cell| {
            let name = format!("{} on {} workers ({})", cell.runtime, cell.workers, cell.params);
            Some((name, cell.failure.clone()?))
        });
        unbuilt.chain(failed).collect()
    }
}

/// Sets the returned flag on Ctrl-C; the session then ends after the process that runs.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, String> {
    let stopped = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stopped))
        .map_err(|e| format!("cannot handle Ctrl-C: {e}"))?;
    Ok(stopped)
}

/// Whether the session shall end.
pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// Builds the programs of `bench` in `profile` and runs its rounds.
pub fn run(
    bench: &'static Bench,
    profile: Profile,
    options: &RunnerOptions,
    stopped: &AtomicBool,
) -> BenchGroup {
    let mut group =
        BenchGroup { bench, profile, cells: Vec::new(), skipped: Vec::new(), unbuilt: Vec::new() };
    let tree = Tree::own(profile);
    let mut built = Vec::new();
    for &(runtime, workers) in bench.runtimes {
        let workers: Vec<usize> = workers.iter().copied().filter(|&w| options.wants(runtime, w)).collect();
        if workers.is_empty() {
            continue;
        }
        let build = |tree: &Tree| tree.build(bench.program, runtime);
        match tree.as_ref().map_or_else(|why| BuildResult::Failed(why.clone()), build) {
            BuildResult::Ready(path) => built.push((runtime, path)),
            BuildResult::Missing(why) => group.skipped.push((runtime, why)),
            BuildResult::Failed(why) => group.unbuilt.push((runtime, why)),
        }
        if built.last().is_some_and(|(name, _)| *name == runtime) {
            let params = |w| {
                let all = bench.params(runtime, w, options.quick).into_iter();
                all.map(move |params| Cell::new(runtime, w, options.given(params)))
            };
            group.cells.extend(workers.into_iter().flat_map(params));
        }
    }
    let runs = options.runs.min(bench.runs_max);
    for round in 0..runs {
        for index in order(group.cells.len(), round) {
            let cell = &mut group.cells[index];
            let path = built.iter().find(|(name, _)| *name == cell.runtime).map(|(_, path)| path);
            if is_set(stopped) {
                return group;
            }
            if let (Some(path), None) = (path, &cell.failure) {
                let place = format!("{} {}/{runs}", bench.name, round + 1);
                progress(&format!("{place} {} {} {}", cell.runtime, cell.workers, cell.params));
                let expected = (bench.checksum)(&Params(&cell.params));
                let program = std::process::Command::new(path);
                cell.run_watched(bench.samples, expected, program, options.quick, options.repetitions);
                if is_set(stopped) {
                    // Ctrl-C reaches the process group: this program was cut short by it, not by a fault.
                    cell.failure = None;
                }
            }
        }
    }
    progress("");
    group
}
