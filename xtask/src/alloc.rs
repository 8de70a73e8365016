//! Owns: `cargo xtask alloc`: the allocator's library for `raddle alloc run`, and the long forms of its proofs.
//! May use: `report`, `anyhow`.
//! Never: a list of symbols; a bound on time.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use crate::report;

const FOLDER: &str = "raddle-alloc";
const FILE: &str = "libraddle_alloc.so";

/// Where the library goes, and what is tried instead.
#[derive(clap::Args)]
pub(crate) struct AllocArgs {
    /// The folder that gets it; by default `raddle-alloc` beside the `raddle` of a release build
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Compile as for tests
    #[arg(long)]
    debug: bool,
    /// Instead stop one thread after each instruction of each script, or each so many (T1 of docs/ALLOC.md): hours
    #[arg(long, value_name = "EVERY", num_args = 0..=1, default_missing_value = "1")]
    step: Option<usize>,
    /// Instead stop threads at random instructions, so often (T2 of docs/ALLOC.md)
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, default_missing_value = "1000")]
    park: Option<NonZeroUsize>,
    /// What `--park` tries in place of Raddle's: `malloc`, the C library's, or a library that is preloaded
    #[arg(long, value_name = "malloc|LIBRARY", requires = "park")]
    of: Option<String>,
    /// Instead hold so many random operations against a model, in thousands of millions
    #[arg(long, value_name = "MILLIARDS", num_args = 0..=1, default_missing_value = "1")]
    random: Option<usize>,
}

/// Builds it, or tries it.
pub(crate) fn run(args: &AllocArgs) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::SUCCESS;
    if let Some(library) = args.of.as_ref().filter(|of| *of != "malloc") {
        // The loader would go on without it.
        ensure!(
            std::path::Path::new(library).is_file(),
            "`{library}` is no file; `malloc` is the C library's"
        );
    }
    let mut trial = |test: &str, variables: &[(&str, usize)], filter: Option<&str>| -> anyhow::Result<()> {
        let mut command = cargo();
        command.envs(args.of.iter().map(|of| ("RADDLE_ALLOC_OF", of)));
        command.args(["test", "--release", "--package", FOLDER, "--test", test]);
        command.envs(variables.iter().map(|(name, value)| (name, value.to_string())));
        command.args(filter.map(|filter| ["--", "--nocapture", filter]).into_iter().flatten());
        if !command.status().context("could not start `cargo`; is it on PATH?")?.success() {
            worst = ExitCode::FAILURE;
        }
        Ok(())
    };
    if args.step.is_some() || args.park.is_some() {
        // What is not asked for is left out: a step beyond any script, no trial.
        let step = ("RADDLE_ALLOC_STEP", args.step.unwrap_or(usize::MAX));
        let park = ("RADDLE_ALLOC_TRIALS", args.park.map_or(0, NonZeroUsize::get));
        trial("stopped", &[step, park], None)?;
    }
    if let Some(milliards) = args.random {
        // Cases of four threads each: 4 million operations, so that what has run is told every few seconds.
        let (rounds, cases) = (1_000_000, milliards.max(1) * 250);
        let variables = [("RADDLE_ALLOC_ROUNDS", rounds), ("RADDLE_ALLOC_CASES", cases)];
        trial("it", &variables, Some("memory_holds"))?;
    }
    if args.step.is_some() || args.park.is_some() || args.random.is_some() {
        return Ok(worst);
    }
    build(args)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn build(args: &AllocArgs) -> anyhow::Result<ExitCode> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let profile = target.join(if args.debug { "debug" } else { "release" });
    let mut command = cargo();
    command.args(["build", "--quiet", "--package", FOLDER, "--example", "raddle_alloc"]);
    command.args((!args.debug).then_some("--release"));
    let status = command.status().context("could not start `cargo`; is it on PATH?")?;
    ensure!(status.success(), "the library was not built");
    let folder = args.output.clone().unwrap_or_else(|| profile.join(FOLDER));
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let from = profile.join("examples").join(FILE);
    std::fs::copy(&from, folder.join(FILE)).with_context(|| format!("could not copy {}", from.display()))?;
    report::say(&format!("{} is for `raddle alloc run`\n", folder.display()));
    Ok(ExitCode::SUCCESS)
}
