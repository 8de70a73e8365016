//! Owns: what the scheduler finds when a program has linked this crate.
//! May use: `ends`, `session`, `raddle-core`.
//! Never: a record.

use crate::ends;
use crate::session::Session;
use raddle_core::observe::TracePlan;
use raddle_core::worker::recording::{RECORDER, Recorder, Recording};
use std::any::Any;

// SAFETY: such a section holds addresses of functions that can be called before `main`. After the standard library's
// own, and before those of a program, which may use a runtime there.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static ATTACH: extern "C" fn() = attach;

extern "C" fn attach() {
    RECORDER.attach(&IntoFiles);
}

/// Makes files of what runtimes record.
struct IntoFiles;

impl Recorder for IntoFiles {
    fn recording(&self, plan: TracePlan) -> Box<dyn Recording> {
        Box::new(Session::new(plan))
    }

    fn hold_over_fork(&self) -> Box<dyn Any> {
        Box::new(ends::sessions())
    }
}
