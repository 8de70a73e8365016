//! Owns: the user-level futex: processes that wait and wake, and a mutex on it.
//! May use: raddle, the door for adaptors.
//! Never: a setting beside the number of workers, unless the two are placed: then the workers stay hot.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use bench_common::futex_lock::{Futex, Lock, pass, wake_nobody};
use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle_core::door::futex::{self, ANY, WaitOptions};
use raddle_measure::{Job, Sample, program};

struct Door;

impl Futex for Door {
    fn wait(word: &AtomicU32, expected: u32) {
        futex::wait(word, expected, &WaitOptions::default());
    }

    fn wake(word: &AtomicU32) {
        futex::wake(word, 1, ANY);
    }
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    match job.text("form")? {
        "nobody" => runtime(job.workers)?.run(move || plan.time(rounds, || wake_nobody::<Door>(rounds))),
        "pair" if job.number("placed") == Ok(1) => {
            let hot = bench_raddle::builder().workers(job.workers).pin_workers(true);
            let hot = hot.spin(Duration::from_micros(100)).build().map_err(|e| e.to_string())?;
            hot.run(move || plan.time(2 * rounds, || pair(rounds, Some(1))))
        }
        "pair" => runtime(job.workers)?.run(move || plan.time(2 * rounds, || pair(rounds, None))),
        "mutex" => mutex(job),
        other => Err(format!("no form is called {other}")),
    }
}

/// Two processes, which may gather on one worker, or the second of which begins on that of this number.
fn pair(rounds: u64, second_on: Option<usize>) -> u64 {
    let word = Arc::new(AtomicU32::new(0));
    let player = |me: u32| {
        let word = Arc::clone(&word);
        move || pass::<Door>(&word, me, rounds)
    };
    let both = match second_on {
        None => [csp::spawn(player(0)), csp::spawn(player(1))],
        Some(worker) => [csp::spawn_on(0, player(0)), csp::spawn_on(worker, player(1))],
    };
    both.into_iter().map(joined).sum()
}

/// Each process adds its share, and is placed, so that all workers have as many.
fn mutex(job: &Job) -> Result<Vec<Sample>, String> {
    let (threads, rounds, workers, plan) =
        (job.number("threads")?, job.number("rounds")?, job.workers, job.plan);
    let (each, lock) = (rounds / threads, Lock::<Door>::shared());
    runtime(workers)?.run(move || {
        plan.time(each * threads, || {
            let process = |index: u64| {
                let lock = Arc::clone(&lock);
                csp::spawn_on(index as usize % workers, move || lock.add(each))
            };
            let all: Vec<_> = (0..threads).map(process).collect();
            all.into_iter().map(joined).sum()
        })
    })
}
