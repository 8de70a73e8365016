//! Owns: one row of a comparison: the same cell built from two source trees, and how much work both do.
//! May use: cells, the processor time of child processes.
//! Never: the order of rows, or what a figure says.
//!
//! Elsewhere a program repeats its body until a sample is long enough, which is more often where the body is faster.
//! Here both trees get the same number of samples of one call each. So the processor time of the processes can be
//! compared, which other programs on the machine change little, and the median of many short samples passes over
//! those in which another program had the core.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use raddle_measure::Plan;

use crate::catalogue::Bench;
use crate::cell::{Cell, Params};
use crate::profile::Profile;

/// The side figure that a [`Side`] adds to those of its program: processor time of the whole process, in ms.
pub const PROCESSOR: &str = "processor_ms";

/// A process shall use about this much processor time, where one sample does not use more. It is the measure, since
/// the time by the clock says on a busy machine how busy that is.
const PROCESSOR_MS: f64 = 80.0;

/// A process that sleeps more than it works shall not take longer than this.
const WALL_MS: f64 = 300.0;

/// A process takes at most so many samples.
const SAMPLES_MAX: usize = 1000;

/// A cell, and its program as one source tree has it.
pub struct Side {
    pub cell: Cell,
    program: PathBuf,
}

/// The same cell from two source trees.
pub struct Pair {
    pub bench: &'static Bench,
    pub profile: Profile,
    pub new: Side,
    pub old: Side,
    /// Samples that a process takes, on both sides.
    samples: usize,
    /// How long its rounds have taken so far.
    pub spent: Duration,
}

impl Side {
    pub fn new(cell: Cell, program: PathBuf) -> Side {
        Side { cell, program }
    }

    /// Runs the program once more, and returns which part it took of what a process may take.
    fn run(&mut self, samples: usize, expected: u64) -> f64 {
        let (begun, before) = (Instant::now(), processor_ms());
        // No sample is shorter than a nanosecond: each is one call of the body.
        self.cell.repeat(Plan { samples, run_ns_min: 1 }, expected, Command::new(&self.program));
        let used = processor_ms().zip(before).map(|(after, before)| after - before);
        if let (Some(Some(sample)), Some(used)) = (self.cell.rounds.last_mut(), used) {
            sample.extra.insert(PROCESSOR.into(), used);
        }
        part(used.unwrap_or_default(), begun.elapsed())
    }

    fn afresh(self) -> Side {
        Side::new(Cell::new(self.cell.runtime, self.cell.workers, self.cell.params), self.program)
    }
}

impl Pair {
    /// `new` and `old` of `bench`, both built in `profile`.
    pub fn new(bench: &'static Bench, profile: Profile, new: Side, old: Side) -> Pair {
        Pair { bench, profile, new, old, samples: 1, spent: Duration::ZERO }
    }

    /// Finds how many samples fill a process, and so warms both sides up.
    pub fn fit(&mut self) {
        let expected = self.expected();
        loop {
            // The machine makes a process longer, never shorter: of two, the shorter one says more.
            let took = self.new.run(self.samples, expected).min(self.old.run(self.samples, expected));
            if took >= 0.25 || self.samples == SAMPLES_MAX || self.failure().is_some() {
                self.samples = ((self.samples as f64 / took) as usize).clamp(1, SAMPLES_MAX);
                break;
            }
            self.samples = (self.samples * 4).min(SAMPLES_MAX);
        }
        self.new.cell.rounds.clear();
        self.old.cell.rounds.clear();
    }

    /// Runs both sides, who goes first in turn; nothing once a side has failed.
    pub fn run(&mut self, round: usize) {
        let (expected, samples, begun) = (self.expected(), self.samples, Instant::now());
        let mut sides = [&mut self.new, &mut self.old];
        sides.rotate_left(round % 2);
        for side in sides {
            if side.cell.failure.is_none() {
                side.run(samples, expected);
            }
        }
        self.spent += begun.elapsed();
    }

    /// How many rounds it has been through.
    pub fn rounds(&self) -> usize {
        self.new.cell.rounds.len()
    }

    /// What went wrong, on whichever side.
    pub fn failure(&self) -> Option<String> {
        let of = |name: &str, side: &Side| Some(format!("{name}: {}", side.cell.failure.as_ref()?));
        of("new", &self.new).or_else(|| of("old", &self.old))
    }

