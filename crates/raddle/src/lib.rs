// Owns: the public Rust face of Raddle.
// May use: `raddle-core`, `raddle-explore`, `raddle-hang`, `raddle-job`, `raddle-macros`, `raddle-net`,
// `raddle-recorder`, `raddle-stm`, `raddle-sync`, `raddle-thread`.
// Never: a mechanism of its own.

//! Raddle runs programs made of very many very small concurrent pieces on all the cores of a machine, at a cost close
//! to a function call.
//!
//! ```toml
//! [dependencies]
//! raddle = "0.1"
//! ```
//!
//! ```
//! use raddle::csp;
//!
//! #[raddle::main]
//! fn main() {
//!     let squares: Vec<_> = (0..1000_u64).map(|n| csp::spawn(move || n * n)).collect();
//!     let sum: u64 = squares.into_iter().map(|square| square.join().unwrap()).sum();
//!     assert_eq!(sum, 332_833_500);
//! }
//! ```
//!
//! # Which kind
//!
//! | kind | module | stack | thread-locals | moves between workers | costs about |
//! |---|---|---|---|---|---|
//! | thread | [`thread`] | its own, guarded | its own | at any time | 180 ns to join, 13 to 20 ns a switch |
//! | process | [`csp`] | its own, guarded | its own, as the last process left them | at any time | 60 and 13 to 20 ns |
//! | light process | [`csp::spawn_light`] | its own, guarded | its worker's | until it starts | 45 and 5 to 12 ns |
//! | fork | here | its caller's, until it is taken | its caller's | until it starts | 2 ns in [`join`], else 6 |
//! | task (a Rust future) | [`task`] | none | none | at any time | an allocation and a poll |
//!
//! A **thread** is what `std` calls so, in all that its program sees: replace `std::thread` by `raddle::thread`,
//! and the program compiles and means the same. A **process** is written like a thread: it calls, loops and waits,
//! wherever it is. Its thread-locals are its own for as long as it lives, and it finds them as a job finds those of
//! its pool's thread: with what the process before it has left there. So nothing is initialised when it begins;
//! destructors run when the runtime ends. A **light** process shares the thread-locals of its worker with others,
//! whatever it waits for; that this is sound is a condition which only the program can vouch for, by `unsafe`.
//! Threads and processes need glibc, light ones do not. A **task** is a Rust future: `async` code, no stack, and it
//! moves freely. A **fork**, made by [`join`], a [`scope`](fn@scope) or [`fork()`], is a call that an idle worker
//! may take; one that was taken is a process.
//!
//! # Coming from
//!
//! | from | write | what differs |
//! |---|---|---|
//! | `std::thread` | `raddle::thread` | the table in [`thread`] |
//! | `std::sync` | `raddle::sync` | who waits leaves its worker to others |
//! | `crossbeam_channel` | `use raddle::channel as crossbeam_channel;` | as above |
//! | `rayon_core`, or that part of `rayon` | `use raddle as rayon;` | what was taken is a process: it may wait |
//! | `rayon`, and what uses it | `[patch.crates-io]`, `rayon-core = { path = ".../patch/rayon-core" }` | as above |
//!
//! ```
//! use raddle as rayon;
//! use raddle::channel as crossbeam_channel;
//!
//! let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let (sender, receiver) = crossbeam_channel::bounded(0);
//! pool.in_place_scope(|s| {
//!     s.spawn(move |_| (0..3).for_each(|n| sender.send(n).unwrap()));
//!     assert_eq!(receiver.iter().sum::<i32>(), 3);
//! });
//! # Ok::<(), rayon::ThreadPoolBuildError>(())
//! ```
//!
//! Jobs, what a runtime is asked to run, and the main process have the stack of a thread; what [`csp::spawn`] makes
//! has 64 KiB, some dozens of nested joins in a build without optimisation: ask for more by [`csp::Builder`].
//!
//! # Waiting
//!
//! Whatever waits can be cancelled, and each wait can have a deadline: [`cancel`].
//!
//! What waits by Raddle's own means ([`csp::park`], [`csp::sleep`], `join`, `.await`) leaves its worker to others.
//! What blocks the OS thread (a `std` mutex or channel, a read from a file) blocks the worker, unless it is called
//! through [`blocking`]; hold no `std` lock over a wait. So does a wait in a `Drop` that runs while a light process
//! unwinds from a panic: do not join there what may need the same worker, since it would wait for ever. Nor may a
//! process drop a [`Runtime`] whose end needs its worker.
//!
//! # Settings
//!
//! The default runtime starts on first use, with as many workers as affinity and cgroup give cores.
//! [`Runtime::builder`] makes others, [`Builder::build_global`] configures the default one, and the environment
//! configures all of them; a wrong value is an error that lists what is allowed. Where nobody could be given that
//! error, as in [`csp::spawn`] on first use, it is printed, and the program ends with code 2.
//!
#![doc = settings_table!()]
//! # Features
//!
//! All but one are there by default; a program without one is built without that crate, and a setting that asks for it
//! is refused with a message.
//!
//! | feature | what |
//! |---|---|
//! | `explore` | schedules from a seed: `RADDLE_SEED`, [`Builder::seed`], `raddle::explore` |
//! | `hang` | reports of deadlocks and of slow slices, dumps: `RADDLE_DEADLOCK`, `raddle::hang`, `dump` |
//! | `macros` | [`#[raddle::main]`](macro@main); without it, the default runtime starts on first use |
//! | `net` | sockets, pipes, files, child processes: `raddle::net`, `io`, `fs`, `process` |
//! | `stm` | transactional memory: `raddle::stm` |
//! | `trace` | the recorder: `RADDLE_TRACE`, [`Builder::trace`], `trace::dump`; marks compile without it |
//! | `futures`, not by default | the traits of `futures-core` for channels' futures and streams, and for intervals |
//!
//! # What storage costs
//!
//! To an allocator each process with thread-locals of its own is a thread, for which it keeps memory from the first
//! allocation on. It is kept for as many as have lived at once: the next ones find it. For a hundred thousand that are
//! alive, on one worker; each has made a map of ten strings and a buffer of 1000 bytes, has dropped both, and waits:
//!
//! | allocator | resident bytes of one that only waits | and has worked | ns to make it and work | again |
//! |---|---:|---:|---:|---:|
//! | glibc 2.36 | 9 400 | 11 900 | 12 700 | 4 000 |
//! | jemalloc 5.3 (`tikv-jemallocator`) | 12 100 | 45 800 | 86 000 | 4 500 |
//! | mimalloc (crate 0.1.52), of 10 000 | 12 000 | 216 000 | 580 000 | 5 200 |
//! | any of them, light processes | 4 400 | 4 400 to 4 800 | 3 800 to 4 800 | 2 100 to 2 600 |
//!
//! What helps, the first column being what one has that has worked:
//!
//! | allocator | setting | bytes | ns | again |
//! |---|---|---:|---:|---:|
//! | glibc | `GLIBC_TUNABLES=glibc.malloc.tcache_count=0` | 10 100 | 9 900 | 2 200 |
//! | glibc | `MALLOC_ARENA_MAX=1`: no difference | 11 900 | 10 200 | 4 000 |
//! | jemalloc | `_RJEM_MALLOC_CONF=tcache:false,narenas:1` | 12 100 | 13 000 | 3 500 |
//! | jemalloc | `_RJEM_MALLOC_CONF=tcache_max:512` | 28 600 | 31 400 | 5 000 |
//! | mimalloc, of 10 000 | `MIMALLOC_PURGE_DELAY=0`, and as below | 35 100 | 44 000 | 4 400 |
//!
//! mimalloc also wants `MIMALLOC_ARENA_EAGER_COMMIT=0` and `MIMALLOC_EAGER_COMMIT_DELAY=100`; under it a hundred
//! thousand take 3.5 GB, and 950 us each to make. For very many at once, glibc's allocator is the one to have. Besides:
//! fewer alive at once, since those that come later cost what stands under *again*; tasks; light processes.
//!
//! Processor time, on a machine with others at work: to be compared, not believed. An Intel Xeon, 2 cores, Linux 6.18;
//! `cargo run --release --manifest-path bench/allocators/Cargo.toml --features jemalloc -- 100000`.

