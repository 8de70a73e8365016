//! Owns: `Hooks`, what a transaction has put off until it is decided.
//! May use: `panics`.
//! Never: running any of it while the transaction runs.

use crate::panics::Panics;

/// A call that was put off.
type Hook = Box<dyn FnOnce()>;

/// See the module.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) on_commit: Vec<Hook>,
    pub(super) on_abort: Vec<Hook>,
}

impl Hooks {
    /// How many there are of each.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.on_commit.len(), self.on_abort.len())
    }

    /// Takes out those that came later.
    pub(super) fn roll_back(&mut self, (commits, aborts): (usize, usize)) -> Hooks {
        Hooks { on_commit: self.on_commit.split_off(commits), on_abort: self.on_abort.split_off(aborts) }
    }

    /// They are rolled back: runs what is for that, the last one first.
    pub(super) fn aborted(self, panics: &mut Panics) {
        self.on_abort.into_iter().rev().for_each(|hook| panics.catch(hook));
        panics.catch_drops(self.on_commit);
    }

    /// The transaction has committed.
    pub(super) fn committed(self, panics: &mut Panics) {
        self.on_commit.into_iter().for_each(|hook| panics.catch(hook));
        panics.catch_drops(self.on_abort);
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hooks").field(&self.lengths()).finish()
    }
}
