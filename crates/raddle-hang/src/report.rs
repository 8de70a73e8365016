//! Owns: `Report`, the content of a dump: the table of processes, the cycles of waits in it, and what led to it.
//! May use: `age`, `cycle`, `livelock`, `process_table`, `runtimes`, `raddle-core`.
//! Never: a look at anybody.

use crate::age;
use crate::cycle::Cycle;
use crate::livelock::{self, Round};
use crate::process_table::{How, ProcessTable};
use crate::runtimes::Watched;
use raddle_core::observe::Content;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// With this code a program exits whose processes wait for each other, and nothing can wake them.
pub const DEADLOCK_EXIT_CODE: i32 = 3;

/// What led to a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DumpKind {
    Dump,
    /// A cycle, while others run.
    Partial,
    Deadlock {
        exits: bool,
    },
}

/// What all live processes and threads were at, at one moment: the content of a [`Dump`](crate::Dump).
#[derive(Debug)]
pub(crate) struct Report {
    kind: DumpKind,
    pub(crate) table: ProcessTable,
    pub(crate) cycles: Vec<Cycle>,
    /// If there are none, and nothing runs any more; or circles of channels while others run.
    likely: Vec<Cycle>,
    /// The runtimes that go round.
    rounds: Vec<Round>,
}

impl Report {
    pub(crate) fn of(runtimes: &[Watched], how: How, kind: DumpKind) -> Report {
        let walked = match kind {
            DumpKind::Dump => 2_000,
            // Enough for circles of channels; in a program with more processes nobody looks for them.
            DumpKind::Partial => 2_000,
            // Nobody is kept from anything.
            DumpKind::Deadlock { .. } => 20_000,
        };
        let table = ProcessTable::snapshot(runtimes, how, walked);
        let is_final = matches!(kind, DumpKind::Deadlock { .. });
        let is_sure = is_final || table.knows_queued;
        let cycles = if is_sure { table.cycles() } else { Vec::new() };
        let likely = match is_final {
            true if cycles.is_empty() => table.likely_cycles(),
            false if is_sure && table.all_searched => table.closed_cycles(),
            _ => Vec::new(),
        };
        let rounds = if kind == DumpKind::Dump { livelock::rounds() } else { Vec::new() };
        Report { kind, table, cycles, likely, rounds }
    }

    /// The circles of channels, as cycles like others.
    pub(crate) fn take_circles(&mut self) -> Vec<Cycle> {
        std::mem::take(&mut self.likely)
    }

    /// The cycles to tell.
    fn reported(&self) -> &[Cycle] {
        if self.cycles.is_empty() { &self.likely } else { &self.cycles }
    }

    fn write(&self) -> (String, bool) {
        let first = self.table.first(self.reported());
        let what = match (self.kind, self.reported().len()) {
            (DumpKind::Deadlock { .. }, _) => "deadlock: ".to_owned(),
            (DumpKind::Partial, _) => "a cycle of waits, while others run: ".to_owned(),
            (DumpKind::Dump, 0) => "dump: ".to_owned(),
            (DumpKind::Dump, _) => "dump, with a cycle of waits: ".to_owned(),
        };
        let has_first = self.kind != DumpKind::Dump || !self.reported().is_empty();
        let (mut text, reported) = if !has_first {
            (format!("raddle: {what}{} processes\n", self.table.rows.len()), Vec::new())
        } else {
            (format!("raddle: {what}{}\n", self.table.first_line(&first)), first.0)
        };
        if !reported.is_empty() {
            self.table.first_functions(self.reported(), &mut text);
        }
        self.table.more_futures(has_first, &mut text);
        let more = self.table.summary(self.reported(), &reported, &mut text);
        self.write_rounds(&mut text);
        (text, more)
    }

    /// Those who go round, if the watcher has seen that.
    fn write_rounds(&self, text: &mut String) {
        for round in &self.rounds {
            let (ago, turns) = (age::in_words(round.lasts), round.turns);
            let (who, functions) = self.table.tell_those(&self.table.lately_at_it(round));
            let what = "nothing has begun, ended, slept, or come from outside";
            *text += &format!(
                "  going round: {ago} {what}, in {turns} turns; at it: {who}\n{}",
                functions.replace("  '", "    '").replace("  #", "    #")
            );
        }
    }

    /// The summary; and if it leaves something out, a file with all, and its name.
    pub(crate) fn screen(&self) -> String {
        let (mut text, more) = self.write();
        if more && self.kind == DumpKind::Dump {
            text += &format!("  `raddle dump {}` has a line for each\n", std::process::id());
        } else if more {
            match self.save() {
                Ok(path) => text += &format!("  each by itself: {}\n", path.display()),
                Err(cause) => text += &format!("  no file with each by itself: {cause}\n"),
            }
        }
        if let DumpKind::Deadlock { exits: true } = self.kind {
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
        file.write_all(self.list().as_bytes()).inspect_err(|_| {
            // The disk may be full.
            let _gone_or_not = std::fs::remove_file(&path);
        })?;
        Ok(path)
    }
}

impl Content for Report {
    fn processes(&self) -> usize {
        self.table.rows.len()
    }

    fn cycles(&self) -> usize {
        self.cycles.len()
    }

    fn is_whole(&self) -> bool {
        !self.table.is_shallow
    }

    fn json(&self) -> String {
        let mut json = String::new();
        let kind = match self.kind {
            DumpKind::Dump => "dump",
            DumpKind::Partial => "cycle",
            DumpKind::Deadlock { .. } => "deadlock",
        };
        let _infallible = self.table.json(kind, (&self.cycles, &self.likely, &self.rounds), &mut json);
        json
    }

    fn list(&self) -> String {
        let mut list = String::new();
        let _infallible = self.table.list(&mut list);
        list
    }
}

/// The summary: cycles first, then groups of those who are alike.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write().0)
    }
}
