//! Owns: `cargo xtask link-shared`: how a crate becomes a shared library with versioned symbols.
//! May use: `report`, `anyhow`.
//! Never: a list of symbols; that is the version script's.
//!
//! rustc's own `cdylib` does not do: it gives the linker a version script of its own, beside which another is an error
//! or has no effect, so that its symbols have no versions. Programs compiled against libomp or the C library ask for
//! `GOMP_1.0` and `GLIBC_2.2.5`, though. So the crate becomes a static library, and the C compiler links that:
//!
//! | option | why |
//! |---|---|
//! | `--whole-archive`, `--gc-sections` | nothing refers to what is exported; what that does not reach goes |
//! | `--version-script` | what is exported, by which version; `local: *` hides all else, the runtime's names too |
//! | `-z defs` | what is not found is an error here, and not where a program starts |
//! | `-z now`, `-z relro` | no call of the runtime's goes through the dynamic linker's lock at its first time |
//! | `-z nodelete` | OS threads run its code: `dlclose` must not take it away |
//! | `--wrap` | what the standard library asks of the C library by name is to be the adaptor's affair |
//! | `--strip-all` | 11 MB of line tables, unless `--keep-symbols` |
//!
//! It uses cargo, the C compiler as a linker.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use crate::report;

/// What is to be linked, and how.
#[derive(clap::Args)]
pub(crate) struct LinkSharedArgs {
    /// The package whose library becomes a shared library
    #[arg(long, short)]
    pub(crate) package: String,
    /// Take this example of the package instead of its library
    #[arg(long)]
    pub(crate) example: Option<String>,
    /// The symbols that are exported, by version, in the linker's language
    #[arg(long, value_name = "FILE")]
    pub(crate) version_script: PathBuf,
    /// The name by which programs look for the library; else the file's
    #[arg(long)]
    pub(crate) soname: Option<String>,
    /// Where the library is written
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// A function that the library calls by this name is `__wrap_NAME`, which it has itself
    #[arg(long, value_name = "NAME")]
    pub(crate) wrap: Vec<String>,
    /// Compile for speed
    #[arg(long)]
    pub(crate) release: bool,
    /// Leave symbols and line tables in
    #[arg(long)]
    pub(crate) keep_symbols: bool,
}

/// Builds the static library and links it.
pub(crate) fn run(args: &LinkSharedArgs) -> anyhow::Result<ExitCode> {
    ensure!(args.version_script.is_file(), "there is no version script {}", args.version_script.display());
    let status = cargo(args).status().context("could not start `cargo`; is it on PATH?")?;
    ensure!(status.success(), "the static library was not built");
    let status = linker(args, &archive(args))?.status().context("could not start `cc`; is it on PATH?")?;
    ensure!(status.success(), "the shared library was not linked");
    Ok(ExitCode::SUCCESS)
}

/// A library that `raddle exec` preloads.
pub(crate) struct Preloaded {
    pub(crate) package: &'static str,
    pub(crate) version_script: &'static str,
    pub(crate) file: &'static str,
    /// What it calls by these names it has itself.
    pub(crate) wraps: &'static [&'static str],
    /// The folder beside `raddle` in which it is looked for.
    pub(crate) folder: &'static str,
    /// What is said to `raddle exec`.
    pub(crate) option: &'static str,
}

impl Preloaded {
    /// Builds it, into `output` or the folder beside `raddle`; with its path.
    pub(crate) fn build(&self, output: Option<&Path>, debug: bool) -> anyhow::Result<(PathBuf, ExitCode)> {
        let folder = output.map_or_else(
            || {
                let target =
                    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
                target.join(if debug { "debug" } else { "release" }).join(self.folder)
            },
            Path::to_owned,
        );
        std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        let library = folder.join(self.file);
        let code = run(&LinkSharedArgs {
            package: self.package.to_owned(),
            example: None,
            version_script: self.version_script.into(),
            soname: None,
            output: library.clone(),
            wrap: self.wraps.iter().map(|&name| name.to_owned()).collect(),
            release: !debug,
            keep_symbols: debug,
        })?;
        report::say(&format!("{} is for `raddle exec {}`\n", folder.display(), self.option));
        Ok((library, code))
    }
}

fn cargo(args: &LinkSharedArgs) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["rustc", "--quiet", "--crate-type", "staticlib", "--package", &args.package]);
    match &args.example {
        Some(example) => command.args(["--example", example]),
        None => command.arg("--lib"),
    };
    command.args(args.release.then_some("--release"));
    command
}

/// Where cargo puts the static library.
pub(crate) fn archive(args: &LinkSharedArgs) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let folder = target.join(if args.release { "release" } else { "debug" });
    let library = |name: &str| format!("lib{}.a", name.replace('-', "_"));
    match &args.example {
        Some(example) => folder.join("examples").join(library(example)),
        None => folder.join(library(&args.package)),
    }
}

fn linker(args: &LinkSharedArgs, archive: &Path) -> anyhow::Result<Command> {
    let name = match &args.soname {
        Some(name) => name.clone(),
        None => file_name(&args.output)?,
    };
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.arg("-shared").arg("-o").arg(&args.output);
    command.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive");
    command.arg(format!("-Wl,--version-script={}", args.version_script.display()));
    command.arg(format!("-Wl,-soname,{name}"));
    command.args(["-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,nodelete"]);
    command.args(args.wrap.iter().map(|name| format!("-Wl,--wrap={name}")));
    command.args((!args.keep_symbols).then_some("-Wl,--strip-all"));
    // What the standard library stands on: the unwinder of the system, which all libraries of a program share.
    command.args(["-Wl,--as-needed", "-lgcc_s", "-lm", "-ldl", "-lpthread", "-lc"]);
    Ok(command)
}

fn file_name(path: &Path) -> anyhow::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    Ok(name.with_context(|| format!("{} names no file", path.display()))?.to_owned())
}