/// The table of settings, for the documentation; the test below holds it against [`SETTINGS`].
macro_rules! settings_table {
    () => {
        "
| variable | values | default |
|---|---|---|
| `RADDLE_WORKERS` | 1 to 1024 | the cores that affinity and cgroup give |
| `RADDLE_QUEUES` | `worker`, `group:N`, `shared` | `worker` |
| `RADDLE_BALANCE` | `steal`, `share`, `fair`, `none` | `steal` |
| `RADDLE_VICTIM` | the word of a [`Victim`] | `backlog` |
| `RADDLE_MIGRATION` | `on`, `off` | `on` |
| `RADDLE_PROCESSES` | `full`, `light`: allowed where the program has declared it sound | `full` |
| `RADDLE_FUTURES` | `lazy`, `child` | `lazy` |
| `RADDLE_TICK` | 100us to 10s | `10ms` |
| `RADDLE_SPIN` | up to 10ms | `0us` |
| `RADDLE_PIN` | `on`, `off` | `off` |
| `RADDLE_STACK_SIZE` | bytes, as 65536, 64K, 1M, 1G | `64K` |
| `RADDLE_MEMBARRIER` | `on`, `off` | `on` |
| `RADDLE_MEASURE_STACKS` | `on`, `off` | `off` |
| `RADDLE_TRACE` | a file that ends in `.rdt`, for a trace at the end | none |
| `RADDLE_TRACE_LEVEL` | `off`, `sched`, `sync`, `user` | `sched` if there is a file |
| `RADDLE_TRACE_LAST` | bytes from 64K to 4096M, for each worker | `64M` |
| `RADDLE_TRACE_STREAM` | `on`, `off` | `off` |
| `RADDLE_STATS` | `on`, `off` | `off` |
| `RADDLE_DEADLOCK` | `exit`, `report`, `off` | `exit`, with code 3 |
| `RADDLE_SLOW_SLICE` | from 10ms, or `off` | `100ms` |
| `RADDLE_LIVELOCK` | from 1s, or `off` | `10s` |
| `RADDLE_SIGQUIT` | `on`, `off` | `on`: a dump, unless the program handles it |
| `RADDLE_SEED` | a number, or a schedule as `12:1,30:2` | none: as it comes |
"
    };
}
use settings_table;

