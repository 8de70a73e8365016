//! Owns: `cargo xtask conformance`: independent suites of occam programs, from checkouts that the user has.
//! May use: `house`, `report`, `anyhow`.
//! Never: keeps a line of those suites in this repository.
//!
//! Two suites. `KRoC:tests/cgtests` check themselves: each prints a line that begins with `^^^ Passed`, and how many
//! assertions held. Tock's `testcases/automatic` hold small programs that must be accepted or refused.
//!
//! Cargo builds `raddle`, which runs as a program.

mod cgtests;
mod tock;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use crate::report::say;

/// Arguments of `conformance`.
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// The folder `KRoC:tests/cgtests` of a checkout
    #[arg(long, value_name = "DIR")]
    cgtests: Option<PathBuf>,
    /// The folder `testcases/automatic` of a checkout of Tock
    #[arg(long, value_name = "DIR")]
    tock: Option<PathBuf>,
    /// Show each refusal of a program that should be accepted, with its first complaint
    #[arg(long)]
    explain: bool,
}

/// Runs the suites that are there and prints their tables. Fails if less passes than must.
pub(crate) fn run(args: &ConformanceArgs) -> anyhow::Result<ExitCode> {
    ensure!(args.cgtests.is_some() || args.tock.is_some(), "give --cgtests DIR, or --tock DIR, or both");
    let raddle = build()?;
    let mut good = true;
    if let Some(folder) = &args.cgtests {
        let (text, reached) = cgtests::table(&raddle, &folder.canonicalize()?)?;
        say(&text);
        good &= reached;
    }
    if let Some(folder) = &args.tock {
        let (text, reached) = tock::table(&raddle, folder, args.explain)?;
        say(&text);
        good &= reached;
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command `raddle`, built in release.
fn build() -> anyhow::Result<PathBuf> {
    let status = Command::new("cargo").args(["build", "--quiet", "--release", "-p", "raddle-cli"]).status();
    let status = status.context("could not start `cargo`; is it on PATH?")?;
    ensure!(status.success(), "raddle could not be built");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| crate::house::root().join("target"), PathBuf::from);
    Ok(target.join("release").join("raddle"))
}

/// The files of a folder whose names are chosen, sorted.
fn files(folder: &Path, chosen: impl Fn(&str) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(&chosen) {
            list.push(path);
        }
    }
    list.sort();
    ensure!(!list.is_empty(), "nothing of the suite is in {}", folder.display());
    Ok(list)
}
