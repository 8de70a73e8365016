//! Owns: the way from `cargo xtask bench` to the benchmark runner.
//! May use: `anyhow`.
//! Never: measuring; that is `bench-runner`'s, in a workspace of its own because the rivals pull in whole runtimes.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Context as _;

/// Builds the runner in release and hands it `args`; its exit code is ours.
pub(crate) fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    become_one_of_bench("bench-runner", args)
}

/// Builds the rivals; the laboratory knows which there are.
pub(crate) fn rivals() -> anyhow::Result<ExitCode> {
    become_one_of_bench("raddle-lab", &["rivals".into()])
}

fn become_one_of_bench(binary: &str, args: &[OsString]) -> anyhow::Result<ExitCode> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--manifest-path", "bench/Cargo.toml", "--bin", binary, "--"])
        .args(args)
        .status()
        .context("could not start `cargo`; is it on PATH?")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
