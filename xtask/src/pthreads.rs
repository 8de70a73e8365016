//! Owns: `cargo xtask pthreads`: the library for programs with POSIX threads, in a folder for `raddle exec`.
//! May use: `link_shared`, `pthread_programs`, `anyhow`.
//! Never: a list of symbols.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::link_shared::Preloaded;
use crate::pthread_programs;

const PTHREADS: Preloaded = Preloaded {
    package: "raddle-pthread",
    version_script: "crates/raddle-pthread/pthread.map",
    file: "libraddle_pthread.so",
    // What allocates, by the program's `malloc`, in the midst of the scheduler: see `memory` there.
    wraps: &[
        "malloc",
        "calloc",
        "realloc",
        "free",
        "posix_memalign",
        "realpath",
        "pthread_create",
        "pthread_attr_destroy",
        // Has none in its place.
        "__cxa_thread_atexit_impl",
    ],
    folder: "raddle-pthreads",
    option: "--pthreads",
};

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
        None => PTHREADS.build(args.output.as_deref(), args.debug)?,
    };
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let Some(names) = &args.programs else { return Ok(code) };
    let library = std::path::absolute(library)?;
    let all_agree = pthread_programs::run(&library, names)?;
    Ok(if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
