//! Owns: `cargo xtask itm`: the library for programs with gcc's transactions, in a folder for `raddle exec`.
//! May use: `link_shared`, `anyhow`.
//! Never: a list of symbols.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::link_shared::Preloaded;

const ITM: Preloaded = Preloaded {
    package: "raddle-itm",
    version_script: "crates/raddle-itm/itm.map",
    file: "libraddle_itm.so",
    wraps: &[],
    folder: "raddle-itm",
    option: "--itm",
};

/// Where the library goes.
#[derive(clap::Args)]
pub(crate) struct ItmArgs {
    /// The folder that gets it; by default `raddle-itm` beside the `raddle` of a release build
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Compile as for tests
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Builds it.
pub(crate) fn run(args: &ItmArgs) -> anyhow::Result<ExitCode> {
    Ok(ITM.build(args.output.as_deref(), args.debug)?.1)
}
