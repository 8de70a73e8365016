//! Owns: the comparison of this source tree with another one: its rows, their rounds, what is run again.
//! May use: pairs, programs of two trees, the order of rounds.
//! Never: standard output; progress goes to standard error.
//!
//! A round goes through all rows, not through one: what the machine does for a minute falls on one pair of every row
//! and not on all pairs of one. Over many rows some look slower by chance alone: those are run once more, and count
//! only if it repeats.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use raddle_measure::rounds::order;

use crate::catalogue::Bench;
use crate::cell::Cell;
use crate::options::RunnerOptions;
use crate::pair::{Pair, Side};
use crate::profile::Profile;
use crate::programs::{BuildResult, CompareSide, Tree, at_side, progress};
use crate::session::is_set;

pub mod table;

/// What is compared if no benchmark is named: what a call from one crate to another could make slower, and is short.
pub const COMPARED: &[&str] = &[
    "create_join",
    "yield2",
    "thread_yield2",
    "handoff",
    "chain",
    "pingpong",
    "commstime_seq",
    "line2000",
    "granularity",
    "alternation",
    "mutex",
    "queue_lock",
    "rendezvous",
    "flow",
    "select",
    "fib",
    "flat",
    "leaves",
    "wake",
];

/// The runtimes whose programs differ between two trees: the others are none of Raddle's. A tree from before processes
/// had storage of their own knows no variants: there all are light.
pub const OURS: &[&str] = &["raddle", "light", "occam"];

/// Of the time that a comparison may take, this part is for what is run again.
const AGAIN: u32 = 4;

/// A row may take so many times what is left for each, before it has to wait for the others.
const SHARE: u32 = 2;

/// The rows of a comparison.
#[derive(Default)]
pub struct Comparison {
    pub pairs: Vec<Pair>,
    /// Programs that one of the trees has not, and why.
    pub absent: Vec<(String, String)>,
}

impl Comparison {
    /// Builds the programs of both trees.
    ///
    /// # Errors
    /// When there are no benchmarks in `root`.
    pub fn build(options: &RunnerOptions, root: &Path) -> Result<Comparison, String> {
        let mut comparison = Comparison::default();
        for &profile in &options.profiles {
            let trees = [Tree::own(profile)?, Tree::other(root, profile)?];
            let programs: Vec<(&str, &str)> =
                rows(options).map(|(bench, cell)| (bench.program, cell.runtime)).collect();
            trees.iter().for_each(|tree| tree.prepare(&programs));
            for (bench, cell) in rows(options) {
                comparison.add(bench, profile, cell, &trees);
            }
        }
        progress("");
        Ok(comparison)
    }

    fn add(&mut self, bench: &'static Bench, profile: Profile, cell: Cell, trees: &[Tree; 2]) {
        let name = format!("{} {} ({profile})", bench.name, cell.runtime);
        if self.absent.iter().any(|(other, _)| *other == name) {
            return;
        }
        let twin = Cell::new(cell.runtime, cell.workers, cell.params.clone());
        match trees.each_ref().map(|tree| tree.build(bench.program, cell.runtime)) {
            [BuildResult::Ready(new), BuildResult::Ready(old)] => {
                let new = at_side(CompareSide::New, profile, &new);
                match new.and_then(|new| Ok([new, at_side(CompareSide::Old, profile, &old)?])) {
                    Ok([new, old]) => {
                        let (new, old) = (Side::new(cell, new), Side::new(twin, old));
                        self.pairs.push(Pair::new(bench, profile, new, old));
                    }
                    Err(why) => self.absent.push((name, why)),
                }
            }
            [BuildResult::Missing(why) | BuildResult::Failed(why), _] => {
                self.absent.push((name, format!("new: {why}")))
            }
            [_, BuildResult::Missing(why) | BuildResult::Failed(why)] => {
                self.absent.push((name, format!("old: {why}")))
            }
        }
    }

    /// Runs the rounds, all of them unless the time is up or somebody interrupts it.
    ///
    /// A row that takes more than its share of the time waits until all others have their rounds.
    pub fn run(&mut self, runs: usize, limit: Option<Duration>, stopped: &AtomicBool) {
        let begun = Instant::now();
        let over = || is_set(stopped) || limit.is_some_and(|limit| begun.elapsed() >= limit);
        self.each(0, over, stopped, |pair| pair.fit());
        let share = limit.map(|limit| SHARE * limit / self.pairs.len().max(1) as u32);
        for share in [share, None] {
            for round in 0..runs {
                self.each(round, over, stopped, |pair| {
                    if pair.rounds() <= round && share.is_none_or(|share| pair.spent < share) {
                        pair.run(round);
                    }
                });
            }
        }
        progress("");
    }

