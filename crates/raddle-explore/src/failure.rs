//! Owns: `Failure`, what was found and how to see it again, and its text.
//! May use: `schedule`.
//! Never: the first line without what, where, and the seed.

use crate::schedule::Schedule;
use std::fmt;

/// One that waits when nothing can run any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StuckProcess {
    pub(crate) who: String,
    pub(crate) at: String,
}

/// In what order those who wait are told.
pub(crate) struct Told {
    pub(crate) all: Vec<usize>,
    /// So many of them stand in the first line: they make up a cycle, or wait for no other's end.
    pub(crate) first: usize,
}

impl StuckProcess {
    /// A cycle first, each before whom it waits for; else those who wait for nobody who is there, or at least not for
    /// another's end. `next` says whom each waits for, if that is one.
    pub(crate) fn in_order(next: &[Option<usize>], joins: impl Fn(usize) -> bool) -> Told {
        let from = |start: usize| {
            let mut walk = vec![start];
            while let Some(one) = next[walk[walk.len() - 1]].filter(|one| !walk.contains(one)) {
                walk.push(one);
            }
            let closes = next[walk[walk.len() - 1]] == Some(start);
            closes.then_some(walk)
        };
        let mut cycle = (0..next.len()).find_map(from);
        if let Some(cycle) = &mut cycle {
            // What they all wait for in the end comes first.
            let first = cycle.iter().position(|at| !joins(*at)).unwrap_or(0);
            cycle.rotate_left(first);
        }
        let is_last = |at: usize| !joins(at) && next[at].is_none();
        let has_last = (0..next.len()).any(is_last);
        let is_first = |at: &usize| match &cycle {
            Some(cycle) => cycle.contains(at),
            None if has_last => is_last(*at),
            None => !joins(*at),
        };
        let roots = (0..next.len()).filter(is_first).collect();
        let mut all: Vec<usize> = cycle.clone().unwrap_or(roots);
        let first = all.len().min(if cycle.is_some() { CYCLE_MAX } else { ROOTS_MAX });
        let rest: Vec<usize> = (0..next.len()).filter(|at| !all.contains(at)).collect();
        all.extend(rest);
        Told { first: if first == 0 { all.len().min(ROOTS_MAX) } else { first }, all }
    }
}

/// What went wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Panic(String),
    /// The `first` of those who wait stand in the first line.
    Deadlock {
        waiting: Vec<StuckProcess>,
        first: usize,
        tasks: u64,
    },
    Endless(u64),
    Held(u64),
    /// Who cannot start, and why.
    Refused(String),
}

/// What kind of failure was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The closure panicked, or a process whose panic nobody asked for.
    Panic,
    /// Nothing can run, no alarm is set, and somebody waits: a cycle of waits, or a wake that was lost.
    Deadlock,
    /// It did not end within [`Options::turns_max`](crate::Options::turns_max).
    Endless,
    /// A process has not come to any operation for ten seconds: a loop without one, or a call that blocks.
    Held,
    /// There is no stack for a process: the run says nothing about the program. What could
    /// not be taken down of runs that have failed keeps its stacks, so that many of those may use up what the machine
    /// allows.
    Refused,
    /// The same seed went two ways.
    Nondeterminism,
}

/// What was found, and how to see it again.
///
/// Its text begins with what went wrong, where, and the seed; then come who waits and the schedule in few words.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) cause: Cause,
    pub(crate) seed: Option<u64>,
    /// Of how many runs, the how manieth.
    pub(crate) run: (u32, u32),
    pub(crate) schedule: Schedule,
    pub(crate) before_shrinking: usize,
    pub(crate) log: Vec<String>,
    pub(crate) repeats: bool,
}

/// So many members of a cycle stand in the first line, and so many others.
const CYCLE_MAX: usize = 8;
const ROOTS_MAX: usize = 4;
/// So many lines of a schedule fit a screen.
const LINES: usize = 40;

