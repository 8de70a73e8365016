//! Owns: running a program of bytecode on an operating system, on one core or all.
//! May use: `raddle-bytecode`, `raddle-core`, `raddle-vm`.
//! Never: the terminal itself, arguments, exit codes; the caller brings a [`World`].
//!
//! With one worker, or with a seed, the machine's own single-threaded scheduler runs (`one`); with several, each
//! process is a runnable of `raddle-core` (`many`), once there is work for several. Only workers can record a trace:
//! then the single-threaded scheduler runs on one of them. A debug build runs on one worker, which finds the same
//! races. Both schedulers end in the same ways: by the end of the program, a run-time error, or a deadlock.

// Loom's model (`tests/loom.rs`) takes `many::ranks::pauses` alone: the scheduler is not compiled for loom.
#![cfg(not(loom))]

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
mod prim;
mod screen;
mod watch;
mod world;

#[cfg(feature = "native")]
pub use compile::{Compile, CompileInput};
pub use foreign::ForeignRoutines;
pub use many::ranks::RankLink;
pub use options::RunOptions;
pub use outcome::{RankOutcome, RunOutcome};
pub use raddle_core::{BuildError, Builder};
pub use raddle_vm::{Fault, Port, Stats, block_bytes, records, solo::Failure};
pub use world::World;

use many::ranks::{FarScreen, Keeper};
use outcome::RunRefusal;
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
        many::run(program, &options, start, (runtime, workers), world, None).map_err(build_error)
    }
}

fn build_error(refusal: RunRefusal) -> BuildError {
    match refusal {
        RunRefusal::Build(error) => error,
        RunRefusal::Ranks(_) => unreachable!("a program without ranks"),
    }
}

/// Runs a program to its end as one of several ranks, all of which call this with the same program. Rank 0 runs it;
/// others run the branches of PLACED PARs that are theirs, and have no keyboard, and rank 0's screen. On each, workers
/// run it from its first instruction on; a seed is not followed.
///
/// # Errors
/// As [`run`]; the others end then, too.
pub fn run_on_ranks(
    program: Verified,
    options: RunOptions,
    world: Arc<dyn World>,
    link: Arc<dyn RankLink>,
) -> Result<(RunOutcome, RankOutcome), BuildError> {
    let keeper = Arc::new(Keeper::new(link));
    let ran = run_as_rank(program, &options, world, &keeper);
    match ran {
        Ok(outcome) => {
            let well = outcome.result.is_ok();
            Ok((outcome, keeper.end(well)))
        }
        Err(RunRefusal::Ranks(outcome)) => {
            let ended = RunOutcome { result: Err(Failure::Quit), ..RunOutcome::nothing_to_do(0) };
            Ok((ended, keeper.end_unbegun(outcome)))
        }
        Err(RunRefusal::Build(error)) => {
            keeper.end(false);
            Err(error)
        }
    }
}

fn run_as_rank(
    program: Verified,
    options: &RunOptions,
    world: Arc<dyn World>,
    keeper: &Arc<Keeper>,
) -> Result<RunOutcome, RunRefusal> {
    // SAFETY: as in `run`.
    let mut runtime = unsafe { options.runtime.clone().light_processes() };
    if options.workers != 0 {
        runtime = runtime.workers(options.workers);
    }
    let workers = runtime.worker_count()?;
    keeper.compare_programs(fingerprint(&program.module().write()))?;
    let world: Arc<dyn World> = match keeper.is_first() {
        true => world,
        false => Arc::new(FarScreen { world, keeper: keeper.clone() }),
    };
    many::run(program, options, many::Start::Queued, (runtime, workers), world, Some(keeper))
}

/// FNV-1a, of 64 bits.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

pub use world::NoKeys;
