//! Owns: building all programs, rivals included, and the table of the results.
//! May use: the catalogue, the experiments, programs.
//! Never: installing anything; it reports what is missing.

use std::collections::BTreeMap;

use bench_runner::catalogue::BENCHES;
use bench_runner::programs::{self, BuildResult, progress};
use bench_runner::runtimes;
use raddle_measure::table::Table;

use crate::experiment::{EXPERIMENTS, Settings, Size};

/// Programs by runtime.
fn programs_by_runtime() -> BTreeMap<&'static str, Vec<&'static str>> {
    let settings = Settings { workers: vec![1, 2], size: Size::Full, runtimes: Vec::new() };
    let specs = EXPERIMENTS.iter().flat_map(|experiment| (experiment.cells)(&settings));
    let of_lab = specs.map(|spec| (spec.runtime, spec.program));
    let of_bench = BENCHES.iter().flat_map(|b| b.runtimes.iter().map(|(runtime, _)| (*runtime, b.program)));
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (runtime, program) in of_bench.chain(of_lab) {
        let programs = all.entry(runtime).or_default();
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    all
}

/// Builds them all; false if one of them does not build although its tools are installed.
pub fn build() -> bool {
    let mut table = Table::new(["runtime ", "programs ", "state "]);
    let mut well = true;
    let all = programs_by_runtime();
    let pairs: Vec<_> =
        all.iter().flat_map(|(runtime, all)| all.iter().map(|program| (*program, *runtime))).collect();
    programs::prepare(&pairs);
    for runtime in runtimes::names() {
        let programs = all.get(runtime).map_or(&[] as &[_], Vec::as_slice);
        let mut state = String::from("built");
        for program in programs {
            match programs::build(program, runtime) {
                BuildResult::Ready(_) => {}
                BuildResult::Missing(why) => {
                    state = why;
                    break;
                }
                BuildResult::Failed(why) => {
                    state = format!("FAILED {program}: {why}");
                    well = false;
                }
            }
        }
        table.row([runtime.to_owned(), programs.join(" "), state]);
    }
    progress("");
    super::show(&table.to_string());
    well
}

#[test]
fn every_runtime_of_an_experiment_is_known() {
    for runtime in programs_by_runtime().keys() {
        assert!(runtimes::of(runtime).is_some(), "{runtime}");
    }
}
