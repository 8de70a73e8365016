//! Owns: the account of a run-time error or a deadlock: which process, where, waiting for what and for whom.
//! May use: nothing.
//! Never: an assumption about the program's memory: what is found there is looked at, not believed.
//!
//! Who would have to serve a channel is not written anywhere. So each process is followed through all that it may
//! still do (`absint`): who waits at a channel waits for one of those who may use its other end. The module says what
//! a channel is called (`End`).
//!
//! A circle is named only if it is certain: each of it waits for the next, and nobody else could come. What nobody
//! could end is said to be that. Otherwise it may be a group of whom each waits for some others of it.
//!
//! It uses the table of processes and the module's names, while nothing runs.

mod absint;
mod draw;
mod front;
mod look;
mod mobile;
mod name;
mod race;
mod values;

pub use look::{FarUsers, UsedEnds};

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceLocation {
    /// The file.
    pub file: String,
    /// Line, from 1; 0 if it is not known.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str("(no line known)"),
            line => write!(f, "{}:{}:{}", self.file, line, self.column),
        }
    }
}

/// One process of a report.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitingProcess {
    /// Its number.
    pub id: u32,
    /// The PROC that it is in.
    pub name: String,
    /// Which instance it is of the replicated PARs that it is in: their indices, from the inside out.
    pub indices: Vec<i32>,
    /// Where it stands.
    pub place: SourceLocation,
    /// What it does there: `waits to output on channel `c``.
    pub doing: String,
    /// From the inside out: the calls and the PARs that it is in.
    pub within: Vec<String>,
    /// Whom it waits for: places in [`Report::processes`]. One of them is enough, unless `all`.
    pub waits_for: Vec<usize>,
    /// It waits for all of them.
    pub all: bool,
    /// There may be others who could end its wait.
    pub unsure: bool,
    /// The world around the program could.
    pub outside: bool,
    /// Those of other ranks could.
    pub ranks: Vec<u32>,
}

impl WaitingProcess {
    /// Whether nobody can end its wait.
    fn is_alone(&self) -> bool {
        self.waits_for.is_empty() && !self.unsure && !self.outside
    }

    /// What to call it where it may not be the only one of its name: `fork, index 3`.
    pub fn label(&self) -> String {
        let indices: Vec<String> = self.indices.iter().map(|index| format!("{index}")).collect();
        match indices.len() {
            0 => self.name.clone(),
            1 => format!("{}, index {}", self.name, indices[0]),
            _ => format!("{}, indices {}", self.name, indices.join(", ")),
        }
    }
}

/// The processes of a program and the channels between them, at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// Those that live; [`WaitingProcess::doing`] is `can run` of one that waits for nothing.
    pub processes: Vec<WaitingProcess>,
    /// What they may still use.
    pub channels: Vec<NetworkChannel>,
    /// How many processes there are beyond those listed.
    pub more: usize,
}

/// One channel, with those who may still use it: places in [`Network::processes`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetworkChannel {
    /// As the outermost process that has a name for it calls it; empty if none has.
    pub name: String,
    /// Who may output.
    pub writers: Vec<usize>,
    /// Who may input.
    pub readers: Vec<usize>,
}

/// What the first processes of a report of a deadlock are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Front {
    /// Each waits for the next, the last for the first, and nobody else could end their waits.
    #[default]
    Circle,
    /// Nobody could end the wait of any of them.
    Alone,
    /// Only others of them could end the wait of each.
    Group,
}

impl Front {
    fn what(self, count: usize) -> &'static str {
        match (self, count) {
            (Front::Circle, 1) => "this one waits for itself:",
            (Front::Circle, _) => "these wait for each other in a circle:",
            (Front::Alone, 1) => "nobody else can end the wait of this one:",
            (Front::Alone, _) => "nobody else can end the wait of any of these:",
            (Front::Group, _) => "none of these can go on before another one of them does:",
        }
    }
}

/// So many of those whom a process waits for are written down.
const OTHERS_MAX: usize = 10;

/// The account.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// In a few words.
    pub headline: String,
    /// Those concerned; of a deadlock, those first whom all others wait for.
    pub processes: Vec<WaitingProcess>,
    /// How many of them stand at the front.
    pub cycle: usize,
    /// What those at the front are.
    pub front: Front,
    /// How many processes there are beyond those listed.
    pub more: usize,
}

impl Report {
    /// Whom a process waits for, a line for each.
    fn write_others(&self, process: &WaitingProcess, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut or = "";
        for other in process.waits_for.iter().take(OTHERS_MAX).map(|&other| &self.processes[other]) {
            writeln!(f, "      {or}for `{}` at {}", other.label(), other.place)?;
            or = if process.all { "" } else { "or " };
        }
        let left = process.waits_for.len().saturating_sub(OTHERS_MAX);
        if left > 0 {
            writeln!(f, "      {or}for {left} more")?;
        }
        for rank in &process.ranks {
            writeln!(f, "      {or}for rank {rank}")?;
            or = "or ";
        }
        match process.unsure {
            true => writeln!(f, "      {or}for somebody who cannot be told from here"),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline)?;
        for (number, process) in self.processes.iter().enumerate() {
            if self.cycle > 0 && number == 0 {
                writeln!(f, "  {}", self.front.what(self.cycle))?;
            }
            if number == self.cycle && self.cycle > 0 {
                writeln!(f, "  these wait, too:")?;
            }
            writeln!(f, "  {}: `{}` {}", process.place, process.name, process.doing)?;
            self.write_others(process, f)?;
            for around in process.within.chunk_by(|one, two| one == two) {
                match around {
                    [line] => writeln!(f, "      {line}")?,
                    _ => writeln!(f, "      {} ({} times)", around[0], around.len())?,
                }
            }
        }
        if self.more > 0 {
            writeln!(f, "  and {} more processes", self.more)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one that is there five times, the picture says which one each is.
    #[test]
    fn instances_of_a_replicated_par_have_their_index_in_the_picture() {
        let process = |number: usize| WaitingProcess {
            name: String::from("fork"),
            indices: alloc::vec![number as i32, 7],
            waits_for: alloc::vec![(number + 1) % 5],
            ..WaitingProcess::default()
        };
        let report = Report { processes: (0..5).map(process).collect(), cycle: 5, ..Report::default() };
        let (svg, text) = (report.svg(), format!("{report}"));
        for number in 0..5 {
            assert!(svg.contains(&format!(">fork, indices {number}, 7</text>")), "{svg}");
            assert!(text.contains(&format!("for `fork, indices {number}, 7`")), "{text}");
        }
    }
}
