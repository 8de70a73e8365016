//! Owns: `Known`, what reports say of one process or task.
//! May use: `site`, `raddle-core`, `raddle-protocol`.
//! Never: a look at a block that may have ended.
//!
//! It uses the block of a process, while it is held, for its name and the place of its spawn.

use crate::site::Site;
use raddle_core::block::Block;
use raddle_protocol::header::{Kind, Runnable};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Somebody that was seen, and has not ended as far as we know.
pub(crate) struct Known {
    /// In the order in which they were first seen, from 0.
    pub(crate) number: u32,
    pub(crate) kind: Kind,
    name: Option<Arc<str>>,
    site: &'static Location<'static>,
    /// What it did last, and where.
    pub(crate) at: &'static str,
    pub(crate) place: Site,
    /// That is done already.
    pub(crate) is_past: bool,
    /// A job that was taken: nobody spawned its process.
    is_job: bool,
}

impl Known {
    /// Of one that has just become ready, and is held.
    pub(crate) fn of(number: u32, ready: Runnable) -> Known {
        let kind = ready.header().kind;
        let (mut name, mut site, mut is_job) = (None, Location::caller(), false);
        if kind == Kind::Process {
            // SAFETY: the kind says that it is a block.
            let block = unsafe { Block::of_header(ready.as_ptr()) };
            // SAFETY: it is held: it has just become ready.
            name = unsafe { block.name() }.cloned();
            site = block.site.get();
            is_job = block.is_of_job();
        }
        Known { number, kind, name, site, at: "its start", place: Site::default(), is_past: false, is_job }
    }
}

impl Known {
    /// ` (spawned at FILE:LINE)`, unless its name says so: where it is when nothing of the user's is on its stack.
    pub(crate) fn origin(&self) -> String {
        let is_told = self.name.is_none() || self.kind != Kind::Process;
        if is_told {
            String::new()
        } else {
            format!(" (spawned at {}:{})", self.site.file(), self.site.line())
        }
    }
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.kind) {
            (Some(name), _) => write!(f, "'{name}'"),
            (None, Kind::Process) if self.is_job => write!(f, "job #{}", self.number),
            (None, Kind::Process) => {
                write!(f, "#{} (spawned at {}:{})", self.number, self.site.file(), self.site.line())
            }
            (None, _) => write!(f, "task #{}", self.number),
        }
    }
}
