//! Owns: `raddle lab`: it builds and starts the laboratory.
//! May use: `refusal`, `clap`.
//! Never: measuring.
//!
//! The laboratory is `raddle-lab`, in the workspace of the rivals, which depend on whole runtimes: without it `raddle`
//! builds quickly. What the experiments are is known without it: `lab.txt`, which a test of the laboratory holds
//! against its table. So is how it is asked: what is wrong is refused before anything is built.

#[allow(dead_code, reason = "only the laboratory looks at what was asked for")]
mod grammar;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser as _;

use crate::refusal::Error;
use grammar::LabLine;

/// `raddle lab`.
#[derive(clap::Args)]
pub(crate) struct Lab {
    /// Arguments for the laboratory; try `raddle lab --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// The experiments, as the laboratory lists them.
const LIST: &str = include_str!("lab.txt");

impl Lab {
    /// What needs no laboratory: `raddle lab list`.
    pub(crate) fn text(&self) -> Option<&'static str> {
        (self.args == ["list"]).then_some(LIST)
    }

    /// What the laboratory would say before it does anything: what is wrong, or its help.
    pub(crate) fn said_at_once(&self) -> Option<clap::Error> {
        let words = std::iter::once("lab".into()).chain(self.args.iter().cloned());
        LabLine::try_parse_from(words).err()
    }

    /// Replaces this process by the laboratory, built in release; returns only if that fails.
    pub(crate) fn become_it(&self) -> Error {
        let here = std::env::current_dir().unwrap_or_default();
        let Some(manifest) = manifest(&here) else {
            let advice = "run it in a checkout of Raddle's repository: it builds what it measures";
            return Error::NotFound(format!("there is no `bench/lab` above {}; {advice}", here.display()));
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // It may take minutes, the first time and after a change, of which cargo tells what it is at.
        command.args(["run", "--release", "--bin", "raddle-lab", "--manifest-path"]).arg(manifest);
        let error = command.arg("--").args(&self.args).exec();
        Error::Build(format!("could not start cargo: {error}; the laboratory is built by it"))
    }
}

/// The manifest of the benchmarks, in the folder or above it, or where this program was built.
fn manifest(here: &Path) -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = here
        .ancestors()
        .chain(built.ancestors())
        .filter(|folder| folder.join("bench/lab/Cargo.toml").is_file());
    all.map(|folder| folder.join("bench/Cargo.toml")).next()
}

#[test]
fn the_laboratory_lies_in_this_tree() {
    let manifest = manifest(Path::new("/")).expect("it is there");
    assert!(manifest.is_file(), "{}", manifest.display());
}
