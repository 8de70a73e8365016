//! Owns: how a program has ended.
//! May use: `raddle-bytecode`, `raddle-core`, `raddle-vm`.
//! Never: running one.

use raddle_bytecode::Trap;
use raddle_core::BuildError;
use raddle_vm::{Fault, Machine, Stats, solo::Failure};

/// How a program has ended.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Success, or why it failed.
    pub result: Result<(), Failure>,
    /// For a run-time error or a deadlock: what happened where.
    pub report: Option<raddle_vm::Report>,
    /// Its counters.
    pub stats: Stats,
    /// The most bytes of memory that were in use at once.
    pub memory_max: u64,
    /// The bytes that were in use at the end; a program that has come to its end leaves none.
    pub memory_left: u64,
    /// The most that it could have had: less than [`RunOptions::memory_bytes`](crate::RunOptions::memory_bytes) where
    /// the system had not so much.
    pub memory_bytes: u32,
    /// If machine code was made: how many checks are in it, and how many were left out because they cannot fail.
    pub checks: Option<(u64, u64)>,
    /// How many OS threads ran it; 1 if it never had work for several.
    pub workers: usize,
}

/// How a program over ranks has ended, beside what [`RunOutcome`] says of this one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankOutcome {
    /// The rank that has ended it for a reason of its own, which it tells itself.
    pub ended_by: Option<usize>,
    /// What is to be said here, beside the report: of ranks.
    pub told: Option<String>,
    /// A rank was given up: the others are not to wait for it.
    pub is_lost: bool,
}

impl RankOutcome {
    pub(crate) fn told(text: String) -> RankOutcome {
        RankOutcome { told: Some(text), ..RankOutcome::default() }
    }
}

/// Why a program has not run.
pub(crate) enum RunRefusal {
    Build(BuildError),
    /// Because of other ranks.
    Ranks(RankOutcome),
}

impl From<BuildError> for RunRefusal {
    fn from(error: BuildError) -> Self {
        RunRefusal::Build(error)
    }
}

impl From<RankOutcome> for RunRefusal {
    fn from(outcome: RankOutcome) -> Self {
        RunRefusal::Ranks(outcome)
    }
}

impl RunOutcome {
    /// Of a rank for which no PLACED PAR has anything to do.
    pub(crate) fn nothing_to_do(memory_bytes: u32) -> RunOutcome {
        RunOutcome { result: Ok(()), memory_bytes, ..RunOutcome::not_begun(Trap::Placed) }
    }

    pub(crate) fn not_begun(trap: Trap) -> RunOutcome {
        let failure = Failure::Fault(Fault { trap, process: 0, at: 0 });
        RunOutcome {
            result: Err(failure),
            report: None,
            stats: Stats::default(),
            memory_max: 0,
            memory_left: 0,
            memory_bytes: 0,
            checks: None,
            workers: 0,
        }
    }
}

/// The checks in a machine's compiled code.
pub(crate) fn checks<L: Default>(machine: &Machine<L>) -> Option<(u64, u64)> {
    #[cfg(feature = "native")]
    return machine.native_checks().map(|checks| (checks.made, checks.left_out));
    #[cfg(not(feature = "native"))]
    {
        let _ = machine;
        None
    }
}
