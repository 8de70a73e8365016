//! Owns: wake of a sleeping worker: by an OS thread (1 worker), or by a process of the other worker (2).
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench_common::cores;
use bench_common::wake::{FutexSleeper, Meter, compare, summary};
use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_measure::{Job, Plan, Sample, machine, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (wakes, plan) = (job.number("wakes")?, job.plan);
    match job.text("from")? {
        "os" => from_os(wakes, plan),
        _ => {
            let runtime = runtime(2)?;
            runtime.run(move || joined(csp::spawn_on(0, move || from_worker(wakes, plan))))
        }
    }
}

/// The worker on core 1, the OS thread that wakes it on core 0.
fn from_os(wakes: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    cores::pin(1)?;
    let runtime = runtime(1)?;
    let (worker, sleeper) =
        runtime.run(|| Ok::<_, String>((machine::thread_id()?, ParkedProcess::start(0))))?;
    let bare = FutexSleeper::start(Some(1))?;
    cores::pin(0)?;
    plan.repeat(|| compare(&sleeper.shared.0, wakes, worker, || sleeper.process.unpark(), &bare))
}

/// No futex beside it: the two sleepers' cores would have to be those of the workers, which are not known.
fn from_worker(wakes: u64, plan: Plan) -> Result<Vec<Sample>, String> {
    let worker = joined(csp::spawn_on(1, machine::thread_id))?;
    let sleeper = ParkedProcess::start(1);
    let (meter, wake) = (&sleeper.shared.0, || sleeper.process.unpark());
    plan.repeat(|| summary(wakes, &meter.series(wakes, worker, wake)))
}

/// A process that parks until it is woken, over and over.
struct ParkedProcess {
    shared: Arc<(Meter, AtomicBool)>,
    process: csp::Process,
}

impl ParkedProcess {
    fn start(worker: usize) -> Self {
        let shared = Arc::new((Meter::default(), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let handle = csp::spawn_on(worker, move || {
            while !theirs.1.load(Ordering::Relaxed) {
                csp::park();
                theirs.0.ran();
            }
        });
        ParkedProcess { shared, process: handle.process() }
    }
}

impl Drop for ParkedProcess {
    fn drop(&mut self) {
        self.shared.1.store(true, Ordering::Relaxed);
        self.process.unpark();
    }
}
