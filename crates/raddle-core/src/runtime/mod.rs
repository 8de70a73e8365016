//! Owns: a runtime: its workers, its start, its end, and the default one.
//! May use: `counters`, `idle_times`, `message`, `policy`, `poll::block_on`, `process::handle`,
//! `process::make`, `report`, `wait::park`, `worker`, `raddle-trace`.
//! Never: deciding who runs.
//!
//! A program may have several runtimes. What is spawned belongs to the runtime of its spawner; from an OS thread
//! that is the *default* one, which starts on first use, is configured by `RADDLE_*`, and lives until the program
//! ends, like the threads of `std`: when `main` returns, whatever still runs is over.
//!
//! A runtime that the program builds ends when its [`Runtime`] is dropped: everything that is ready, or asleep with a
//! deadline, goes on until nothing can run any more; then the workers end. What still waits then, without a
//! deadline, can only be woken from outside, and is abandoned: its stack and its block are left as they are, so that
//! a late `unpark` finds them, and a line on standard error says how many there are. The OS thread on which an
//! abandoned light process has begun is kept, asleep, for as long as the program runs: the process may have lent a
//! thread-local variable of it to others ([`Runtime::os_threads_kept`]).

pub mod at_fork;
mod builder;
mod caller;
mod default;
pub mod extra;
pub mod place;

pub use crate::worker::Shared;
pub(crate) use builder::building;
pub use builder::{BuildError, Builder, pin_workers};
pub use caller::{Caller, lend};
pub use default::{forget as forget_default, here, install as install_default, starting, with_here};

use crate::counters::Stats;
use crate::idle_times::{DECADES, IdleDecade};
use crate::message;
use crate::policy::Policy;
use crate::process::JoinHandle as JoinHandleOf;
use crate::process::make::run_process_in;
use crate::process::make::spawn_in;
use crate::report;
use crate::wait::park;
use crate::worker::Worker;
use crate::worker::ends;
use crate::worker::load::Load;
use crate::worker::watching::WATCHER;
use raddle_trace::Level;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A set of workers and what runs on them.
///
/// ```
/// let runtime = raddle::Runtime::builder().workers(2).build()?;
/// let sum: u32 = runtime.run(|| {
///     let halves = [1..=50, 51..=100].map(|half| raddle::csp::spawn(move || half.sum::<u32>()));
///     halves.into_iter().map(|h| h.join().unwrap()).sum()
/// });
/// assert_eq!(sum, 5050);
/// # Ok::<(), raddle::BuildError>(())
/// ```
pub struct Runtime {
    shared: Arc<Shared>,
    /// Of the workers that have an OS thread of ours.
    threads: Vec<(usize, JoinHandle<()>)>,
    /// Nothing is left to do for its end.
    has_ended: bool,
}

impl Runtime {
    /// Settings for a runtime that is to be built.
    pub fn builder() -> Builder {
        Builder::default()
    }

    #[doc(hidden)]
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn hold(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.shared.workers().len()
    }

    /// The policy that it works by.
    pub fn policy(&self) -> Policy {
        self.shared.policy
    }

    /// The counters of each worker now; and behind them, as in all that is counted for each worker, those of each extra
    /// worker that there has been: see `docs/HANGS.md`.
    pub fn stats(&self) -> Vec<Stats> {
        self.shared.everybody().map(Worker::stats).collect()
    }

    /// A hash of the schedule so far, if a seed determines it: runs with equal hashes made the same choices. `None`
    /// without a seed.
    pub fn schedule_hash(&self) -> Option<u64> {
        self.shared.workers().first()?.seed.as_ref().map(|seed| seed.hash())
    }

