//! Owns: `spawn` and `spawn_fifo`: jobs that nobody waits for, and the order in which a worker begins its own.
//! May use: `raddle-core`.
//! Never: a panic that goes nowhere unheard.
//!
//! Of what one worker has spawned and nobody has begun, Rayon begins the youngest first, and in the place of a job of
//! `spawn_fifo` the oldest of those. What the scheduler queues, it takes in order. So what it queues is only a *turn*;
//! the jobs wait in the `Line` of the worker that has spawned them, and whoever has a turn of that line takes what its
//! rules say. (Before, each job was a process: then all were in order.)
//!
//! A turn is a process, and runs one job after the other, so that a job which does not wait costs no process. It ends
//! soon: others want to run, and only between processes is looked for those. A job that waits takes its process with
//! it, and the turn that is queued goes on with the others. PERF: bench `flat`, `kind=spawn`.

use super::flow::Flow;
use raddle_core::process::make::spawn_roomy;
use raddle_core::runtime::Shared;
use raddle_core::runtime::place::with_runtime;
use raddle_core::spawn::{goes_on_for, spawn_alone};
use raddle_core::worker::Worker;
use raddle_core::worker::jobs::{JobBody, NewTurns, Order, SpawnedJob};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// A turn ends after so many jobs ...
const JOBS_MAX: u32 = 32;
/// ... or when it has lasted so long: looked at after the first, second, fourth, eighth... job.
const LASTS_NS: u64 = 50_000;

/// The right to begin jobs of the line of the worker of this number. To drop it is to use it, so that jobs whose
/// process is refused a stack run nevertheless.
struct JobTurn(usize);

impl JobTurn {
    /// Queues those that are needed.
    #[inline]
    fn queue(index: usize, new: NewTurns) {
        for _ in 0..new.count {
            let turn = JobTurn(index);
            spawn_alone(new.site, move || drop(turn)).expect("who is on a worker has a runtime");
        }
    }

    /// The line is the caller's own, or becomes it.
    fn begin(&mut self) -> (Option<SpawnedJob>, NewTurns) {
        let begin = |worker: &Worker| {
            let (shared, from) = (worker.shared(), self.0);
            let is_extra = worker.index >= shared.workers().len();
            if is_extra || worker.index == from {
                return shared.lines[from].begin_turn();
            }
            self.0 = worker.index;
            JobTurn::queue(from, shared.lines[from].begin_turn_elsewhere(&shared.lines[self.0]));
            shared.lines[self.0].take()
        };
        Worker::with_current(begin).expect("a turn is used on a worker")
    }
}

impl Drop for JobTurn {
    fn drop(&mut self) {
        let (began_ns, singly) = here(|worker| (worker.now_ns(), worker.runs_jobs_singly()));
        let (mut job, mut turns) = self.begin();
        let mut done = 0_u32;
        while let Some(SpawnedJob { site, run: job_here }) = job {
            JobTurn::queue(self.0, turns);
            goes_on_for(site);
            run(|| job_here.call());
            done += 1;
            let lasts_long = || done.is_power_of_two() && here(Worker::now_ns) - began_ns >= LASTS_NS;
            // What the job has forked, and not waited for, is offered to others at the end of its process.
            if done == JOBS_MAX || singly || lasts_long() || Flow::current().is_some() {
                return JobTurn::queue(self.0, here(|worker| worker.shared().lines[self.0].end_turn()));
            }
            (job, turns) = here(|worker| worker.shared().lines[self.0].take());
        }
    }
}

/// Asked for anew each time: a job may have waited.
fn here<T>(ask: impl FnOnce(&Worker) -> T) -> T {
    Worker::with_current(ask).expect("a turn is used on a worker")
}

/// Runs a job whose panic has nobody to go to.
pub(crate) fn run(job: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
        let hooks = Worker::with_current(|worker| worker.shared().hooks.clone());
        hooks.unwrap_or_default().handle(panic, "a spawned job");
    }
}

/// Has a job, which the program spawns at `site`, run on `runtime`, if that is the caller's own: in the caller's line.
pub(crate) fn submit(
    runtime: &Shared,
    order: Order,
    site: &'static Location<'static>,
    f: impl FnOnce() + Send + 'static,
) {
    let of_this = |worker: &Worker| {
        let is_own = std::ptr::eq(worker.shared(), runtime);
        is_own.then(|| (worker.index, worker.runs_jobs_singly()))
    };
    match Worker::with_current(of_this).flatten() {
        Some((index, singly)) => {
            let job = SpawnedJob { site, run: JobBody::new(f) };
            JobTurn::queue(index, runtime.lines[index].push(order, job, singly));
        }
        // SAFETY: the closure is `'static`.
        None => drop(unsafe { spawn_roomy(runtime, None, site, || run(f)) }),
    }
}

/// Queues `f` to run on the caller's runtime (from an OS thread: the default one), and returns at once.
///
/// Of what one worker has spawned and nobody has begun, the youngest is begun first. A job may wait. Those which do not
/// are run by one process, one after the other.
///
/// As in Rayon, a panic of `f` goes to the pool's panic handler, and aborts
/// the program if there is none.
///
/// # Panics
/// If the default runtime cannot be started.
#[track_caller]
pub fn spawn<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    let site = Location::caller();
    with_runtime(|runtime| submit(runtime, Order::YoungestFirst, site, f));
}

/// As [`spawn`]; of what one worker has spawned by this, the oldest is begun first.
///
/// # Panics
/// As [`spawn`].
#[track_caller]
pub fn spawn_fifo<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    let site = Location::caller();
    with_runtime(|runtime| submit(runtime, Order::OldestFirst, site, f));
}
