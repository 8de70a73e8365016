//! Owns: the recorder: what the workers' records are kept in, when it is switched, and how it becomes a file.
//! May use: `raddle-trace`, the workers' public half, one helper thread, files that the user asked for.
//! Never: a decision of the scheduler; a file written by a worker, but at its program's end.
//!
//! A trace is a flight recorder: each worker overwrites its oldest records, and the last of them become a file at the
//! program's end, at its first panic, on `SIGUSR2`, or when the program asks ([`dump`]). With `RADDLE_TRACE_STREAM=on`
//! the helper writes the file as the program runs instead, so that one that is killed leaves it behind.
//!
//! | file | what |
//! |---|---|
//! | `tracer` | one worker's rings and names |
//! | `outside` | what OS threads do that are no workers |
//! | `session` | one runtime's trace: its levels, its helper, its requests |
//! | `waits` | what is sampled beside the records |
//! | `target` | where the file lies, whole or not at all |
//! | `ends` | the program's exit, and `SIGUSR2` |
//! | `output` | from rings to chunks |
//! | `job` | what jobs are called |
//! | `user` | what programs record themselves |
//!
//! What is recorded where stands in `worker/trace.rs`.

mod ends;
mod job;
mod output;
mod outside;
mod session;
mod target;
mod tracer;
mod user;
mod waits;

#[doc(inline)]
pub use crate::{__trace_counter as counter, __trace_mark as mark, __trace_span as span};
pub(crate) use ends::{SessionsGuard, sessions};
pub use job::{name_this_job, note_job, number_of_job};
pub use raddle_trace::Level;
pub(crate) use session::{Plan, Session};
pub(crate) use tracer::{SITE_OF_ENGINE, Tracer, number_of, place_of_text};
pub use user::{Entered, Mark, counter, enter, leave, mark};

use crate::runtime;
use std::io;
use std::path::Path;

/// Writes what the caller's runtime has recorded into a file `.rdt`. It goes on recording.
///
/// # Errors
/// If nothing has been recorded, if the default runtime cannot be started, or if the file cannot be written.
///
/// ```
/// use raddle::trace;
/// let runtime = raddle::Runtime::builder().workers(1).trace_level(trace::Level::Sched).build()?;
/// let file = std::env::temp_dir().join(format!("raddle-doc-{}.rdt", std::process::id()));
/// runtime.run(|| trace::dump(&file))?;
/// assert!(std::fs::metadata(&file)?.len() > 100);
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn dump(file: impl AsRef<Path>) -> io::Result<()> {
    let shared = runtime::here()?;
    shared.trace.dump(shared, file.as_ref())
}

/// Records from now on what belongs to `level`, on all workers of the caller's runtime.
///
/// # Errors
/// If the default runtime cannot be started.
pub fn set_level(level: Level) -> io::Result<()> {
    let shared = runtime::here()?;
    shared.trace.set_level(shared, level);
    Ok(())
}