    /// How often and how long each worker was idle until now, by decade of the length: see [`crate::DECADE_NAMES`].
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(1).build()?;
    /// runtime.run(|| raddle::csp::sleep(std::time::Duration::from_millis(2)));
    /// let of_all: u64 = runtime.idle_times()[0].iter().map(|decade| decade.incidents).sum();
    /// assert!(of_all > 0);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn idle_times(&self) -> Vec<[IdleDecade; DECADES]> {
        self.shared.everybody().map(|worker| worker.idle_times.snapshot()).collect()
    }

    /// How much work waited at each worker until now, sampled every 10 ms except while all workers sleep.
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(2).build()?;
    /// assert!(runtime.loads().iter().all(|load| load.samples() == 0), "nothing has run");
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn loads(&self) -> Vec<Load> {
        self.shared.everybody().map(|worker| worker.loads.snapshot()).collect()
    }

    /// Writes what has been recorded into a file `.rdt`: `raddle::trace::dump` for this runtime.
    ///
    /// # Errors
    /// If nothing has been recorded, or the file cannot be written.
    pub fn dump_trace(&self, file: impl AsRef<Path>) -> io::Result<()> {
        self.shared.trace.dump(&self.shared, file.as_ref())
    }

    /// Records from now on what belongs to `level`.
    pub fn set_trace_level(&self, level: Level) {
        self.shared.trace.set_level(&self.shared, level);
    }

    /// How many started runnables came to each worker from each: `migrations()[to][from]`.
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.migrations(), [[0, 0], [0, 0]]);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn migrations(&self) -> Vec<Vec<u64>> {
        let all: Vec<&Worker> = self.shared.everybody().collect();
        all.iter().map(|worker| self.shared.migrations_to(worker).take(all.len()).collect()).collect()
    }

    /// The most bytes of stack that any ended process has used, if [`Builder::measure_stacks`] asked for it.
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(1).measure_stacks(true).build()?;
    /// runtime.run(|| println!("{}", std::hint::black_box([1_u8; 5000]).len()));
    /// assert!(runtime.deepest_stack().is_some_and(|bytes| bytes > 5000));
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn deepest_stack(&self) -> Option<usize> {
        self.shared.deepest_stack()
    }

    /// Spawns a process on this runtime, from any thread; `csp::spawn` spawns on the caller's own.
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(1).build()?;
    /// assert_eq!(runtime.spawn(|| 6 * 7).join().unwrap(), 42);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandleOf<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: closure and result are `'static`.
        JoinHandleOf(unsafe { spawn_in(&self.shared, f) })
    }

    /// Runs `f` as a process of this runtime and waits for its value. `f` may borrow.
    ///
    /// Its stack is that of a thread, 2 MiB or `RUST_MIN_STACK`, in the next size class, so that it may fork deeply.
    ///
    /// # Panics
    /// As `f`; inside a task, which must not wait; and in a forked child, which has the parent's runtime without its OS
    /// threads.
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        park::caller("Runtime::run");
        let lives = self.shared.is_here();
        assert!(
            lives,
            "a forked child has no workers of its parent's runtime; build another one in the child"
        );
        run_process_in(&self.shared, f)
    }

    /// Runs a future on this runtime, in a process, and waits for its value. The future may borrow.
    ///
    /// # Panics
    /// As the future; and inside a task, which must not wait.
    ///
    /// ```
    /// let runtime = raddle::Runtime::builder().workers(1).build()?;
    /// assert_eq!(runtime.block_on(async { raddle::task::spawn(async { 7 }).await.unwrap() }), 7);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    #[track_caller]
    pub fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.run(|| crate::poll::block_on(future))
    }

    /// How many OS threads of workers the program keeps after their runtimes have ended.
    ///
    /// A light process that is [abandoned](Self::shutdown) may have lent a thread-local variable of the OS thread on
    /// which it has begun to another runtime, whose processes go on. So that OS thread never ends: it sleeps, and its
    /// variables stay. A program that ends with few abandoned processes need not care.
    ///
    /// ```
    /// use raddle::{Runtime, csp};
    /// let before = Runtime::os_threads_kept();
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// // SAFETY: it uses no thread-local variable.
    /// runtime.run(|| drop(unsafe { csp::spawn_light(csp::park) }));
    /// assert_eq!(runtime.shutdown(), 1);
    /// assert_eq!(Runtime::os_threads_kept(), before + 1);
    /// # Ok::<(), raddle::BuildError>(())
    /// ```
    pub fn os_threads_kept() -> usize {
        ends::os_threads_kept()
    }

    /// Waits until nothing can run, and ends the workers. What [`drop`] does, with its outcome.
    ///
    /// Returns how many processes and tasks still waited, without a deadline, and have been abandoned. OS threads on
    /// which such processes have begun are [kept](Self::os_threads_kept).
    pub fn shutdown(mut self) -> u64 {
        self.end()
    }

    /// As [`shutdown`](Self::shutdown), by an engine's owner, who knows that nothing is to run any more: the workers
    /// end when they have come to the end of their own queues, and need not find out first that all the others sleep.
    /// What becomes ready later may never run.
    ///
    /// The workers' OS threads may still be about to end when this returns: they have left the engine for good.
    #[doc(hidden)]
    pub fn stop(mut self) -> u64 {
        self.shared.let_stop();
        let is_outside = Worker::with_current(|_| ()).is_none() && self.shared.is_here();
        if is_outside && !self.has_ended {
            self.shared.close();
            if self.shared.wait_briefly_for_leave() {
                self.has_ended = true;
                return settle(&self.shared);
            }
        }
        self.end()
    }

    /// Detaches the runtime: its workers end by themselves when nothing can run any more; nothing waits for that.
    pub fn release(mut self) -> Arc<Shared> {
        self.has_ended = true;
        self.shared.clone()
    }

    fn end(&mut self) -> u64 {
        if std::mem::replace(&mut self.has_ended, true) {
            return 0;
        }
        if !self.shared.is_here() {
            // A forked child has the runtime's memory and none of its OS threads: there is nothing to wait for.
            std::mem::forget((self.shared.clone(), std::mem::take(&mut self.threads)));
            return 0;
        }
        if place::is_on_worker_of(Arc::as_ptr(&self.shared)) {
            // Dropped by one of its own.
            self.shared.close_alone();
            return 0;
        }
        self.shared.close();
        let join = |(worker, thread): (usize, JoinHandle<()>)| {
            if !self.shared.worker(worker).wait_for_end() && thread.join().is_err() {
                message::fatal("a worker panicked outside of any process");
            }
        };
        self.threads.drain(..).for_each(join);
        self.shared.extras.end().into_iter().for_each(join);
        settle(&self.shared)
    }
}

/// The last words of a runtime whose workers have ended. Returns how many it abandons.
fn settle(shared: &Arc<Shared>) -> u64 {
    WATCHER.get().inspect(|watcher| watcher.runtime_ends(shared));
    shared.trace.finish(shared, true);
    if shared.prints_stats {
        message::say(&shared.stats_text());
    }
    let abandoned = shared.alive(&shared.total());
    if abandoned > 0 {
        if !shared.is_explored() {
            report::abandoned(abandoned, shared.kept());
        }
        // A late wake must find the worker that its block points to.
        std::mem::forget(shared.clone());
    }
    abandoned
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("workers", &self.workers()).field("policy", &self.policy()).finish()
    }
}
