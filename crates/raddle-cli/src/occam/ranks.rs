//! Owns: `raddle run --ranks`: an occam program as one of the ranks that `mpirun` has started, or that it is to start.
//! May use: `refusal`, `raddle-bytecode`, `raddle-host`, `raddle-mpi`.
//! Never: a call of MPI; `raddle-mpi` makes them.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use raddle_bytecode::Verified;
use raddle_host::{Failure, RankLink, RankOutcome, RunOptions, RunOutcome, World};
use raddle_mpi::{Net, NetConfig, NetError, PostBox, RemoteRecvError};

use super::RanOutcome;
use crate::refusal::Error;

/// By this variable another deadline is set.
const DEADLINE: &str = "MPI_DEADLINE";

/// The arguments with which each rank is to be one, and not to start others.
fn of_a_rank(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let starts = |argument: &OsString| argument.to_str().is_some_and(|text| text.starts_with("--ranks="));
    // What follows `--` is the program's.
    let mut is_ours = true;
    let each = arguments.map(|argument| {
        is_ours &= argument != "--";
        if is_ours && starts(&argument) { "--ranks".into() } else { argument }
    });
    each.collect()
}

/// Becomes `mpirun`, which starts so many ranks of this very command; returns only if that fails.
pub(crate) fn start(ranks: u32) -> Error {
    let mut arguments = std::env::args_os();
    let program = std::env::current_exe().map(OsString::from).ok().or_else(|| arguments.next());
    let Some(program) = program else {
        return Error::CannotRun("the system does not say where `raddle` is".to_owned());
    };
    let rest = of_a_rank(std::env::args_os().skip(1));
    let named = std::env::var("MPI_SHIM").map(|name| format!("mpirun.{name}"));
    let launchers = named.into_iter().chain(["mpirun", "mpirun.openmpi", "mpirun.mpich"].map(str::to_owned));
    for launcher in launchers {
        let mut command = Command::new(&launcher);
        command.args(["-n", &ranks.to_string()]).arg(&program).args(&rest);
        // Who says how many ranks there are to be may want more than there are cores: Open MPI 4, and 5.
        for (name, value) in [
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let error = command.exec();
        if error.kind() != std::io::ErrorKind::NotFound {
            return Error::CannotRun(format!("could not start `{launcher}`: {error}"));
        }
    }
    let advice = "`raddle mpi info` says what there is of MPI, and what to install";
    Error::NotFound(format!("there is no `mpirun` to start {ranks} ranks; {advice}"))
}

/// Whether `mpirun` says that this is another rank than 0: before MPI has begun.
pub(super) fn is_not_the_first() -> bool {
    let rank = |name: &&str| std::env::var(name).ok()?.parse::<u32>().ok();
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"].iter().find_map(rank).is_some_and(|rank| rank != 0)
}

/// The ranks of this job, by MPI.
struct MpiRanks {
    post: PostBox,
    rank: usize,
    size: usize,
    deadline: Duration,
}

impl RankLink for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, rank: usize, message: Vec<u8>) -> Result<(), String> {
        self.post.send(rank, message).map_err(|error| format!("rank {rank} is not reached: {error}"))
    }

    fn receive(&self, patience: Duration) -> Result<Option<(usize, Vec<u8>)>, String> {
        received(self.post.receive_timeout(patience))
    }

    fn look(&self) -> Result<Option<(usize, Vec<u8>)>, String> {
        received(self.post.try_receive())
    }

    fn lull(&self) -> Duration {
        self.post.lull()
    }

    fn deadline(&self) -> Duration {
        self.deadline
    }
}

fn received(message: Result<(usize, Vec<u8>), RemoteRecvError>) -> Result<Option<(usize, Vec<u8>)>, String> {
    match message {
        Ok(message) => Ok(Some(message)),
        Err(RemoteRecvError::Empty) => Ok(None),
        Err(RemoteRecvError::Disconnected) => Err("all other ranks have left".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs a program as one of the ranks.
pub(super) fn run(
    program: Verified,
    options: RunOptions,
    world: Arc<dyn World>,
) -> Result<RanOutcome, Error> {
    if program.module().is_debug_build() {
        let text = "--debug looks for races within one machine; --ranks has several";
        return Err(Error::Setting(text.to_owned()));
    }
    if options.seed.is_some() {
        let text = "a seed replays the schedule of one machine; --ranks has several";
        return Err(Error::Setting(text.to_owned()));
    }
    let refused = |error: NetError| Error::CannotRun(format!("--ranks: {error}"));
    let deadline = deadline()?;
    let net = Net::start(NetConfig::default().deadline(deadline)).map_err(refused)?;
    let post = net.post_box("raddle run").map_err(refused)?;
    let (rank, size) = (net.rank(), net.size());
    let link = Arc::new(MpiRanks { post, rank, size, deadline });
    let ran = raddle_host::run_on_ranks(program, options, world, link);
    let (outcome, of_ranks) = ran.map_err(|error| super::refused(&error))?;
    Ok(said((net, rank), outcome, of_ranks))
}

/// After what time a rank that says nothing is given up: 30 seconds, or what the environment says.
fn deadline() -> Result<Duration, Error> {
    let Some(text) = std::env::var_os(DEADLINE) else { return Ok(Duration::from_secs(30)) };
    let seconds = text.to_str().and_then(|text| text.parse::<f64>().ok()).filter(|seconds| *seconds >= 0.1);
    let span = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let refused = || format!("{DEADLINE} is {text:?}, and is to be seconds, 0.1 at least");
    span.ok_or_else(|| Error::Setting(refused()))
}

/// What this rank is to say: what is another one's reason that one says.
fn said((net, rank): (Net, usize), outcome: RunOutcome, of_ranks: RankOutcome) -> RanOutcome {
    if of_ranks.is_lost {
        net.give_up();
    }
    let whose = format!("rank {rank}: ");
    let is_deadlock = outcome.result == Err(Failure::Deadlock);
    // The account of a deadlock is of all ranks, each by its name.
    let told = of_ranks.told.map(|text| if is_deadlock { text } else { format!("{whose}{text}") });
    let is_told = match told {
        Some(_) => is_deadlock || outcome.report.is_none(),
        None => of_ranks.ended_by.is_some(),
    };
    RanOutcome { net: Some(net), outcome, whose, told, is_told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_the_programs_own_arguments_as_they_are() {
        let of =
            |line: &str| of_a_rank(line.split(' ').map(OsString::from)).join(OsString::from(" ").as_os_str());
        assert_eq!(of("run --ranks=4 a.occ -- --ranks=4"), "run --ranks a.occ -- --ranks=4");
        assert_eq!(of("run --ranks=2 --native a.occ"), "run --ranks --native a.occ");
    }
}
