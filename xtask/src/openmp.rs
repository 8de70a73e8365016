//! Owns: `cargo xtask openmp`: the library for OpenMP programs, in a folder with all the names that it stands for.
//! May use: `link_shared`, `report`, `anyhow`.
//! Never: a list of symbols.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::link_shared::{self, LinkSharedArgs};
use crate::report;

/// The names by which programs look for what the library is.
const NAMES: [&str; 4] = ["libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"];

/// Where the library goes.
#[derive(clap::Args)]
pub(crate) struct OpenmpArgs {
    /// The folder that gets it; by default `raddle-openmp` beside the `raddle` of a release build
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Compile as for tests
    #[arg(long)]
    pub(crate) debug: bool,
}

/// Builds it and gives it its names.
pub(crate) fn run(args: &OpenmpArgs) -> anyhow::Result<ExitCode> {
    let folder = args.output.clone().unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join(if args.debug { "debug" } else { "release" }).join("raddle-openmp")
    });
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let code = link_shared::run(&LinkSharedArgs {
        package: "raddle-omp".to_owned(),
        example: None,
        version_script: Path::new("crates/raddle-omp/omp.map").to_owned(),
        wrap: Vec::new(),
        soname: None,
        output: folder.join("libraddle_omp.so"),
        release: !args.debug,
        keep_symbols: args.debug,
    })?;
    for name in NAMES {
        let link = folder.join(name);
        if link.symlink_metadata().is_err() {
            symlink("libraddle_omp.so", &link)
                .with_context(|| format!("could not make {}", link.display()))?;
        }
    }
    report::say(&format!("{} is for `raddle exec`\n", folder.display()));
    Ok(code)
}
