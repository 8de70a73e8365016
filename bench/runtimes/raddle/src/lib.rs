//! Owns: what Raddle's programs share: a runtime, and a ring of processes.
//! May use: raddle.
//! Never: a benchmark.

pub mod bare_stacks;

use std::sync::{Arc, OnceLock};

use bench_common::turns::Turns;
use raddle::csp::{self, Process, park};
use raddle::{Builder, Runtime};
use raddle_measure::Job;

#[cfg(feature = "raddle-alloc")]
#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

/// A runtime of `workers` workers, with default settings; or with light processes, if the runner asks for that variant.
pub fn runtime(workers: usize) -> Result<Runtime, String> {
    builder().workers(workers).build().map_err(|e| e.to_string())
}

/// The settings of the variant that the runner asks for.
pub fn builder() -> Builder {
    let builder = Runtime::builder();
    match std::env::var("BENCH_VARIANT").as_deref() {
        // SAFETY: no process of a benchmark waits while it depends on a thread-local variable.
        Ok("light") => unsafe { builder.light_processes() },
        _ => builder,
    }
}

/// The kind of process that a program uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProcessKind {
    /// Processes, as their runtime has them.
    Process,
    /// Threads: their thread-local variables have first values.
    Thread,
    /// The same, and each that yields goes to the next worker.
    Scattered,
}

impl ProcessKind {
    /// The kind that the runner requested; processes by default.
    pub fn of(job: &Job) -> ProcessKind {
        match job.text("kind") {
            Ok("thread") => ProcessKind::Thread,
            Ok("scattered") => ProcessKind::Scattered,
            _ => ProcessKind::Process,
        }
    }

    /// A runtime for them.
    pub fn runtime(self, workers: usize) -> Result<Runtime, String> {
        let builder = builder().workers(workers).scatter_threads(self == ProcessKind::Scattered);
        builder.build().map_err(|e| e.to_string())
    }

    /// Spawns one.
    #[inline]
    pub fn spawn<F, T>(self, f: F) -> csp::JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self {
            ProcessKind::Process => csp::spawn(f),
            ProcessKind::Thread | ProcessKind::Scattered => {
                csp::Builder::new().own_tls(true).spawn(f).expect("threads are possible")
            }
        }
    }
}

/// The result of a process that does not panic.
pub fn joined<T>(handle: csp::JoinHandle<T>) -> T {
    handle.join().expect("a process does not panic")
}

/// What runs a function with the numbers below the first, each on a process, and adds up what they return.
pub fn on_processes(
    workers: usize,
) -> Result<impl Fn(u64, Arc<dyn Fn(u64) -> u64 + Send + Sync>) -> u64, String> {
    let runtime = runtime(workers)?;
    Ok(move |processes, f: Arc<dyn Fn(u64) -> u64 + Send + Sync>| {
        runtime.run(move || {
            let process = |number: u64| {
                let f = f.clone();
                csp::spawn_on(number as usize % workers, move || f(number))
            };
            let all: Vec<_> = (0..processes).map(process).collect();
            all.into_iter().map(joined).sum()
        })
    })
}

/// Passes a token round a ring of `processes` by park and unpark, `rounds` times; returns the number of wakes.
pub fn ring(processes: usize, rounds: u64) -> u64 {
    let shared = Arc::new((Turns::new(processes), OnceLock::<Vec<Process>>::new()));
    let member = |place: usize, shared: Arc<(Turns, OnceLock<Vec<Process>>)>| {
        move || {
            let (turns, ring) = &*shared;
            let next = (place + 1) % processes;
            for _ in 0..rounds {
                while !turns.take(place) {
                    park();
                }
                turns.give(next);
                ring.get().expect("it is set before the first turn")[next].unpark();
            }
            rounds
        }
    };
    let members: Vec<_> =
        (0..processes).map(|place| csp::spawn(member(place, Arc::clone(&shared)))).collect();
    let (turns, ring) = &*shared;
    let first = &ring.get_or_init(|| members.iter().map(csp::JoinHandle::process).collect())[0];
    turns.give(0);
    first.unpark();
    members.into_iter().map(joined).sum()
}
