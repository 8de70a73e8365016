//! Owns: marks, counters and spans of the program's own.
//! May use: the calling worker's ring.
//! Never: a record of a thread that is no worker: there is no ring for it.

use super::tracer;
use crate::worker::Worker;
use raddle_trace::{Event, Level};
use std::panic::Location;

/// The name of a mark, a counter or a span: a static of the program's.
///
/// It stands for the place in the source at which it was made, too.
#[derive(Debug)]
pub struct Mark {
    name: &'static str,
    site: &'static Location<'static>,
}

impl Mark {
    /// A name.
    #[track_caller]
    pub const fn new(name: &'static str) -> Mark {
        Mark { name, site: Location::caller() }
    }

    pub(super) fn text(&self) -> String {
        format!("{} ({}:{})", self.name, self.site.file(), self.site.line())
    }
}

fn record(event: Event, mark: &'static Mark, value: u32) {
    if let Some(worker) = Worker::current().filter(|worker| worker.traces_at(Level::User)) {
        worker.tracer.record(event, tracer::place_of_mark(mark), value);
    }
}

/// Records that the program is here, with a value. Does nothing below level `user`, and on an OS thread.
///
/// ```
/// use raddle_core::trace::{Mark, mark};
/// static HALF_WAY: Mark = Mark::new("half way");
/// mark(&HALF_WAY, 50);
/// ```
pub fn mark(mark: &'static Mark, value: u32) {
    record(Event::Mark, mark, value);
}

/// Records a value of the program's own. As [`mark`], and viewers draw it as a line.
pub fn counter(name: &'static Mark, value: u32) {
    record(Event::Counter, name, value);
}

/// Records that a span begins, and at the drop of what it returns, that it ends. Else as [`mark`].
///
/// ```
/// use raddle_core::trace::{Mark, enter};
/// static SORTING: Mark = Mark::new("sorting");
/// let _sorting = enter(&SORTING);
/// ```
#[must_use = "the span ends when this is dropped"]
pub fn enter(span: &'static Mark) -> Entered {
    record(Event::SpanBegin, span, 0);
    Entered(span)
}

/// A span that has begun.
#[derive(Debug)]
pub struct Entered(&'static Mark);

impl Drop for Entered {
    fn drop(&mut self) {
        record(Event::SpanEnd, self.0, 0);
    }
}
