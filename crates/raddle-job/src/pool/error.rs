//! Owns: `ThreadPoolBuildError`, in Rayon's words.
//! May use: `raddle-core`.
//! Never: advice that the runtime's own error does not have.

use raddle_core::runtime::BuildError;
use std::error::Error;
use std::fmt;
use std::io;

/// Why a pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Why);

#[derive(Debug)]
pub(super) enum Why {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

impl From<Why> for ThreadPoolBuildError {
    fn from(why: Why) -> Self {
        ThreadPoolBuildError(why)
    }
}

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        ThreadPoolBuildError(match error {
            BuildError::AlreadyStarted => Why::GlobalPoolAlreadyInitialized,
            BuildError::Thread { cause, .. } => Why::IOError(cause),
            other => Why::IOError(other.into()),
        })
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::GlobalPoolAlreadyInitialized => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Why::CurrentThreadAlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Why::IOError(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Why::GlobalPoolAlreadyInitialized | Why::CurrentThreadAlreadyInPool => None,
            Why::IOError(error) => Some(error),
        }
    }
}
