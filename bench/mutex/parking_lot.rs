//! Owns: a counter under a mutex, and OS threads that add to it.
//! May use: parking_lot.
//! Never: a runtime.

use std::process::ExitCode;
use std::sync::Arc;

use parking_lot::Mutex;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (threads, rounds) = (job.number("threads")?, job.number("rounds")?);
    bench_common::cores::use_first(job.workers)?;
    let (each, mutex) = (rounds / threads, Arc::new(Mutex::new(0_u64)));
    let thread = |_| {
        let mutex = Arc::clone(&mutex);
        std::thread::spawn(move || {
            (0..each).for_each(|_| *mutex.lock() += 1);
            each
        })
    };
    job.plan.time(each * threads, || {
        let all: Vec<_> = (0..threads).map(thread).collect();
        all.into_iter().map(|one| one.join().expect("it does not panic")).sum()
    })
}
