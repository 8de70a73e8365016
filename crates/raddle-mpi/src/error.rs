//! Owns: what can go wrong, in words.
//! May use: nothing.
//! Never: a number of an MPI's own; classes go by name.

use std::fmt;
use std::time::Duration;

/// Why something of a [`Net`](crate::Net) did not come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetError {
    /// MPI, or the library through which it is called, is not there; with what to do.
    NotInstalled(String),
    /// That library is not the right one.
    WrongLibrary(String),
    /// The MPI does not let one thread after another call it.
    ThreadLevel(String),
    /// MPI has refused a call.
    Mpi {
        /// What was to be done.
        what: String,
        /// The class of the error, as MPI's standard names it: `MPI_ERR_TRUNCATE`.
        class: String,
        /// What the library says of it.
        text: String,
    },
    /// Something did not come in time. The net ends the whole job when it is dropped.
    Late(Late),
    /// Something did not come in time on another rank, which has told all: see [`OnLate::ErrorOnAll`].
    ///
    /// [`OnLate::ErrorOnAll`]: crate::OnLate::ErrorOnAll
    GivenUp {
        /// That rank.
        rank: usize,
        /// What it says.
        text: String,
    },
    /// Two ranks do not expect the same.
    Disagree(String),
    /// The call makes no sense.
    Misuse(String),
    /// The net is over.
    Over,
}

/// What did not come in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// What was waited for, as a whole.
    pub what: String,
    /// For so long.
    pub waited: Duration,
    /// What of it is still outstanding, with the peer of each.
    pub pending: Vec<String>,
    /// Messages of those peers that are here, and that nobody has asked for.
    pub strays: Vec<String>,
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetError::NotInstalled(text)
            | NetError::WrongLibrary(text)
            | NetError::Disagree(text)
            | NetError::Misuse(text)
            | NetError::ThreadLevel(text) => f.write_str(text),
            NetError::Mpi { what, class, text } => write!(f, "{what}: {class} ({text})"),
            NetError::Late(late) => late.fmt(f),
            NetError::GivenUp { rank, text } => write!(f, "rank {rank} has given up: {text}"),
            NetError::Over => f.write_str("the net is over"),
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not done after {:?}; outstanding: ", self.what, self.waited)?;
        f.write_str(&self.pending.join("; "))?;
        if !self.strays.is_empty() {
            write!(f, "; here, but nobody asks for it: {}", self.strays.join("; "))?;
        }
        Ok(())
    }
}

impl std::error::Error for NetError {}
