//! Owns: why a program hangs: who waits for what, and who holds it; the report of a deadlock, and dumps.
//! May use: all that is known of those who wait (`wait::describe`), of runtimes, and of OS threads.
//! Never: a cost where nothing is asked for; a guess.
//!
//! When nothing can run any more, ever, the program is told who waits for whom, and ends with code 3. Whoever wants to
//! know before that what a program is at sends it `SIGQUIT`, or calls [`dump`]. The user's guide is `docs/HANGS.md`.
//!
//! | file | what |
//! |---|---|
//! | `seat` | the OS threads that the runtime knows, and in what call they sleep |
//! | `stop` | the workers stand still for a moment |
//! | `muster` | each that lives is looked at, in that moment |
//! | `roll` | what all live processes did then |
//! | `reach` | who could end a wait that nobody is known to |
//! | `cycle` | who waits for whom |
//! | `text`, `json` | the same in words |
//! | `still` | whether nothing will ever run again |
//! | `watch` | the OS thread that looks for deadlocks |
//! | `partial` | cycles while others run |
//! | `slow` | slices that take long while others wait |
//! | `walks`, `symbol` | in which functions somebody is |
//! | `age` | since when somebody waits |
//! | `quit`, `answer` | signals that ask for a dump, and who gets it |

pub(crate) mod age;
mod answer;
mod cycle;
mod json;
mod muster;
mod partial;
mod quit;
#[doc(hidden)]
pub mod reach;
mod roll;
#[doc(hidden)]
pub mod seat;
mod slow;
mod still;
mod stop;
mod symbol;
mod text;
mod walks;
pub(crate) mod watch;

pub use watch::OnDeadlock;
pub(crate) use watch::{DeadlockHandler, Plan};

use cycle::Cycle;
use roll::{How, Roll};
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use watch::Watched;

/// With this code a program exits whose processes wait for each other, and nothing can wake them.
pub const DEADLOCK_EXIT_CODE: i32 = 3;

/// What led to a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Dump,
    /// A cycle, while others run.
    Partial,
    Deadlock {
        exits: bool,
    },
}

/// What all live processes and threads were at, at one moment: see [`dump`].
///
/// As text ([`Display`](fmt::Display)) it is a summary that fits a screen: cycles of waits first, then groups of those
/// who were spawned at one place and wait at one place.
#[derive(Debug)]
pub struct Dump {
    kind: Kind,
    roll: Roll,
    cycles: Vec<Cycle>,
    /// If there are none, and nothing runs any more.
    likely: Vec<Cycle>,
}

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
    Dump::of(&watch::runtimes(), How::Stopping, Kind::Dump)
}

impl Dump {
    fn of(runtimes: &[Watched], how: How, kind: Kind) -> Dump {
        let walked = match kind {
            Kind::Dump => 2_000,
            Kind::Partial => 0,
            // Nobody is kept from anything.
            Kind::Deadlock { .. } => 20_000,
        };
        let roll = Roll::call(runtimes, how, walked);
        let cycles = roll.cycles();
        let is_final = matches!(kind, Kind::Deadlock { .. });
        let likely = if is_final && cycles.is_empty() { roll.likely_cycles() } else { Vec::new() };
        Dump { kind, roll, cycles, likely }
    }

    /// The cycles to tell.
    fn told(&self) -> &[Cycle] {
        if self.cycles.is_empty() { &self.likely } else { &self.cycles }
    }

    /// How many processes and threads lived.
    pub fn processes(&self) -> usize {
        self.roll.rows.len()
    }

    /// How many cycles of waits there are: each in it waits for what the next one holds, or for its end.
    pub fn cycles(&self) -> usize {
        self.cycles.len()
    }

    /// Whether the workers stood still while they were looked at. If not, only names and numbers are known.
    pub fn is_whole(&self) -> bool {
        !self.roll.is_shallow
    }

    /// All of it as JSON, by the schema in `docs/HANGS.md`.
    pub fn json(&self) -> String {
        let mut json = String::new();
        let kind = match self.kind {
            Kind::Dump => "dump",
            Kind::Partial => "cycle",
            Kind::Deadlock { .. } => "deadlock",
        };
        let _infallible = self.roll.json(kind, (&self.cycles, &self.likely), &mut json);
        json
    }

    /// A line for each process and thread, and one for each function of the program that it is in.
    pub fn list(&self) -> String {
        let mut list = String::new();
        let _infallible = self.roll.list(&mut list);
        list
    }

    fn write(&self) -> (String, bool) {
        let first = self.roll.first(self.told());
        let what = match (self.kind, self.cycles.len()) {
            (Kind::Deadlock { .. }, _) => "deadlock: ".to_owned(),
            (Kind::Partial, _) => "a cycle of waits, while others run: ".to_owned(),
            (Kind::Dump, 0) => "dump: ".to_owned(),
            (Kind::Dump, _) => "dump, with a cycle of waits: ".to_owned(),
        };
        let (mut text, told) = if self.kind == Kind::Dump && self.cycles.is_empty() {
            (format!("raddle: {what}{} processes\n", self.roll.rows.len()), Vec::new())
        } else {
            (format!("raddle: {what}{}\n", self.roll.first_line(&first)), first.0)
        };
        if !told.is_empty() {
            self.roll.first_functions(self.told(), &mut text);
        }
        let more = self.roll.summary(self.told(), &told, &mut text);
        (text, more)
    }

    /// The summary; and if it leaves something out, a file with all, and its name.
    fn screen(&self) -> String {
        let (mut text, more) = self.write();
        if more && self.kind == Kind::Dump {
            text += &format!("  `raddle dump {}` has a line for each\n", std::process::id());
        } else if more {
            match self.save() {
                Ok(path) => text += &format!("  each by itself: {}\n", path.display()),
                Err(cause) => text += &format!("  no file with each by itself: {cause}\n"),
            }
        }
        if let Kind::Deadlock { exits: true } = self.kind {
            let code = DEADLOCK_EXIT_CODE;
            text +=
                &format!("  exit code {code}; RADDLE_DEADLOCK=report goes on waiting, =off does not look\n");
        }
        text
    }

    /// Writes the list into a new file among the temporary ones.
    fn save(&self) -> std::io::Result<PathBuf> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("raddle-{}-{number}.txt", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(self.list().as_bytes())?;
        Ok(path)
    }
}

/// The summary: cycles first, then groups of those who are alike.
impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write().0)
    }
}