    /// The figures called `metric` of the new and the old tree, round by round.
    pub fn series(&self, metric: &str) -> [Vec<Option<f64>>; 2] {
        [self.new.cell.series(metric), self.old.cell.series(metric)]
    }

    /// The same pair without a figure.
    pub fn afresh(self) -> Pair {
        Pair { new: self.new.afresh(), old: self.old.afresh(), spent: Duration::ZERO, ..self }
    }

    fn expected(&self) -> u64 {
        (self.bench.checksum)(&Params(&self.new.cell.params))
    }
}

/// Which part of its share a process took that used so much processor time and was over after `wall`.
fn part(used_ms: f64, wall: Duration) -> f64 {
    (used_ms / PROCESSOR_MS).max(wall.as_secs_f64() * 1e3 / WALL_MS)
}

/// What all child processes that are over have used; `None` if the kernel does not say.
fn processor_ms() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    Some((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e3)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::catalogue::BENCHES;

    /// A program that prints as many samples as it is asked for, each of `figure`, after it did what `before` says.
    fn program(folder: &std::path::Path, name: &str, before: &str, figure: u32) -> PathBuf {
        let path = folder.join(name);
        let line = format!("{{\"ns_per_op\":{figure},\"checksum\":\"200000\"}}");
        let script = format!("#!/bin/sh\n{before}\nfor i in $(seq \"$6\"); do echo '{line}'; done\n");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A row of `yield2` whose programs are scripts.
    pub(crate) fn scripted(name: &str, new: &str, old: &str) -> Pair {
        let folder = std::env::temp_dir().join(format!("bench-pair-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let bench = BENCHES.iter().find(|bench| bench.name == "yield2").unwrap();
        let side = |program| Side::new(Cell::new("raddle", 1, "processes=2,rounds=100000"), program);
        let (new, old) = (program(&folder, "new", new, 3), program(&folder, "old", old, 2));
        Pair::new(bench, Profile::User, side(new), side(old))
    }

    /// A row with these figures, round by round.
    pub(crate) fn measured(new: &[f64], old: &[f64]) -> Pair {
        let bench = BENCHES.iter().find(|bench| bench.name == "yield2").unwrap();
        let side = |figures: &[f64]| {
            let mut cell = Cell::new("raddle", 1, "processes=2,rounds=100000");
            let sample = |&ns| Some(raddle_measure::Sample::new(ns, 0).with(PROCESSOR, 100.0));
            cell.rounds = figures.iter().map(sample).collect();
            Side::new(cell, PathBuf::new())
        };
        Pair::new(bench, Profile::User, side(new), side(old))
    }

    #[test]
    fn both_sides_run_in_each_round_and_take_turns() {
        let log = std::env::temp_dir().join(format!("bench-pair-turns-{}.log", std::process::id()));
        let say = |what: &str| format!("echo {what} >>'{}'", log.display());
        let mut pair = scripted("turns", &say("new"), &say("old"));
        (0..3).for_each(|round| pair.run(round));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "new\nold\nold\nnew\nnew\nold\n");
        std::fs::remove_file(&log).unwrap();
        assert_eq!(pair.series(""), [vec![Some(3.0); 3], vec![Some(2.0); 3]]);
        assert!(pair.series(PROCESSOR).iter().flatten().all(|ms| ms.is_some_and(|ms| ms > 0.0)));
    }

    #[test]
    fn both_sides_take_as_many_samples_as_fit_and_forget_the_way_there() {
        let mut pair = scripted("fit", "sleep 0.01", "");
        pair.fit();
        assert!((2..=SAMPLES_MAX).contains(&pair.samples), "{}", pair.samples);
        assert_eq!((pair.failure(), pair.series("")), (None, [vec![], vec![]]));
    }

    #[test]
    fn a_process_has_its_share_when_it_worked_enough_or_slept_enough() {
        assert_eq!(part(PROCESSOR_MS, Duration::from_millis(100)), 1.0);
        assert_eq!(part(1.0, Duration::from_millis(300)), 1.0);
        assert_eq!(part(PROCESSOR_MS / 2.0, Duration::ZERO), 0.5);
    }

    #[test]
    fn what_fails_says_on_which_side_and_is_not_run_again() {
        let mut pair = scripted("fails", "", "echo no stacks >&2; exit 3");
        (0..2).for_each(|round| pair.run(round));
        let failure = pair.failure().unwrap();
        assert!(failure.starts_with("old: ") && failure.contains("no stacks"), "{failure}");
        assert_eq!(pair.series("")[1], [None]);
    }
}
