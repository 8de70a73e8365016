//! Owns: the mark that nobody else is to run what whoever runs here forks.
//! May use: `block::current`, `raddle-protocol`.
//! Never: a wait.
//!
//! A transaction that has the token holds up the commits of all others. If somebody took one of its forks, and came to
//! a commit there, he would wait for the transaction, which waits for the fork. Whether anybody takes a fork is chance;
//! so while such a transaction lasts, its forks are calls, one after the other.

use crate::worker::current_header;
use raddle_protocol::header::{Header, IN_TURN};
use std::cell::Cell;

thread_local! {
    /// Of an OS thread that is no worker.
    static OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Until it goes, what its maker forks runs in turn. Whoever made it drops it.
#[derive(Debug)]
pub struct InTurn {
    before: bool,
}

impl InTurn {
    pub fn begin() -> InTurn {
        InTurn { before: replace(true) }
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        let _ours = replace(self.before);
    }
}

fn running() -> Option<&'static Header> {
    // SAFETY: the word is null or the header of what runs here, which is alive; nobody keeps it.
    unsafe { current_header().as_ref() }
}

/// Whether what whoever runs here forks is to run in turn.
pub fn is_in_turn() -> bool {
    match running() {
        Some(header) => header.is(IN_TURN),
        None => OUTSIDE.get(),
    }
}

fn replace(in_turn: bool) -> bool {
    let Some(header) = running() else { return OUTSIDE.replace(in_turn) };
    let before = header.flags.get();
    header.flags.set(if in_turn { before | IN_TURN } else { before & !IN_TURN });
    before & IN_TURN != 0
}
