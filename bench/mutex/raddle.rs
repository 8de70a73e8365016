//! Owns: a counter under a lock, and processes that add to it.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;
use std::sync::Arc;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle::sync::{ClhLock, McsLock, Mutex, SpinLock, TicketLock};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    match job.text("lock")? {
        "mutex" => with(job, Mutex::new(0), |mutex| *mutex.lock().unwrap() += 1),
        "mcs" => with(job, McsLock::new(0), |lock| lock.with(|count| *count += 1)),
        "clh" => with(job, ClhLock::new(0), |lock| lock.with(|count| *count += 1)),
        "ticket" => with(job, TicketLock::new(0), |lock| lock.with(|count| *count += 1)),
        "spin" => with(job, SpinLock::new(0), |lock| lock.with(|count| *count += 1)),
        other => Err(format!("no lock is called {other}")),
    }
}

/// Each process adds its share, and is placed, so that all workers have as many.
fn with<L, F>(job: &Job, lock: L, add_one: F) -> Result<Vec<Sample>, String>
where
    L: Send + Sync + 'static,
    F: Fn(&L) + Copy + Send + Sync + 'static,
{
    let (threads, rounds, workers) = (job.number("threads")?, job.number("rounds")?, job.workers);
    let (plan, lock) = (job.plan, Arc::new(lock));
    let each = rounds / threads;
    runtime(workers)?.run(move || {
        plan.time(each * threads, || {
            let process = |index: u64| {
                let lock = Arc::clone(&lock);
                csp::spawn_on(index as usize % workers, move || {
                    (0..each).for_each(|_| add_one(&lock));
                    each
                })
            };
            let all: Vec<_> = (0..threads).map(process).collect();
            all.into_iter().map(joined).sum()
        })
    })
}
