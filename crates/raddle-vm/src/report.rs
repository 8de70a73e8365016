//! Owns: the account of a run-time error or a deadlock: which process, where, waiting for what and for whom.
//! May use: the table of processes and the module's names, while nothing runs.
//! Never: an assumption about the program's memory: what is found there is looked at, not believed.
//!
//! Who would have to serve a channel is not written anywhere. The module says in which slot a piece of code holds the
//! address of a channel's end (`End`); so every frame of every process is asked which ends it holds. Of those that
//! hold the other end one would have to come: the process waits for them.

mod draw;
mod look;
mod name;
mod race;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Line, from 1; 0 if it is not known.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str("(no line known)"),
            line => write!(f, "{}:{}:{}", self.file, line, self.column),
        }
    }
}

/// One process of a report.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Waiting {
    /// Its number.
    pub id: u32,
    /// The PROC that it is in.
    pub name: String,
    /// Which instance it is of the replicated PARs that it is in: their indices, from the inside out.
    pub indices: Vec<i32>,
    /// Where it stands.
    pub place: Place,
    /// What it does there: `waits to output on channel `c``.
    pub doing: String,
    /// From the inside out: the calls and the PARs that it is in.
    pub within: Vec<String>,
    /// Whom it waits for: places in [`Report::processes`].
    pub waits_for: Vec<usize>,
}

impl Waiting {
    /// What to call it where it may not be the only one of its name: `fork, index 3`.
    fn label(&self) -> String {
        let indices: Vec<String> = self.indices.iter().map(|index| format!("{index}")).collect();
        match indices.len() {
            0 => self.name.clone(),
            1 => format!("{}, index {}", self.name, indices[0]),
            _ => format!("{}, indices {}", self.name, indices.join(", ")),
        }
    }
}

/// The account.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// In a few words.
    pub headline: String,
    /// Those concerned; of a deadlock, the cycle first.
    pub processes: Vec<Waiting>,
    /// How many at the front form a cycle.
    pub cycle: usize,
    /// How many processes there are beyond those listed.
    pub more: usize,
}

impl Report {
    /// Puts a cycle of waiting to the front.
    fn find_cycle(&mut self) {
        let Some(cycle) = cycle_in(&self.processes) else { return };
        let rest = (0..self.processes.len()).filter(|at| !cycle.contains(at));
        let order: Vec<usize> = cycle.iter().copied().chain(rest).collect();
        let mut place = alloc::vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let processes = order.iter().map(|&old| self.processes[old].clone());
        self.processes = processes
            .map(|mut process| {
                process.waits_for.iter_mut().for_each(|other| *other = place[*other]);
                process
            })
            .collect();
        self.cycle = cycle.len();
    }
}

/// Follows edges until a process comes up again. Without recursion: there may be many.
fn cycle_in(processes: &[Waiting]) -> Option<Vec<usize>> {
    let mut done = alloc::vec![false; processes.len()];
    for start in 0..processes.len() {
        // The way from `start` to here, with the number of the next edge to follow at each.
        let mut way: Vec<(usize, usize)> = alloc::vec![(start, 0)];
        while let Some((at, edge)) = way.last_mut() {
            let next = processes[*at].waits_for.get(*edge).copied().filter(|_| !done[*at]);
            *edge += 1;
            match next {
                None => {
                    done[*at] = true;
                    way.pop();
                }
                Some(next) => {
                    if let Some(first) = way.iter().position(|&(at, _)| at == next) {
                        return Some(way[first..].iter().map(|&(at, _)| at).collect());
                    }
                    if !done[next] {
                        way.push((next, 0));
                    }
                }
            }
        }
    }
    None
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline)?;
        for (number, process) in self.processes.iter().enumerate() {
            if self.cycle > 0 && number == 0 {
                writeln!(f, "  these wait for each other in a circle:")?;
            }
            if number == self.cycle && self.cycle > 0 {
                writeln!(f, "  these wait, too:")?;
            }
            writeln!(f, "  {}: `{}` {}", process.place, process.name, process.doing)?;
            for other in process.waits_for.iter().map(|&other| &self.processes[other]) {
                writeln!(f, "      for `{}` at {}", other.label(), other.place)?;
            }
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

    fn check(edges: &[&[usize]], expected: Option<&[usize]>) {
        let process = |to: &&[usize]| Waiting { waits_for: to.to_vec(), ..Waiting::default() };
        let processes: Vec<Waiting> = edges.iter().map(process).collect();
        assert_eq!(cycle_in(&processes).as_deref(), expected);
    }

    /// Of one that is there five times, the picture says which one each is.
    #[test]
    fn instances_of_a_replicated_par_have_their_index_in_the_picture() {
        let process = |number: usize| Waiting {
            name: String::from("fork"),
            indices: alloc::vec![number as i32, 7],
            waits_for: alloc::vec![(number + 1) % 5],
            ..Waiting::default()
        };
        let report = Report { processes: (0..5).map(process).collect(), cycle: 5, ..Report::default() };
        let (svg, text) = (report.svg(), format!("{report}"));
        for number in 0..5 {
            assert!(svg.contains(&format!(">fork, indices {number}, 7</text>")), "{svg}");
            assert!(text.contains(&format!("for `fork, indices {number}, 7`")), "{text}");
        }
    }

    #[test]
    fn cycles_are_found_and_only_they() {
        check(&[&[1], &[0]], Some(&[0, 1]));
        check(&[&[1, 2], &[2], &[]], None);
        check(&[&[1], &[2], &[3], &[1]], Some(&[1, 2, 3]));
        check(&[&[0]], Some(&[0]));
        check(&[&[1], &[2], &[], &[2, 3]], Some(&[3]));
    }
}
