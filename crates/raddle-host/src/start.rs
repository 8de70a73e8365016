//! Owns: `Start`, by which workers are started while the program still runs on the caller's thread.
//! May use: one OS thread of the standard library, until the workers are there.
//! Never: starts anything for a program that has no work for several.
//!
//! To start two workers takes a fraction of a millisecond, in which nobody would run the program: so an OS thread of
//! its own starts them, on a core that is idle by assumption, and the program is handed over when they are there.

use raddle_core::{BuildError, Builder, Runtime};
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

/// Workers that may be wanted, or are being started.
pub(crate) enum Start {
    /// Nobody has wanted them yet.
    Planned(Box<Builder>),
    /// The OS thread starts them, or has.
    Begun(JoinHandle<Result<Runtime, BuildError>>),
}

impl Start {
    /// They are wanted. Whether they are there, or will only be when [`runtime`](Self::runtime) is called.
    pub(crate) fn is_ready(&mut self) -> bool {
        let planned = match self {
            Start::Begun(thread) => return thread.is_finished(),
            Start::Planned(builder) => builder.clone(),
        };
        let thread = thread::Builder::new().name("start".to_owned()).spawn(move || planned.build());
        let refused = thread.is_err();
        thread.into_iter().for_each(|thread| *self = Start::Begun(thread));
        refused
    }

    /// The workers; waits for them.
    pub(crate) fn runtime(self) -> Result<Runtime, BuildError> {
        match self {
            Start::Planned(builder) => builder.build(),
            Start::Begun(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }

    /// Nobody wants them any more: ends what was begun.
    pub(crate) fn give_up(self) {
        if let Start::Begun(_) = self {
            drop(self.runtime());
        }
    }
}
