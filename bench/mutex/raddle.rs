//! Owns: a counter under a lock, and processes that add to it, or mostly read it.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle::sync::{ClhLock, McsLock, Mutex, RwLock, SpinLock, TicketLock};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    match job.text("lock")? {
        "mutex" => with(job, Mutex::new(0), |mutex, _| *mutex.lock().unwrap() += 1),
        "rwlock" => with(job, RwLock::new(0), |lock, round| match round % 100 {
            99 => *lock.write().unwrap() += 1,
            _ => drop(black_box(*lock.read().unwrap())),
        }),
        "mcs" => with(job, McsLock::new(0), |lock, _| lock.with(|count| *count += 1)),
        "clh" => with(job, ClhLock::new(0), |lock, _| lock.with(|count| *count += 1)),
        "ticket" => with(job, TicketLock::new(0), |lock, _| lock.with(|count| *count += 1)),
        "spin" => with(job, SpinLock::new(0), |lock, _| lock.with(|count| *count += 1)),
        other => Err(format!("no lock is called {other}")),
    }
}

/// Each process adds its share. With `placed=1` all workers have as many of them, and keep them.
fn with<L, F>(job: &Job, lock: L, turn: F) -> Result<Vec<Sample>, String>
where
    L: Send + Sync + 'static,
    F: Fn(&L, u64) + Copy + Send + Sync + 'static,
{
    let (threads, rounds, workers) = (job.number("threads")?, job.number("rounds")?, job.workers);
    let (plan, lock, placed) = (job.plan, Arc::new(lock), job.number("placed") == Ok(1));
    let each = rounds / threads;
    runtime(workers)?.run(move || {
        plan.time(each * threads, || {
            let process = |index: u64| {
                let lock = Arc::clone(&lock);
                let share = move || {
                    (0..each).for_each(|round| turn(&lock, round));
                    each
                };
                if placed { csp::spawn_on(index as usize % workers, share) } else { csp::spawn(share) }
            };
            let all: Vec<_> = (0..threads).map(process).collect();
            all.into_iter().map(joined).sum()
        })
    })
}
