//! Owns: `Dump`, what a watcher has found, as the program gets it.
//! May use: nothing.
//! Never: what stands in it.

use std::fmt;

/// What a watcher puts into a [`Dump`].
pub trait Content: fmt::Debug + fmt::Display + Send + Sync {
    /// See [`Dump::processes`].
    fn processes(&self) -> usize;
    /// See [`Dump::cycles`].
    fn cycles(&self) -> usize;
    /// See [`Dump::is_whole`].
    fn is_whole(&self) -> bool;
    /// See [`Dump::json`].
    fn json(&self) -> String;
    /// See [`Dump::list`].
    fn list(&self) -> String;
}

/// What all live processes and threads were at, at one moment.
///
/// As text ([`Display`](fmt::Display)) it is a summary that fits a screen: cycles of waits first, then groups of those
/// who were spawned at one place and wait at one place.
#[derive(Debug)]
pub struct Dump(Box<dyn Content>);

impl Dump {
    /// Of what has been found.
    #[doc(hidden)]
    pub fn new(content: impl Content + 'static) -> Dump {
        Dump(Box::new(content))
    }

    /// How many processes and threads lived.
    pub fn processes(&self) -> usize {
        self.0.processes()
    }

    /// How many cycles of waits there are: each in it waits for what the next one holds, or for its end.
    pub fn cycles(&self) -> usize {
        self.0.cycles()
    }

    /// Whether the workers stood still while they were looked at. If not, only names and numbers are known.
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    /// All of it as JSON, by the schema in `docs/HANGS.md`.
    pub fn json(&self) -> String {
        self.0.json()
    }

    /// A line for each process and thread, and one for each function of the program that it is in.
    pub fn list(&self) -> String {
        self.0.list()
    }
}

/// The summary: cycles first, then groups of those who are alike.
impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
