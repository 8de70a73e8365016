//! Owns: a counter under a lock, and OS threads that add to it, or mostly read it.
//! May use: std::sync.
//! Never: a runtime.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, RwLock};

use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    match job.text("lock")? {
        "mutex" => with(job, Mutex::new(0_u64), |mutex, _| *mutex.lock().expect("nobody panics") += 1),
        "rwlock" => with(job, RwLock::new(0_u64), |lock, round| match round % 100 {
            99 => *lock.write().expect("nobody panics") += 1,
            _ => drop(black_box(*lock.read().expect("nobody panics"))),
        }),
        other => Err(format!("no lock is called {other}")),
    }
}

fn with<L, F>(job: &Job, lock: L, turn: F) -> Result<Vec<Sample>, String>
where
    L: Send + Sync + 'static,
    F: Fn(&L, u64) + Copy + Send + Sync + 'static,
{
    let (threads, rounds) = (job.number("threads")?, job.number("rounds")?);
    bench_common::cores::use_first(job.workers)?;
    let (each, lock) = (rounds / threads, Arc::new(lock));
    let thread = |_| {
        let lock = Arc::clone(&lock);
        std::thread::spawn(move || {
            (0..each).for_each(|round| turn(&lock, round));
            each
        })
    };
    job.plan.time(each * threads, || {
        let all: Vec<_> = (0..threads).map(thread).collect();
        all.into_iter().map(|one| one.join().expect("it does not panic")).sum()
    })
}
