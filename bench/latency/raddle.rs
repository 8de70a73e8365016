//! Owns: from wake to run while the workers are full.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use std::sync::Arc;

use bench_common::latency::{LOAD_A_WORKER, Probe};
use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (wakes, steps, load) = (job.number("wakes")?, job.number("steps")?, LOAD_A_WORKER * job.workers);
    let runtime = runtime(job.workers)?;
    job.plan.repeat(|| runtime.run(move || measure(wakes, steps, load)))
}

fn measure(wakes: u64, steps: u64, load: usize) -> Result<Sample, String> {
    let probe = Arc::new(Probe::default());
    let sleeper = csp::current().ok_or("the sleeper is no process")?;
    let process = |index: usize| {
        let (probe, sleeper) = (Arc::clone(&probe), sleeper.clone());
        move || {
            while !probe.is_over() {
                if index == 0 && probe.must_wake() {
                    sleeper.unpark();
                }
                std::hint::black_box(burn(1, steps));
                csp::yield_now();
            }
        }
    };
    let load: Vec<_> = (0..load).map(|index| csp::spawn(process(index))).collect();
    let mut figures = Vec::with_capacity(wakes as usize);
    for _ in 0..wakes {
        probe.waits();
        figures.push(loop {
            csp::park();
            if let Some(elapsed_ns) = probe.called() {
                break elapsed_ns;
            }
        });
    }
    let sample = probe.finish(&figures);
    load.into_iter().for_each(joined);
    sample
}
