// Owns: the recorder: when what is recorded is switched, and how the workers' records become a file.
// May use: `raddle-core`.
// Never: a decision of the scheduler; a file written by a worker, but at its program's end.

// | file | what |
// |---|---|
// | `raddle_core::trace` | one worker's rings and names; marks of the program's own |
// | `attach` | what the scheduler finds when the program has linked this crate |
// | `session` | one runtime's trace: its levels, its requests |
// | `helper` | the OS thread that samples, streams and writes |
// | `outside` | what OS threads do that are no workers |
// | `waits` | what is sampled beside the records |
// | `hardware` | what the processor counts of the workers |
// | `target` | where the file lies, whole or not at all |
// | `ends` | the program's exit, and `SIGUSR2` |
// | `output` | from rings to chunks |

//! Record what a program does, and on which worker, in a trace that says why it is no faster: set
//! `RADDLE_TRACE=run.rdt`, or call [`dump`]. Marks of the program's own are in it, too.
//!
//! A trace is a flight recorder: each worker overwrites its oldest records, and the last of them become a file at the
//! program's end, at its first panic, on `SIGUSR2`, or when the program asks ([`dump`]). With `RADDLE_TRACE_STREAM=on`
//! the helper writes the file as the program runs instead, so that one that is killed leaves it behind.

mod attach;
mod ends;
mod hardware;
mod outside;
mod session;
mod target;
mod waits;

pub use raddle_core::trace::{Entered, Level, Mark, counter, enter, leave, mark, span};

use raddle_core::runtime;
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
    runtime::with_here(|shared| shared.trace().dump(shared, file.as_ref()))?
}

/// Records from now on what belongs to `level`, on all workers of the caller's runtime.
///
/// # Errors
/// If the default runtime cannot be started.
pub fn set_level(level: Level) -> io::Result<()> {
    Ok(runtime::with_here(|shared| shared.trace().set_level(shared, level))?)
}
