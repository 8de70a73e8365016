//! Owns: work that two cores can share, as light processes; and as threads that have started on one worker.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bench_common::independent::{WorkKind, sample};
use bench_raddle::{ProcessKind, joined, runtime};
use raddle::csp;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let runtime = runtime(job.workers)?;
    if job.text("form")? == "started" {
        let steps = job.number("steps")?;
        let workers = job.workers;
        let measured = move || joined(csp::spawn_on(0, move || started(8, steps, workers)));
        return job.plan.repeat(|| Ok(runtime.run(measured)));
    }
    let (form, steps) = WorkKind::of(job)?;
    job.plan.repeat(|| Ok(sample(|| runtime.run(move || compute(form, steps)))))
}

fn compute(form: WorkKind, steps: u64) -> u64 {
    match form {
        WorkKind::MainAndOne => {
            let one = csp::spawn(move || burn(1, steps));
            burn(0, steps).wrapping_add(joined(one))
        }
        WorkKind::Spawned { count, slices } => spawned(count, slices, steps),
    }
}

fn spawned(count: u64, slices: u64, steps: u64) -> u64 {
    let slice = move |x, slice| {
        if slice > 0 {
            csp::yield_now();
        }
        burn(x, steps)
    };
    let children: Vec<_> = (0..count).map(|seed| csp::spawn(move || (0..slices).fold(seed, slice))).collect();
    children.into_iter().map(joined).fold(0, u64::wrapping_add)
}

/// Threads that have started on the first worker while the second was busy, and wait there; then both are free.
fn started(count: u64, steps: u64, workers: usize) -> Sample {
    let (parked, go) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let busy = (workers > 1).then(|| {
        let go = go.clone();
        csp::spawn_on(1, move || {
            while !go.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        })
    });
    let thread = |seed: u64| {
        let (parked, go) = (parked.clone(), go.clone());
        let body = move || {
            parked.fetch_add(1, Ordering::Relaxed);
            while !go.load(Ordering::Acquire) {
                csp::park();
            }
            burn(seed, steps)
        };
        ProcessKind::Thread.spawn(body)
    };
    let threads: Vec<_> = (0..count).map(thread).collect();
    while parked.load(Ordering::Relaxed) < count {
        csp::yield_now();
    }
    sample(move || {
        go.store(true, Ordering::Release);
        threads.iter().for_each(|thread| thread.process().unpark());
        busy.into_iter().for_each(joined);
        threads.into_iter().map(joined).fold(0, u64::wrapping_add)
    })
}
