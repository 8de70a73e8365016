//! Owns: `raddle alloc`: its options, and where the allocator's library lies.
//! May use: `exec`, `image`, `refusal`, `clap`, `raddle-alloc`.
//! Never: a figure that the allocator did not count; staying where a program runs.

mod figures;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use clap::Subcommand;

use crate::exec::ALLOC;
use crate::image;
use crate::refusal::Error;

/// The variable with the allocator's options.
const OPTIONS: &str = "RADDLE_ALLOC";

/// `raddle alloc`.
#[derive(clap::Args)]
pub(crate) struct Alloc {
    #[command(subcommand)]
    what: AllocCommand,
}

#[derive(Subcommand)]
enum AllocCommand {
    /// Show what a running program's allocator holds: by class, unused, given back by other threads
    Stats {
        /// As JSON, with sizes in bytes
        #[arg(long)]
        json: bool,
        /// The process id of the program
        #[arg(value_name = "PID")]
        pid: u32,
    },
    /// Run a program with Raddle's allocator in the place of the C library's
    Run(RunArguments),
}

/// `raddle alloc run`.
#[derive(clap::Args)]
struct RunArguments {
    /// Write the figures to standard error when the program ends, as JSON
    #[arg(long)]
    stats: bool,
    /// Check each block: those freed twice, written to after that, or never given out
    #[arg(long, conflicts_with = "profile")]
    hardened: bool,
    /// Write which calls have allocated what is in use when the program ends, for `raddle trace view`; `%p` is the
    /// process id
    #[arg(long, value_name = "FILE")]
    profile: Option<String>,
    /// Further options of the allocator, such as `decay=500,limit=4G`
    #[arg(long, value_name = "OPTIONS")]
    set: Option<String>,
    /// The program, looked for in PATH, and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    program: Vec<OsString>,
}

impl Alloc {
    /// What there is to show; of a program that is run, only why it could not be.
    pub(crate) fn carry_out(self) -> Result<String, Error> {
        match self.what {
            AllocCommand::Stats { json, pid } => stats(pid, json),
            AllocCommand::Run(run) => Err(run.become_it()),
        }
    }
}

fn stats(pid: u32, json: bool) -> Result<String, Error> {
    let there_is = Path::new(&format!("/proc/{pid}")).exists();
    let statistics = raddle_alloc::statistics_of(pid).map_err(|error| match error.kind() {
        _ if !there_is => Error::NotFound(format!("there is no process {pid}")),
        io::ErrorKind::NotFound => Error::NotFound(format!(
            "process {pid} does not have Raddle's allocator; `raddle alloc run -- PROGRAM` runs one with it"
        )),
        _ => Error::CannotRun(format!("could not read the memory of process {pid}: {error}")),
    })?;
    let resident = resident_bytes(pid);
    Ok(if json { figures::json(&statistics, resident) } else { figures::text(&statistics, resident) })
}

/// What of the whole process is in memory.
fn resident_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

impl RunArguments {
    /// The options, in the allocator's own words.
    fn options(&self) -> Result<String, Error> {
        let profile = self.profile.as_ref().map(|file| format!("profile={file}"));
        if profile.as_ref().is_some_and(|profile| profile.contains(',')) {
            return Err(Error::Setting("a profile's name cannot have a comma".to_owned()));
        }
        let own = [
            env::var(OPTIONS).ok(),
            self.stats.then(|| "stats=on".to_owned()),
            self.hardened.then(|| "hardened=on".to_owned()),
            profile,
            self.set.clone(),
        ];
        Ok(own.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(","))
    }

    /// Becomes the program; returns only if that fails.
    fn become_it(self) -> Error {
        let options = match self.options() {
            Ok(options) => options,
            Err(error) => return error,
        };
        let library = match ALLOC.preloaded() {
            Ok(library) => library,
            Err(error) => return error,
        };
        let (program, arguments) = self.program.split_first().expect("clap asks for a program");
        let mut command = Command::new(program);
        let shown = program.to_string_lossy();
        if let Some(why) = image::takes_no_library(program) {
            // Nobody could be told if it cannot be written.
            let _unwritten = writeln!(io::stderr(), "raddle: `{shown}` runs as it is: {why}");
        }
        let error = command.args(arguments).env("LD_PRELOAD", library).env(OPTIONS, options).exec();
        match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(format!("there is no program `{shown}`")),
            _ => Error::CannotRun(format!("could not run `{shown}`: {error}")),
        }
    }
}