pub mod task;

pub use raddle_core::before_sleep;
pub use raddle_core::blocking::blocking;
pub use raddle_core::{
    Balance, BuildError, Builder, ConfigError, Futures, Policy, Queues, Runtime, Stats, Victim,
};
pub use raddle_core::{DECADE_NAMES, DECADES, IdleDecade, Load, READY_LENGTHS, READY_NAMES};
pub use raddle_core::{SETTINGS, Setting, cancel};
#[cfg(feature = "explore")]
#[doc(inline)]
pub use raddle_explore as explore;
#[cfg(feature = "explore")]
pub use raddle_explore::explore;
#[cfg(feature = "hang")]
#[doc(inline)]
pub use raddle_hang as hang;
#[cfg(feature = "hang")]
pub use raddle_hang::dump;
pub use raddle_job::{
    BroadcastContext, FnContext, Fork, Scope, ScopeFifo, broadcast, fork, in_place_scope,
    in_place_scope_fifo, join, join_context, par_for, par_for_each, par_map, scope, scope_fifo, spawn,
    spawn_broadcast, spawn_fifo,
};
#[allow(deprecated, reason = "a path swap compiles, with the warning that it had")]
pub use raddle_job::{Configuration, initialize};
#[allow(deprecated, reason = "programs that use the former names still compile")]
pub use raddle_job::{Future, future};
pub use raddle_job::{
    ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local, yield_now,
};
#[cfg(feature = "net")]
#[doc(inline)]
pub use raddle_net::{fs, io, net, process};
#[cfg(feature = "trace")]
#[doc(inline)]
pub use raddle_recorder as trace;
#[cfg(feature = "stm")]
#[doc(inline)]
pub use raddle_stm as stm;
pub use raddle_sync::{channel, csp, select, select_biased, sync};
pub use raddle_thread as thread;
pub use std::thread_local;