impl Cause {
    /// The last of these panics that does not only say that another process had panicked before.
    pub(crate) fn panic(panics: &[String]) -> Cause {
        const PASSED_ON: [&str; 3] =
            ["an `Err` value: Any {", "an `Err` value: PoisonError {", ": a scoped "];
        let passed_on = |panic: &&String| PASSED_ON.iter().any(|text| panic.contains(text));
        let last = panics.iter().rev().find(|panic| !passed_on(panic)).or(panics.last());
        Cause::Panic(last.cloned().unwrap_or_else(|| "a process panicked".to_owned()))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Cause::Panic(_) => Kind::Panic,
            Cause::Deadlock { .. } => Kind::Deadlock,
            Cause::Endless(_) => Kind::Endless,
            Cause::Held(_) => Kind::Held,
            Cause::Refused(_) => Kind::Refused,
        }
    }

    /// What identifies it: shrinking must not end at another bug.
    pub(crate) fn is_like(&self, other: &Cause) -> bool {
        match (self, other) {
            (Cause::Panic(one), Cause::Panic(other)) => place_of(one) == place_of(other),
            _ => self.kind() == other.kind(),
        }
    }
}

/// The part of a panic's text that is its place.
fn place_of(panic: &str) -> &str {
    panic.split_once(" panicked at ").map_or(panic, |(_, rest)| rest.split(": ").next().unwrap_or(rest))
}

impl fmt::Display for StuckProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} waits in {}", self.who, self.at)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Panic(what) => f.write_str(what),
            Cause::Deadlock { waiting, first, tasks } => {
                f.write_str("deadlock: ")?;
                for (at, one) in waiting[..*first].iter().enumerate() {
                    write!(f, "{}{one}", if at == 0 { "" } else { "; " })?;
                }
                match (tasks, waiting.is_empty()) {
                    (0, _) => Ok(()),
                    (tasks, true) => write!(f, "{tasks} tasks wait for a waker that nobody calls"),
                    (tasks, false) => write!(f, "; and {tasks} tasks"),
                }
            }
            Cause::Endless(turns) => write!(f, "no end within {turns} turns (`Options::turns_max`)"),
            Cause::Held(seconds) => {
                write!(
                    f,
                    "a process has not come to an operation of ours for {seconds} s: a loop, or a call that blocks"
                )
            }
            Cause::Refused(what) => {
                write!(
                    f,
                    "{what}; what could not be taken down of failed runs keeps its stacks: explore less in one program"
                )
            }
        }
    }
}

impl Failure {
    /// What kind it is.
    pub fn kind(&self) -> Kind {
        if self.repeats { self.cause.kind() } else { Kind::Nondeterminism }
    }

    /// The seed that found it; `None` if it was a given schedule.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The schedule, shrunk, for [`replay`](crate::replay).
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn write_log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.log.is_empty() {
            return Ok(());
        }
        let (kept, had) = (self.schedule.len(), self.before_shrinking);
        let choices = match kept {
            0 => "no choice that is not the obvious one",
            1 => "one choice that is not the obvious one",
            _ => &format!("{kept} choices that are not the obvious ones"),
        };
        let shrunk = if had > kept { format!(" (shrunk from {had})") } else { String::new() };
        writeln!(f, "the schedule, {choices}{shrunk}:")?;
        let skipped = self.log.len().saturating_sub(LINES);
        if skipped > 0 {
            writeln!(f, "  ... {skipped} turns before")?;
        }
        self.log.iter().skip(skipped).try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, runs) = self.run;
        match self.seed {
            Some(seed) => write!(f, "[seed {seed}] ")?,
            None => write!(f, "[schedule {}] ", self.schedule)?,
        }
        if !self.repeats {
            f.write_str("not deterministic: the same choices led elsewhere the second time; then: ")?;
        }
        writeln!(f, "{}", self.cause)?;
        if let Some(seed) = self.seed {
            writeln!(f, "found in run {run} of {runs}; again: RADDLE_SEED={seed}")?;
        }
        if !self.repeats {
            let why = "outside of the seed are OS threads, real clocks, random numbers, the order of a `HashMap`, \
                       addresses, and what an earlier run has left in a `static`";
            return writeln!(f, "{why}");
        }
        if ![Kind::Held, Kind::Refused].contains(&self.cause.kind()) {
            writeln!(f, "shrunk: raddle::explore::replay(f, \"{}\")", self.schedule)?;
        }
        if let Cause::Deadlock { waiting, first, .. } = &self.cause
            && waiting.len() > *first
        {
            writeln!(f, "so wait, too:")?;
            waiting[*first..].iter().take(LINES).try_for_each(|one| writeln!(f, "  {one}"))?;
        }
        self.write_log(f)
    }
}

impl std::error::Error for Failure {}
