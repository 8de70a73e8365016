//! Owns: `spawn` and `spawn_fifo`: jobs that nobody waits for, and the order in which a worker begins its own.
//! May use: `raddle-core`.
//! Never: a panic that goes nowhere unheard.
//!
//! Of what one worker has spawned and nobody has begun, Rayon begins the youngest first, and in the place of a job of
//! `spawn_fifo` the oldest of those. What the scheduler queues, it takes in order. So what it queues for a job is only
//! the *turn* of one; the jobs wait in the `Line` of the worker that has spawned them, and
//! whoever has a turn of that line takes what its rules say. (Before, each job was a process: then all were in order.)

use raddle_core::process::make::spawn_roomy;
use raddle_core::runtime::Shared;
use raddle_core::runtime::place::with_runtime;
use raddle_core::spawn::spawn_alone;
use raddle_core::worker::Worker;
use raddle_core::worker::jobs::Order;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// The right to begin one job of the line of the worker of this number. To drop it is to use it, so that a job whose
/// process is refused a stack runs nevertheless.
struct JobTicket(usize);

impl Drop for JobTicket {
    fn drop(&mut self) {
        let job = Worker::with_current(|worker| worker.shared().lines[self.0].take());
        let job = job.expect("a turn is used on a worker");
        run(job.expect("there are as many turns as jobs"));
    }
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
    let of_this = |worker: &Worker| std::ptr::eq(worker.shared(), runtime).then_some(worker.index);
    match Worker::with_current(of_this).flatten() {
        Some(index) => {
            let turn = JobTicket(index);
            runtime.lines[turn.0].push(order, Box::new(f));
            spawn_alone(site, move || drop(turn)).expect("who is on a worker has a runtime");
        }
        // SAFETY: the closure is `'static`.
        None => drop(unsafe { spawn_roomy(runtime, None, site, || run(f)) }),
    }
}

/// Queues `f` to run on the caller's runtime (from an OS thread: the default one), and returns at once.
///
/// Of what one worker has spawned and nobody has begun, the youngest is begun first.
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