/// Marks of the program's own: without the feature `trace` nothing records them.
#[cfg(not(feature = "trace"))]
pub mod trace {
    pub use raddle_core::trace::{Entered, Level, Mark, counter, enter, leave, mark, span};
}

/// Makes `main` the first process of the default runtime.
///
/// The program ends when `main` returns, whatever still runs, as with the threads of `std`. An `async fn main` is run
/// to its end in that process. It may return what any `main` may, an error that is not `Send`, too. Arguments:
/// `workers = N`, `stack_size = BYTES`, which win over the environment, and `unsafe(light)`. A setting that is wrong is
/// printed, and the program ends with code 2.
///
/// # Safety
/// `unsafe(light)` makes processes light: [`Builder::light_processes`] says what the program vouches for by that.
///
/// ```
/// #[raddle::main(workers = 2)]
/// async fn main() {
///     let half = raddle::task::spawn(async { 21 });
///     assert_eq!(2 * half.await.unwrap(), 42);
/// }
/// ```
///
/// ```
/// #[raddle::main]
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let number: u32 = "42".parse()?;
///     assert_eq!(raddle::csp::spawn(move || number).join().unwrap(), 42);
///     Ok(())
/// }
/// ```
///
/// ```
/// // SAFETY: no process uses a thread-local variable.
/// #[raddle::main(unsafe(light), workers = 1)]
/// fn main() {
///     assert_eq!(raddle::csp::spawn(|| 7).join().unwrap(), 7);
/// }
/// ```
///
/// ```compile_fail
/// #[raddle::main(threads = 2)]
/// fn main() {}
/// ```
///
/// ```compile_fail
/// #[raddle::main(light)]
/// fn main() {}
/// ```
#[cfg(feature = "macros")]
pub use raddle_macros::main;

/// The examples of the pages for users. Those that are in no package are found where this crate lies in the repository.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    mod readme {}

    #[cfg(feature = "macros")]
    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))]
    mod front {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BLOCKING.md"))]
    mod blocking {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CANCEL.md"))]
    mod cancellation {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/NET.md"))]
    mod net {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/PORTING.md"))]
    mod porting {}

    #[cfg(feature = "explore")]
    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/EXPLORE.md"))]
    mod exploration {}

    #[cfg(feature = "stm")]
    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/STM.md"))]
    mod transactions {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/MINUTE.md"))]
    mod minute {}

    #[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/TUTORIAL.md"))]
    mod tutorial {}
}

/// For the code that `#[raddle::main]` expands to.
#[doc(hidden)]
pub mod __private {
    use crate::Builder;
    use std::io::Write as _;
    use std::process::{ExitCode, Termination};

    /// Starts the default runtime and runs `main` as its first process, which also reports what `main` returned.
    #[track_caller]
    pub fn run_main<T: Termination>(builder: Builder, main: impl FnOnce() -> T + Send + 'static) -> ExitCode {
        if let Err(error) = builder.build_global() {
            let _unwritable = writeln!(std::io::stderr(), "raddle: {error}");
            std::process::exit(2);
        }
        // The first process is as roomy as a main thread is.
        let first = crate::csp::Builder::new().name("main").stack_size(8 << 20).spawn(|| main().report());
        let first = first.unwrap_or_else(|refused| panic!("the main process cannot be spawned: {refused}"));
        first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_documented_settings_are_all_there_are() {
        let table = settings_table!();
        let documented = table.lines().filter(|line| line.starts_with("| `RADDLE_"));
        let documented: Vec<&str> = documented.filter_map(|line| line.split('`').nth(1)).collect();
        let real: Vec<&str> = crate::SETTINGS.iter().map(|s| s.variable).collect();
        assert_eq!(documented, real);
    }
}
