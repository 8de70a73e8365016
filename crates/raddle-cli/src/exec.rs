//! Owns: `raddle exec`: a program with the libraries of other threading interfaces replaced by Raddle's.
//! May use: `image`, `refusal`, `settings`.
//! Never: staying: it becomes the program.
//!
//! A library that stands for libgomp and libomp lies in a folder of its own, under their names. The dynamic linker
//! looks there first (`LD_LIBRARY_PATH`), so that the others are not loaded at all; and the library is preloaded, for
//! programs that bring a libgomp of another name with them, as Python's wheels do.
//!
//! The one for POSIX threads is only preloaded. Each has a runtime of its own, so a program gets one of the two: who
//! asks for POSIX threads has its OpenMP library run on those. The one for gcc's transactions is preloaded, too, and
//! has no runtime: it goes with POSIX threads, or by itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::image;
use crate::refusal::Error;
use crate::settings::Settings;

/// A library: what it is called, in which folder, and which variable names another one.
pub(crate) struct Library {
    file: &'static str,
    folder: &'static str,
    variable: &'static str,
    task: &'static str,
}

const OPENMP: Library =
    Library { file: "libraddle_omp.so", folder: "raddle-openmp", variable: "OPENMP_LIBRARY", task: "openmp" };

const PTHREADS: Library = Library {
    file: "libraddle_pthread.so",
    folder: "raddle-pthreads",
    variable: "PTHREADS_LIBRARY",
    task: "pthreads",
};

/// The allocator, for `raddle alloc run`.
pub(crate) const ALLOC: Library =
    Library { file: "libraddle_alloc.so", folder: "raddle-alloc", variable: "ALLOC_LIBRARY", task: "alloc" };

const ITM: Library =
    Library { file: "libraddle_itm.so", folder: "raddle-itm", variable: "ITM_LIBRARY", task: "itm" };

/// What has the library of POSIX threads leave the program's children alone.
const ALONE: &str = "LIBRADDLE_ALONE";

/// The programs that it does not serve, by name.
const DENY: &str = "LIBRADDLE_DENY";

/// `raddle exec`.
#[derive(clap::Args)]
pub(crate) struct Exec {
    #[command(flatten)]
    settings: Settings,

    /// Only say what would be set
    #[arg(long)]
    show: bool,

    /// POSIX threads, instead of OpenMP's
    #[arg(long)]
    pthreads: bool,

    /// Transactions as gcc compiles them, instead of OpenMP; with --pthreads, on those threads
    #[arg(long)]
    itm: bool,

    /// Leave programs that this one starts as they are
    #[arg(long, requires = "pthreads")]
    alone: bool,

    /// Leave programs of this name as they are, among those that are started too (more than once)
    #[arg(long, value_name = "NAME", requires = "pthreads")]
    deny: Vec<String>,

    /// The program, looked for in PATH, and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    program: Vec<OsString>,
}

impl Exec {
    /// What it would do, if that is asked for; else it becomes the program, and returns only if that fails.
    pub(crate) fn carry_out(self) -> Result<String, Error> {
        let (program, arguments) = self.program.split_first().expect("clap asks for a program");
        let declined = if self.pthreads || self.itm { self.why_not(program) } else { None };
        let variables = match declined {
            Some(_) => Vec::new(),
            None => self.variables()?,
        };
        let as_it_is =
            declined.map(|why| format!("raddle: `{}` runs as it is: {why}\n", program.to_string_lossy()));
        if self.show {
            let shown = variables.iter().map(|(name, value)| format!("{name}={}\n", value.to_string_lossy()));
            return Ok(as_it_is.unwrap_or_default() + &shown.collect::<String>());
        }
        if let Some(text) = as_it_is {
            // Nobody could be told.
            let _unwritten = io::stderr().write_all(text.as_bytes());
        }
        let mut command = Command::new(program);
        // Of the program's runtime they would be settings, which it does not know.
        command.env_remove(OPENMP.variable).env_remove(PTHREADS.variable).env_remove(ITM.variable);
        let error = command.args(arguments).envs(variables).exec();
        let shown = program.to_string_lossy();
        Err(match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(format!("there is no program `{shown}`")),
            _ => Error::CannotRun(format!("could not run `{shown}`: {error}")),
        })
    }

    /// Why the program runs as it is, if it does.
    fn why_not(&self, program: &OsStr) -> Option<&'static str> {
        let name = Path::new(program).file_name().unwrap_or(program);
        let is_denied = self.deny.iter().any(|denied| OsStr::new(denied) == name);
        if is_denied { Some("it is denied") } else { image::why_not(program) }
    }

    fn variables(&self) -> Result<Vec<(String, OsString)>, Error> {
        let mut all = Vec::new();
        let mut put_before = |name: &str, value: &OsStr| {
            all.push((name.to_owned(), before(value, env::var_os(name))));
        };
        if self.pthreads || self.itm {
            let mut preloaded = OsString::new();
            for library in
                [(self.pthreads, &PTHREADS), (self.itm, &ITM)].into_iter().filter(|of| of.0).map(|of| of.1)
            {
                preloaded = before(library.folder()?.join(library.file).as_os_str(), Some(preloaded));
            }
            put_before("LD_PRELOAD", &preloaded);
            all.extend(self.alone.then(|| (ALONE.to_owned(), "1".into())));
            all.extend((!self.deny.is_empty()).then(|| (DENY.to_owned(), self.deny.join(":").into())));
        } else {
            let folder = OPENMP.folder()?;
            put_before("LD_LIBRARY_PATH", folder.as_os_str());
            put_before("LD_PRELOAD", folder.join(OPENMP.file).as_os_str());
        }
        all.extend(self.settings.variables().map(|(name, value)| (name.to_owned(), value)));
        Ok(all)
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

impl Library {
    /// What `LD_PRELOAD` is to be, so that a program has it.
    pub(crate) fn preloaded(&self) -> Result<OsString, Error> {
        Ok(before(self.folder()?.join(self.file).as_os_str(), env::var_os("LD_PRELOAD")))
    }

    /// The folder with the library: where the variable says, else beside this program.
    fn folder(&self) -> Result<PathBuf, Error> {
        let Library { file, folder, variable, task } = self;
        let is_there = |folder: &Path| folder.join(file).is_file();
        if let Some(folder) = env::var_os(variable).map(PathBuf::from) {
            let shown = folder.display();
            return match folder.canonicalize() {
                Ok(folder) if is_there(&folder) => Ok(folder),
                _ => Err(Error::NotFound(format!("{variable} is `{shown}`, where there is no {file}"))),
            };
        }
        let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
        let beside = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
        let places = [beside.join(folder), beside.join("../lib").join(folder)];
        places.into_iter().find(|folder| is_there(folder)).ok_or_else(|| {
            Error::NotFound(format!(
                "there is no {folder}/{file} beside `raddle`; `cargo xtask {task}` in Raddle's source builds it, and \
                 {variable} may name its folder"
            ))
        })
    }
}
