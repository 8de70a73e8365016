//! Owns: `cargo xtask itm`: the library for programs with gcc's transactions, in a folder for `raddle exec`.
//! May use: `link_shared`, `report`, `anyhow`.
//! Never: a list of symbols.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::link_shared::{self, LinkSharedArgs};
use crate::report;

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
    let folder = args.output.clone().unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join(if args.debug { "debug" } else { "release" }).join("raddle-itm")
    });
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let code = link_shared::run(&LinkSharedArgs {
        package: "raddle-itm".to_owned(),
        example: None,
        version_script: Path::new("crates/raddle-itm/itm.map").to_owned(),
        soname: None,
        output: folder.join("libraddle_itm.so"),
        release: !args.debug,
        keep_symbols: args.debug,
    })?;
    report::say(&format!("{} is for `raddle exec --itm`\n", folder.display()));
    Ok(code)
}
