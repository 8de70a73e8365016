//! Owns: why a program did not run, or a command could not do its work.
//! May use: nothing.
//! Never: an exit code; `main` decides it.

use std::fmt;

/// Why a program did not run. The text says what was seen and what to try.
#[derive(Debug)]
pub(crate) enum Error {
    /// There is nothing at the path.
    NotFound(String),
    /// There is something, but nothing that this build can run.
    CannotRun(String),
    /// It could not be built.
    Build(String),
    /// The program is too large for what it is to run on.
    TooLarge(String),
    /// A setting of the runtime has a value that it cannot have, or two options contradict each other.
    Setting(String),
}

impl Error {
    /// Standard output does not take what is to be shown.
    pub(crate) fn unwritten_output(cause: &std::io::Error) -> Error {
        Error::CannotRun(format!("could not write the output: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Error::NotFound(text)
        | Error::CannotRun(text)
        | Error::Build(text)
        | Error::TooLarge(text)
        | Error::Setting(text)) = self;
        f.write_str(text)
    }
}
