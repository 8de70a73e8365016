//! Owns: finding out what a path given to `raddle run` is, and executing it.
//! May use: `project`, `refusal`.
//! Never: exit codes.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project;
use crate::refusal::Error;

/// An executable file, ready to be started.
#[derive(Debug)]
pub(crate) struct Executable {
    executable: PathBuf,
}

impl Executable {
    /// Finds out what `path` is, and builds it if it is a source.
    pub(crate) fn prepare(path: &Path) -> Result<Executable, Error> {
        let shown = path.display();
        let kind = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound(format!("there is no file `{shown}`")),
            _ => Error::CannotRun(format!("could not look at `{shown}`: {error}")),
        })?;
        if kind.is_dir() {
            let advice = "give one of the files in it, such as an example's";
            return Err(Error::CannotRun(format!("`{shown}` is a directory; {advice}")));
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => Ok(Executable { executable: project::build(path)? }),
            _ => Ok(Executable { executable: not_searched_for(path) }),
        }
    }

    /// Replaces this process by the program; returns only if that fails.
    pub(crate) fn become_it(
        &self,
        args: &[OsString],
        variables: impl Iterator<Item = (&'static str, OsString)>,
    ) -> Error {
        let error = Command::new(&self.executable).args(args).envs(variables).exec();
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied => "; is it executable (`chmod +x`)?",
            io::ErrorKind::NotFound => "; is the interpreter that its first line names there?",
            _ => "; raddle runs executables of this machine and Rust sources (`.rs`) of a Cargo package",
        };
        Error::CannotRun(format!("could not run `{}`: {error}{advice}", self.executable.display()))
    }
}

/// `path` in a form that is not looked up in `PATH`.
fn not_searched_for(path: &Path) -> PathBuf {
    if path.components().count() == 1 { Path::new(".").join(path) } else { path.to_owned() }
}

#[test]
fn a_bare_name_is_a_file_here() {
    assert_eq!(not_searched_for(Path::new("app")), Path::new("./app"));
    assert_eq!(not_searched_for(Path::new("a/app")), Path::new("a/app"));
    assert_eq!(not_searched_for(Path::new("/app")), Path::new("/app"));
}
