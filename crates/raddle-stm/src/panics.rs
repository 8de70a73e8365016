//! Owns: `Panics`, by which calls of the program's code are made one after the other: each, whatever the others do.
//! May use: `host`, `raddle-core`.
//! Never: losing a call. A panic goes on when all are done.

use crate::host::{Thrown, graver, lose};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// See the module.
#[derive(Default)]
#[must_use = "a panic is to go on"]
pub(crate) struct Panics(Option<Thrown>);

impl Panics {
    /// Calls it. If it panics, others come first.
    pub(crate) fn catch(&mut self, call: impl FnOnce()) {
        let Err(later) = catch_unwind(AssertUnwindSafe(call)) else { return };
        self.0 = Some(match self.0.take() {
            None => later,
            Some(first) => {
                let (stays, lost) = graver(first, later);
                lose(lost);
                stays
            }
        });
    }

    /// Drops them all, each by itself.
    pub(crate) fn catch_drops<T>(&mut self, all: Vec<T>) {
        all.into_iter().for_each(|one| self.catch(|| drop(one)));
    }

    /// The panic goes on, if there was one; unless the caller unwinds already, for which there is one way only.
    pub(crate) fn go_on(self) {
        if let Some(panic) = self.0 {
            if std::thread::panicking() {
                lose(panic);
            } else {
                resume_unwind(panic);
            }
        }
    }
}
