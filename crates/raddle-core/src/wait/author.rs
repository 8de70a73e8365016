//! Owns: `Author`, who has written something, for reports.
//! May use: `block::control`, `block::current`, `raddle-protocol`.
//! Never: an address: whoever it names may be gone long since.

use crate::block::{Block, current_header};
use raddle_protocol::header::Kind;
use std::fmt;

/// Who has done something, as a report tells it later: a process by its number, which no other ever gets.
///
/// ```
/// use raddle_core::wait::Author;
///
/// let author = Author::here();
/// assert_eq!(Author::from_bits(author.to_bits()).to_string(), "an OS thread");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Author(u64);

impl Author {
    const OS_THREAD: Author = Author(0);
    const TASK: Author = Author(1);

    /// The one who runs here.
    #[inline(always)]
    pub fn here() -> Author {
        let header = current_header();
        // SAFETY: the word is null or the header of what runs here, which is alive.
        match unsafe { header.as_ref() }.map(|running| running.kind) {
            // SAFETY: the kind says that it is a block.
            Some(Kind::Process) => Author(unsafe { Block::of_header(header) }.id.get() << 1),
            // On the worker's own stack tasks are polled.
            Some(Kind::Task | Kind::Engine | Kind::Worker) => Author::TASK,
            _ => Author::OS_THREAD,
        }
    }

    /// It as a word.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Of such a word.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Author {
        Author(bits)
    }
}

/// `#7`, `a task` or `an OS thread`; where a report has a process of that number, it tells its name.
impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Author::OS_THREAD => f.write_str("an OS thread"),
            Author::TASK => f.write_str("a task"),
            Author(process) => write!(f, "#{}", process >> 1),
        }
    }
}