    /// Does `what` with each row that has not failed, in the order of `round`, until it is over.
    fn each(
        &mut self,
        round: usize,
        over: impl Fn() -> bool,
        stopped: &AtomicBool,
        what: impl Fn(&mut Pair),
    ) {
        for index in order(self.pairs.len(), round) {
            let pair = &mut self.pairs[index];
            if over() {
                return;
            }
            if pair.failure().is_none() {
                progress(&format!("{} {}", pair.rounds() + 1, pair.bench.name));
                what(pair);
            }
            if is_set(stopped) {
                // Ctrl-C reaches the process group: these programs were cut short by it, not by a fault.
                (pair.new.cell.failure, pair.old.cell.failure) = (None, None);
            }
        }
    }

    /// The rows that look slower, without a figure.
    pub fn slower(self) -> Comparison {
        let pairs = self.pairs.into_iter().filter(table::is_slower).map(Pair::afresh);
        Comparison { pairs: pairs.collect(), absent: Vec::new() }
    }

    /// Whether every row could be built and run.
    pub fn is_whole(&self) -> bool {
        self.absent.is_empty() && self.pairs.iter().all(|pair| pair.failure().is_none())
    }
}

/// How long the rounds may take, and how long those of what is run again.
pub fn shares(minutes: Option<usize>) -> [Option<Duration>; 2] {
    let all = minutes.map(|minutes| Duration::from_secs(60 * minutes as u64));
    [all.map(|all| all - all / AGAIN), all.map(|all| all / AGAIN)]
}

/// The cells that the options ask for.
fn rows(options: &RunnerOptions) -> impl Iterator<Item = (&'static Bench, Cell)> {
    let cells = move |bench: &'static Bench, runtime: &'static str, workers: usize| {
        let params = bench.params(runtime, workers, options.quick);
        params.into_iter().map(move |params| (bench, Cell::new(runtime, workers, options.given(params))))
    };
    let wanted = options.benches.iter().flat_map(move |&bench| {
        let all =
            bench.runtimes.iter().flat_map(|(runtime, workers)| workers.iter().map(move |w| (*runtime, *w)));
        let wanted = all.filter(|(runtime, workers)| options.wants(runtime, *workers));
        wanted.map(move |(runtime, workers)| (bench, runtime, workers))
    });
    wanted.flat_map(move |(bench, runtime, workers)| cells(bench, runtime, workers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::tests::{measured, scripted};

    #[test]
    fn a_comparison_is_of_raddles_own_runtimes() {
        for (benchmark, cell) in rows(&crate::options::tests::options("--against . --quick")) {
            assert!(OURS.contains(&cell.runtime) && COMPARED.contains(&benchmark.name), "{}", benchmark.name);
        }
        let named = crate::options::tests::options("commstime_seq --against . --workers 2");
        let cells: Vec<_> = rows(&named).map(|(_, cell)| (cell.runtime, cell.workers)).collect();
        assert_eq!(cells, [("raddle", 2), ("light", 2), ("occam", 2)]);
    }

    #[test]
    fn only_what_looks_slower_is_run_again_and_begins_anew() {
        let pairs = vec![measured(&[3.0; 15], &[2.0; 15]), measured(&[2.0; 15], &[2.0; 15])];
        let again = Comparison { pairs, absent: Vec::new() }.slower();
        assert_eq!(again.pairs.len(), 1);
        assert_eq!(again.pairs[0].series(""), [vec![], vec![]]);
    }

    #[test]
    fn a_row_that_took_more_than_its_share_waits_for_the_others_and_then_goes_on() {
        let log = std::env::temp_dir().join(format!("bench-compare-{}.log", std::process::id()));
        let say = |what: &str| format!("echo {what} >>'{}'", log.display());
        let mut pairs = vec![scripted("long", &say("long"), ""), scripted("short", &say("short"), "")];
        pairs[0].spent = Duration::from_secs(3600);
        let mut comparison = Comparison { pairs, absent: Vec::new() };
        comparison.run(2, Some(Duration::from_secs(300)), &AtomicBool::new(false));
        let said = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert!(said.ends_with("short\nshort\nlong\nlong\n"), "{said}");
    }

    #[test]
    fn no_round_begins_when_the_time_is_up() {
        let mut comparison = Comparison { pairs: vec![measured(&[], &[])], absent: Vec::new() };
        comparison.run(3, Some(Duration::ZERO), &AtomicBool::new(false));
        assert_eq!((comparison.pairs[0].series(""), comparison.is_whole()), ([vec![], vec![]], true));
        assert_eq!(shares(Some(12)), [Some(Duration::from_secs(540)), Some(Duration::from_secs(180))]);
    }
}
