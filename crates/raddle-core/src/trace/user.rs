//! Owns: marks, counters and spans of the program's own.
//! May use: `tracer::place`, `worker`, `raddle-trace`.
//! Never: a record of a thread that is no worker: there is no ring for it.

use crate::tracer::{Mark, place_of_mark};
use crate::worker::Worker;
use raddle_trace::{Event, Level};
use std::marker::PhantomData;

/// Records a span from here to the end of what it returns: [`enter`] with a name.
///
/// ```
/// use raddle::trace;
/// let _sorting = trace::span!("sorting");
/// trace::mark!("half way");
/// trace::counter!("rows", 50);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_span {
    ($name:expr) => {{
        static MARK: $crate::trace::Mark = $crate::trace::Mark::new($name);
        $crate::trace::enter(&MARK)
    }};
}

/// Records that the program is here, with a value if there is one: [`mark()`](fn@mark) with a name.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_mark {
    ($name:expr) => {
        $crate::trace::mark!($name, 0)
    };
    ($name:expr, $value:expr) => {{
        static MARK: $crate::trace::Mark = $crate::trace::Mark::new($name);
        $crate::trace::mark(&MARK, $value)
    }};
}

/// Records a value of the program's own: [`counter()`](fn@counter) with a name.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_counter {
    ($name:expr, $value:expr) => {{
        static MARK: $crate::trace::Mark = $crate::trace::Mark::new($name);
        $crate::trace::counter(&MARK, $value)
    }};
}

fn record(event: Event, mark: &'static Mark, value: u32) {
    Worker::with_current(|worker| {
        if worker.traces_at(Level::User) {
            worker.tracer.record(event, place_of_mark(mark), value);
        }
    });
}

/// Records that the program is here, with a value. Does nothing below level `user`, and on an OS thread.
///
/// ```
/// use raddle::trace::{Mark, mark};
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
/// use raddle::trace::{Mark, enter};
/// static SORTING: Mark = Mark::new("sorting");
/// let _sorting = enter(&SORTING);
/// ```
///
/// A span is its flow's: it ends where it has begun, and does not go to another thread, nor over an `.await` of a task
/// that may move.
///
/// ```compile_fail,E0277
/// use raddle::trace::{Mark, enter};
/// static SORTING: Mark = Mark::new("sorting");
/// let sorting = enter(&SORTING);
/// raddle::csp::spawn(move || drop(sorting));
/// ```
#[must_use = "the span ends when this is dropped"]
pub fn enter(span: &'static Mark) -> Entered {
    record(Event::SpanBegin, span, 0);
    Entered { span, flow: PhantomData }
}

/// Records that a span ends which began by an [`enter`] that was forgotten: for who cannot keep what that returns.
pub fn leave(span: &'static Mark) {
    record(Event::SpanEnd, span, 0);
}

/// A span that has begun, in the flow of control that has it.
#[derive(Debug)]
pub struct Entered {
    span: &'static Mark,
    /// Spans nest within one flow: an end in another would end one of that one's.
    flow: PhantomData<*mut ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        leave(self.span);
    }
}
