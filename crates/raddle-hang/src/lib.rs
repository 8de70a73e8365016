// Owns: why a program hangs: who waits for what, and who holds it; the report of a deadlock, and dumps.
// May use: `raddle-core`.
// Never: a cost where nothing is asked for; a guess.

// A program that links this crate has its watcher: see `attach`. One that does not has no such OS thread.
//
// | file | what |
// |---|---|
// | `attach` | how the scheduler comes to know the watcher, and what it tells it |
// | `runtimes` | the runtimes that live, and what each wants to be watched for |
// | `watch` | the OS thread that looks for hangs |
// | `stop` | the workers stand still for a moment |
// | `snapshot` | each that lives is looked at, in that moment |
// | `process_table` | what all live processes did then |
// | `cycle` | who waits for whom |
// | `report`, `text`, `json` | the same in words |
// | `kernel` | what the kernel says of an OS thread |
// | `quiescence` | whether nothing will ever run again |
// | `partial` | cycles while others run |
// | `livelock` | those who only wake each other, or yield |
// | `stand` | workers that stand, and are to be helped |
// | `interrupt` | ticks: who spins is taken off its worker, where an adaptor has asked for it |
// | `closed_code` | where nobody is taken off, in a program of others |
// | `slow` | slices that take long while others wait |
// | `call` | in which call of the program a worker sleeps, for traces |
// | `walks`, `symbol` | in which functions somebody is |
// | `debug`, `elf`, `bytes` | what the program's file says of its functions |
// | `age` | since when somebody waits |
// | `quit`, `answer` | signals that ask for a dump, and who gets it |

//! Why a program hangs: who waits for what, at which line, and who holds it. A deadlock is reported by itself; a
//! [`dump`] shows everybody at any time.
//!
//! When nothing can run any more, ever, the program is told who waits for whom, and ends with code 3. Whoever wants to
//! know before that what a program is at sends it `SIGQUIT`, or calls [`dump`]. The user's guide is `docs/HANGS.md`.

#![warn(clippy::disallowed_methods)]

mod age;
mod answer;
mod attach;
mod bytes;
mod call;
mod closed_code;
mod cycle;
mod debug;
mod elf;
mod interrupt;
mod json;
mod kernel;
mod livelock;
mod partial;
mod process_table;
mod quiescence;
mod quit;
mod report;
mod runtimes;
mod say;
mod signals;
mod slow;
mod snapshot;
mod stand;
mod stop;
mod symbol;
mod text;
mod walks;
mod watch;

pub use raddle_core::observe::{Dump, OnDeadlock};

pub use closed_code::ClosedCode;
pub use interrupt::nudge;
use process_table::How;
pub use report::DEADLOCK_EXIT_CODE;
use report::{DumpKind, Report};
pub use symbol::{ProgramFile, function_before};

/// Looks at all processes and threads of all runtimes: what each is at, what it waits for, and who holds that.
///
/// The workers stand still meanwhile: for some microseconds, and about a second for a million processes. May be called
/// from anywhere but a signal handler.
///
/// ```
/// let (release, waiting) = std::sync::mpsc::channel::<()>();
/// let child = raddle::csp::Builder::new().name("weaver").spawn(move || raddle::csp::park())?;
/// while !raddle::hang::dump().to_string().contains("'weaver' (#") {}
/// child.process().unpark();
/// child.join().unwrap();
/// # drop((release, waiting));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn dump() -> Dump {
    Dump::new(Report::of(&runtimes::runtimes(), How::Stopping, DumpKind::Dump))
}
