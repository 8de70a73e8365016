//! Owns: `raddle exec`: a program with the libraries of other threading interfaces replaced by Raddle's.
//! May use: `refusal`, `settings`.
//! Never: staying: it becomes the program.
//!
//! A library that stands for libgomp and libomp lies in a folder of its own, under their names. The dynamic linker
//! looks there first (`LD_LIBRARY_PATH`), so that the others are not loaded at all; and the library is preloaded, for
//! programs that bring a libgomp of another name with them, as Python's wheels do.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::refusal::Error;
use crate::settings::Settings;

/// Where the library is looked for first.
const VARIABLE: &str = "OPENMP_LIBRARY";
const FOLDER: &str = "raddle-openmp";
const LIBRARY: &str = "libraddle_omp.so";

/// `raddle exec`.
#[derive(clap::Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    settings: Settings,

    /// Only say what would be set
    #[arg(long)]
    show: bool,

    /// The program, looked for in PATH, and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    program: Vec<OsString>,
}

impl Exec {
    /// What it would do, if that is asked for; else it becomes the program, and returns only if that fails.
    pub(crate) fn carry_out(self) -> Result<String, Error> {
        let folder = folder()?;
        let library = folder.join(LIBRARY);
        let variables = [
            ("LD_LIBRARY_PATH", before(folder.as_os_str(), env::var_os("LD_LIBRARY_PATH"))),
            ("LD_PRELOAD", before(library.as_os_str(), env::var_os("LD_PRELOAD"))),
        ];
        let variables = || variables.iter().cloned().chain(self.settings.variables());
        if self.show {
            let shown = variables().map(|(name, value)| format!("{name}={}\n", value.to_string_lossy()));
            return Ok(shown.collect());
        }
        let (program, arguments) = self.program.split_first().expect("clap asks for a program");
        let error = Command::new(program).args(arguments).envs(variables()).exec();
        let shown = program.to_string_lossy();
        Err(match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(format!("there is no program `{shown}`")),
            _ => Error::CannotRun(format!("could not run `{shown}`: {error}")),
        })
    }
}

fn before(first: &OsStr, others: Option<OsString>) -> OsString {
    let mut all = first.to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The folder with the library: where the variable says, else beside this program.
fn folder() -> Result<PathBuf, Error> {
    let is_there = |folder: &Path| folder.join(LIBRARY).is_file();
    if let Some(folder) = env::var_os(VARIABLE).map(PathBuf::from) {
        let shown = folder.display();
        return match folder.canonicalize() {
            Ok(folder) if is_there(&folder) => Ok(folder),
            _ => Err(Error::NotFound(format!("{VARIABLE} is `{shown}`, where there is no {LIBRARY}"))),
        };
    }
    let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let beside = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = [beside.join(FOLDER), beside.join("../lib").join(FOLDER)];
    places.into_iter().find(|folder| is_there(folder)).ok_or_else(|| {
        Error::NotFound(format!(
            "there is no {FOLDER}/{LIBRARY} beside `raddle`; `cargo xtask openmp` in Raddle's source builds it, and \
             {VARIABLE} may name its folder"
        ))
    })
}
