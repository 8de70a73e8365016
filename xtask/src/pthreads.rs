//! Owns: `cargo xtask pthreads`: the library for programs with POSIX threads, in a folder for `raddle exec`.
//! May use: `link_shared`, `pthread_programs`, `report`, `anyhow`.
//! Never: a list of symbols.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::link_shared::{self, LinkSharedArgs};
use crate::pthread_programs;
use crate::report;

/// Where the library goes.
#[derive(clap::Args)]
pub(crate) struct PthreadsArgs {
    /// The folder that gets it; by default `raddle-pthreads` beside the `raddle` of a release build
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Compile as for tests
    #[arg(long)]
    pub(crate) debug: bool,
    /// Run programs that are installed here on it, and compare with what they say natively: all, or these
    #[arg(long, value_name = "NAMES", num_args = 0.., value_delimiter = ',')]
    pub(crate) programs: Option<Vec<String>>,
    /// With `--programs`: the library is there already
    #[arg(long, value_name = "LIBRARY", requires = "programs")]
    pub(crate) with: Option<PathBuf>,
}

/// Builds it, and tries programs on it.
pub(crate) fn run(args: &PthreadsArgs) -> anyhow::Result<ExitCode> {
    let (library, code) = match &args.with {
        Some(library) => (library.clone(), ExitCode::SUCCESS),
        None => build(args)?,
    };
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let Some(names) = &args.programs else { return Ok(code) };
    let library = std::path::absolute(library)?;
    let all_agree = pthread_programs::run(&library, names)?;
    Ok(if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build(args: &PthreadsArgs) -> anyhow::Result<(PathBuf, ExitCode)> {
    let folder = args.output.clone().unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join(if args.debug { "debug" } else { "release" }).join("raddle-pthreads")
    });
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let library = folder.join("libraddle_pthread.so");
    let code = link_shared::run(&LinkSharedArgs {
        package: "raddle-pthread".to_owned(),
        example: None,
        version_script: Path::new("crates/raddle-pthread/pthread.map").to_owned(),
        soname: None,
        output: library.clone(),
        release: !args.debug,
        keep_symbols: args.debug,
    })?;
    report::say(&format!("{} is for `raddle exec --pthreads`\n", folder.display()));
    Ok((library, code))
}
