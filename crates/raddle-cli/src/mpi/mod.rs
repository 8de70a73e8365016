//! Owns: `raddle mpi`: what is there of MPI, and the shim for it; programs on more ranks than there are, simulated.
//! May use: `refusal`, `clap`, `raddle-mpi`.
//! Never: a call of MPI.

mod interrupt;
mod simulate;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use raddle_mpi::install::{self, Flavour};
use raddle_mpi::simulate::launcher;

use crate::refusal::Error;
use simulate::{SIMULATE_HELP, Simulate};

/// `raddle mpi`.
#[derive(clap::Args)]
pub(crate) struct Mpi {
    #[command(subcommand)]
    command: MpiCommand,
}

#[derive(Subcommand)]
enum MpiCommand {
    /// Show which MPIs are found, whether their shims are built, and what to install
    Info,
    /// Build the shim: the library through which programs call MPI
    Build {
        /// The MPI's compiler; by default those that are found, one for each MPI
        #[arg(long, value_name = "PATH")]
        mpicc: Option<PathBuf>,
    },
    /// SIMULATED: an exchange of faces on up to thousands of ranks, by SimGrid, beside the formula
    #[command(after_help = SIMULATE_HELP)]
    Simulate(Simulate),
}

/// What came of it.
pub(crate) enum MpiEnded {
    /// There is this to show.
    Text(String),
    /// What was simulated is as the formula has it, or not; that was shown.
    Simulated(bool),
    /// By this signal.
    Interrupted(i32),
}

impl Mpi {
    /// Does it.
    pub(crate) fn carry_out(self) -> Result<MpiEnded, Error> {
        match self.command {
            MpiCommand::Info => Ok(MpiEnded::Text(info())),
            MpiCommand::Simulate(simulate) => simulate.carry_out(),
            MpiCommand::Build { mpicc: Some(mpicc) } => build(&[mpicc]).map(MpiEnded::Text),
            MpiCommand::Build { mpicc: None } => {
                let found: Vec<_> = install::compilers().into_iter().map(|(path, _)| path).collect();
                if found.is_empty() {
                    return Err(Error::NotFound(format!("there is no mpicc; {}", advice())));
                }
                build(&found).map(MpiEnded::Text)
            }
        }
    }
}

fn build(compilers: &[PathBuf]) -> Result<String, Error> {
    let mut text = String::new();
    for mpicc in compilers {
        let library = install::build(mpicc).map_err(|error| Error::Build(error.to_string()))?;
        let _ = writeln!(text, "{} (by {})", library.display(), mpicc.display());
    }
    Ok(text)
}

fn info() -> String {
    let found = install::compilers();
    let mut text = String::new();
    for flavour in Flavour::ALL {
        let compiler = found.iter().find(|(_, other)| *other == flavour);
        let compiler = compiler.map_or("not found".to_owned(), |(path, _)| path.display().to_string());
        let shim = flavour.shim();
        let state = if shim.is_file() { "built" } else { "not built" };
        let _ = writeln!(text, "{:<8} compiler: {compiler}", flavour.name());
        let _ = writeln!(text, "{:<8} shim: {state}, {}", "", shim.display());
    }
    let simulator = launcher()
        .map_or_else(|_| "not found (libsimgrid-dev)".to_owned(), |path| path.display().to_string());
    let _ = writeln!(text, "{:<8} launcher: {simulator}, for `raddle mpi simulate`", "simgrid");
    if found.is_empty() {
        let _ = writeln!(text, "\nTo use MPI, {}", advice());
    } else {
        text.push_str("\n`raddle mpi build` builds the shims anew, `--mpicc PATH` by another compiler.\n");
    }
    text
}

fn advice() -> &'static str {
    "install one and build its shim; on Debian: apt-get install libopenmpi-dev openmpi-bin (or libmpich-dev mpich), \
     then raddle mpi build; or name its compiler by MPICC"
}
