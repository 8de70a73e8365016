//! Owns: running a program of bytecode on an operating system, on one core or all.
//! May use: `raddle-bytecode`, `raddle-core`, `raddle-vm`.
//! Never: the terminal itself, arguments, exit codes; the caller brings a [`World`].
//!
//! With one worker, or with a seed, the machine's own single-threaded scheduler runs (`one`); with several, each
//! process is a runnable of `raddle-core` (`many`), once there is work for several. The recorder of a trace is the
//! workers': then the single-threaded scheduler runs on one of them. A debug build runs on one: what orders two
//! accesses is the same. Both know the same end: the program's, a run-time error, a
//! deadlock.

mod many;
mod one;
mod outcome;
mod screen;
mod watch;
mod world;

pub use outcome::Outcome;
pub use raddle_core::{BuildError, Builder};
pub use raddle_vm::{Fault, Port, Stats, solo::Failure};
pub use world::World;

use raddle_bytecode::Verified;
use std::sync::Arc;

/// How to run a program.
#[derive(Clone, Debug)]
pub struct Options {
    /// OS threads; 0 for as many as `runtime` says.
    pub workers: usize,
    /// The settings of the workers' runtime; what is not set there comes from `RADDLE_*`.
    pub runtime: Builder,
    /// One schedule, replayable; runs on one worker.
    pub seed: Option<u64>,
    /// The most memory that frames, arrays and mobiles may take, in bytes.
    pub memory_bytes: u32,
    /// Several workers from the first instruction on, not only when there is work for several. For tests.
    pub at_once: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { workers: 0, runtime: Builder::default(), seed: None, memory_bytes: 1 << 30, at_once: false }
    }
}

/// Runs a program to its end.
///
/// # Errors
/// If a setting of the runtime, in the options or in `RADDLE_*`, is wrong, however many workers there are; if the
/// system refuses an OS thread.
///
/// ```
/// use raddle_bytecode::{build::ModuleBuilder, verify};
/// let mut module = ModuleBuilder::new();
/// let main = module.declare("main");
/// let mut code = module.function();
/// code.ldi(5, i32::from(b'!'));
/// code.output(3, 5, 1);
/// code.ret();
/// module.define(main, code, 6);
/// module.entry(main);
/// let program = verify(module.finish())?;
/// let outcome = raddle_host::run(program, raddle_host::Options::default(), raddle_host::NoKeys::new())?;
/// assert!(outcome.result.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(program: Verified, options: Options, world: Arc<dyn World>) -> Result<Outcome, BuildError> {
    let mut runtime = options.runtime.clone();
    if options.workers != 0 {
        runtime = runtime.workers(options.workers);
    }
    let workers = runtime.worker_count()?;
    let traced = runtime.is_traced()?;
    let alone = workers == 1 && !traced;
    if alone || options.seed.is_some() || program.module().is_debug_build() {
        Ok(one::run(program, options.memory_bytes, options.seed.unwrap_or(0), world))
    } else {
        let start = match (options.at_once, traced) {
            (true, _) => many::Start::Queued,
            (false, true) => many::Start::Recorded,
            (false, false) => many::Start::Alone,
        };
        many::run(program, options.memory_bytes, start, (runtime, workers), world)
    }
}

pub use world::NoKeys;
