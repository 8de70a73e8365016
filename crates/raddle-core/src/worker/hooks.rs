//! Owns: `Hooks`, what a program has a runtime do besides.
//! May use: `message`.
//! Never: a panic of a handler let through; who handles panics must not panic.
//!
//! At the beginning and the end of each of its OS threads, and with panics that nobody waits for. The names are those
//! of rayon-core's pool, for which they are.

use crate::message;
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Gets what a panic has thrown that goes nowhere else.
pub(crate) type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
/// Called on a worker's OS thread with the worker's number.
pub(crate) type EdgeHandler = dyn Fn(usize) + Send + Sync;
/// Gets an OS thread for the worker of this number, which calls what is handed over, or has the program do so.
pub(crate) type Launch<'a> =
    dyn FnMut(usize, Box<dyn FnOnce() + Send>) -> io::Result<Option<JoinHandle<()>>> + 'a;

/// What a program has a runtime do besides.
#[derive(Clone, Default)]
pub struct Hooks {
    pub panic: Option<Arc<PanicHandler>>,
    pub start: Option<Arc<EdgeHandler>>,
    pub exit: Option<Arc<EdgeHandler>>,
    /// The first worker stands for a thread of the program's, whose beginning and end are not ours to tell of.
    pub first_is_foreign: bool,
    /// What the program is written in, if that is not Rust: a trace says so.
    pub(crate) door: Option<&'static str>,
}

impl Hooks {
    /// A panic has nowhere to go. Without a handler, or if that panics, the program ends.
    pub fn handle(&self, panic: Box<dyn Any + Send>, whose: &str) {
        let handled = self.panic.as_ref().map(|handler| catch_unwind(AssertUnwindSafe(|| handler(panic))));
        match handled {
            Some(Ok(())) => {}
            Some(Err(_)) => message::fatal(&format!("the panic handler panicked; it was called for {whose}")),
            None => message::fatal(&format!("{whose} panicked, and nobody waits for it")),
        }
    }

    /// Whether the program has it do nothing besides.
    pub(crate) fn are_none(&self) -> bool {
        let are_set = self.panic.is_some() || self.start.is_some() || self.exit.is_some();
        !(are_set || self.first_is_foreign || self.door.is_some())
    }

    /// On the OS thread of the worker `index`, before it runs anything.
    pub(crate) fn at_start(&self, index: usize) {
        self.at_edge(self.start.as_deref(), index, "a start handler");
    }

    /// On the OS thread of the worker `index`, when it has run everything.
    pub(crate) fn at_exit(&self, index: usize) {
        self.at_edge(self.exit.as_deref(), index, "an exit handler");
    }

    fn at_edge(&self, handler: Option<&EdgeHandler>, index: usize, whose: &str) {
        let Some(handler) = handler.filter(|_| index > 0 || !self.first_is_foreign) else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler(index))) {
            self.handle(panic, whose);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
