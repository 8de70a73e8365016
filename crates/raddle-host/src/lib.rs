//! Owns: running a program of bytecode on an operating system, on one core or all.
//! May use: `raddle-bytecode`, `raddle-core`, `raddle-vm`.
//! Never: the terminal itself, arguments, exit codes; the caller brings a [`World`].
//!
//! With one worker, or with a seed, the machine's own single-threaded scheduler runs (`one`); with several, each
//! process is a runnable of `raddle-core` (`many`), once there is work for several. Only workers can record a trace:
//! then the single-threaded scheduler runs on one of them. A debug build runs on one worker, which finds the same
//! races. Both schedulers end in the same ways: by the end of the program, a run-time error, or a deadlock.

mod cancel;
#[cfg(feature = "native")]
mod compile;
mod foreign;
mod library;
mod long_calls;
mod many;
mod one;
mod options;
mod outcome;
mod screen;
mod watch;
mod world;

#[cfg(feature = "native")]
pub use compile::{Compile, CompileInput};
pub use foreign::ForeignRoutines;
pub use options::RunOptions;
pub use outcome::RunOutcome;
pub use raddle_core::{BuildError, Builder};
pub use raddle_vm::{Fault, Port, Stats, block_bytes, records, solo::Failure};
pub use world::World;

use raddle_bytecode::Verified;
use std::sync::Arc;

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
/// let outcome = raddle_host::run(program, raddle_host::RunOptions::default(), raddle_host::NoKeys::new())?;
/// assert!(outcome.result.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(program: Verified, options: RunOptions, world: Arc<dyn World>) -> Result<RunOutcome, BuildError> {
    // SAFETY: no process is ever spawned on it: its workers run the machine, as an engine.
    let mut runtime = unsafe { options.runtime.clone().light_processes() };
    if options.workers != 0 {
        runtime = runtime.workers(options.workers);
    }
    let workers = runtime.worker_count()?;
    let traced = runtime.is_traced()?;
    let alone = workers == 1 && !traced;
    if alone || options.seed.is_some() || program.module().is_debug_build() {
        Ok(one::run(program, &options, world))
    } else {
        let start = match (options.at_once, traced) {
            (true, _) => many::Start::Queued,
            (false, true) => many::Start::Traced,
            (false, false) => many::Start::Serial,
        };
        many::run(program, &options, start, (runtime, workers), world)
    }
}

pub use world::NoKeys;
