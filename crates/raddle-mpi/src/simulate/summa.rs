//! Owns: `SummaScene`: what each rank of SUMMA does, as schedules that SimGrid replays, and as the formula.
//! May use: `blocks`.
//! Never: starting a program.
//!
//! A mesh of `q x q` ranks; in each of `S` steps a panel of `B` bytes goes along each row, and one along each column,
//! from rank to rank in segments of `s` bytes, as a [`BlockPlan`](crate::BlockPlan) has it, and is multiplied (`W`).
//! With the time `G` of a byte and the latency `L`, `C = 2 B G + L` is what a rank's link takes for a step, and on
//! lines of more than two ranks `h = 2 s G + L` what a segment takes to the next one (else 0), `e = 3 h (q - 1) / q`:
//!
//! | model | all steps |
//! |---|---|
//! | sync | `S (W + C + e) + 2 (q - 2) h` |
//! | shared, dedicated | `C + 2 (q - 2) h + (S - 1) max(W + max(C + 2 (q - 1) h - W, 0) / q, C + e) + W` |
//!
//! The first step is exposed, and each hop of a chain: the rank that gives the next panels is one row and one column on
//! from the last one, has theirs two hops later, and has handed them on after one more. (That of this a part of
//! `(q - 1) / q` counts was found by simulating: without it three ranks a side are 8 % off.) Where panel k+1 moves
//! while panel k is multiplied, the rank that gave the last ones is the last to get the next ones, once in `q` steps.
//!
//! Who moves messages while a rank multiplies is a second process on its host, for SimGrid replays one thing after the
//! other: it is told when panels are wanted, and tells when they are here. Messages over one connection go one after
//! the other, as over TCP.

use super::network::{ReplayFiles, ReplayNetwork};
use super::{SimulatedModel, SimulatedTime, SimulationError, launcher};
use crate::blocks::{ChainLink, segments};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Tags of what the two processes of a rank tell each other; those of parts are smaller.
const WANTED: usize = 1_000_000;
const HERE: usize = 1_000_001;

/// What is simulated: products of matrices by SUMMA on a square mesh of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaScene {
    /// Ranks along each side of the mesh.
    pub side: usize,
    /// Rows and columns of each rank's part of each matrix, of doubles.
    pub block: usize,
    /// Columns, or rows, of a panel.
    pub panel: usize,
    /// How many panels are multiplied.
    pub steps: usize,
    /// Multiplications with their sums, of a rank in a second: half of its floating-point operations.
    pub products_per_second: f64,
    /// How fast a rank's link is, each way.
    pub bytes_per_second: f64,
    /// From one rank to another one.
    pub latency: Duration,
    /// How much longer a rank computes with a processor less.
    pub kernel_ratio: f64,
}

impl Default for SummaScene {
    /// Four ranks with 2048 rows and columns each and panels of 128, which are 2 MB; 20 Gflop/s; the link of the other
    /// [`Scene`](super::Scene).
    fn default() -> SummaScene {
        SummaScene {
            side: 2,
            block: 2048,
            panel: 128,
            steps: 16,
            products_per_second: 10e9,
            bytes_per_second: 125e6,
            latency: Duration::from_micros(50),
            kernel_ratio: 1.12,
        }
    }
}

/// One of the two chains of a step that a rank is in.
struct ChainOfStep {
    /// The ranks before and behind, if there are any.
    before: Option<usize>,
    behind: Option<usize>,
    /// Tags of its parts are even, or odd.
    odd: usize,
}

impl SummaScene {
    /// The models that differ here: what nobody moves while a rank multiplies is sync.
    pub const MODELS: [SimulatedModel; 3] =
        [SimulatedModel::Sync, SimulatedModel::Shared, SimulatedModel::Dedicated];

    fn check(&self) -> Result<(), SimulationError> {
        let is_number = |number: f64| number.is_finite() && number > 0.0;
        let is_well = is_number(self.products_per_second)
            && is_number(self.bytes_per_second)
            && is_number(self.kernel_ratio)
            && (2..=256).contains(&self.side)
            && (1..=1 << 15).contains(&self.block)
            && (1..=self.block).contains(&self.panel)
            && (1..=1 << 10).contains(&self.steps);
        let text = "sides of 2 to 256 ranks, blocks of up to 32768, panels within them, up to 1024 steps, and rates \
                    above zero, are possible";
        if is_well { Ok(()) } else { Err(SimulationError::Scene(text.to_owned())) }
    }

    fn bytes(&self) -> usize {
        size_of::<f64>() * self.block * self.panel
    }

    /// Seconds of a step's multiplication.
    fn work(&self, model: SimulatedModel) -> f64 {
        let longer = if model == SimulatedModel::Dedicated { self.kernel_ratio } else { 1.0 };
        (self.block * self.block * self.panel) as f64 / self.products_per_second * longer
    }

    /// What a step takes by the formula: the time of all, divided by their number.
    ///
    /// # Errors
    /// [`SimulationError::Scene`].
    pub fn formula(&self, model: SimulatedModel) -> Result<Duration, SimulationError> {
        self.check()?;
        let (side, steps, work) = (self.side as f64, self.steps as f64, self.work(model));
        let latency = self.latency.as_secs_f64();
        let wire = |bytes: usize| 2.0 * bytes as f64 / self.bytes_per_second + latency;
        let first = segments(self.bytes(), self.side).first().map_or(0, |range| range.len());
        let (step, hop) = (wire(self.bytes()), if self.side > 2 { wire(first) } else { 0.0 });
        let (fill, handed_on) = (2.0 * (side - 2.0) * hop, 3.0 * hop * (side - 1.0) / side);
        let all = match model {
            SimulatedModel::Sync | SimulatedModel::Async => steps * (work + step + handed_on) + fill,
            SimulatedModel::Shared | SimulatedModel::Dedicated => {
                let last = (step + 2.0 * (side - 1.0) * hop - work).max(0.0);
                let each = (work + last / side).max(step + handed_on);
                step + fill + (steps - 1.0) * each + work
            }
        };
        let long = || SimulationError::Scene("a step would take longer than a time can be long".to_owned());
        Duration::try_from_secs_f64(all / steps).map_err(|_| long())
    }

    /// Simulates a model, and says what the formula does of it, unless that is to be stopped.
    ///
    /// # Errors
    /// [`SimulationError`].
    pub fn simulate_unless(
        &self,
        model: SimulatedModel,
        folder: &Path,
        is_to_stop: &dyn Fn() -> bool,
    ) -> Result<SimulatedTime, SimulationError> {
        let formula = self.formula(model)?;
        let launcher = launcher()?;
        let files = ReplayFiles::in_folder(folder);
        let ranks = self.side * self.side;
        let has_proxy = model != SimulatedModel::Sync;
        let network = ReplayNetwork {
            hosts: ranks,
            processes: if has_proxy { 2 * ranks } else { ranks },
            bytes_per_second: self.bytes_per_second,
            latency: self.latency,
        };
        for rank in 0..ranks {
            if is_to_stop() {
                return Err(SimulationError::Stopped);
            }
            if has_proxy {
                files.schedule(rank, &self.multiplies(rank, self.work(model)))?;
                files.schedule(ranks + rank, &self.moves(rank))?;
            } else {
                files.schedule(rank, &self.one_after_the_other(rank))?;
            }
        }
        files.network(&network)?;
        let all = network.replay(&launcher, (&files, Duration::ZERO), is_to_stop)?;
        let steps = u32::try_from(self.steps).expect("few");
        Ok(SimulatedTime { simulated: all / steps, formula })
    }

    /// The chains of a step: along the row, and along the column.
    fn chains(&self, rank: usize, step: usize) -> [ChainOfStep; 2] {
        let (side, root) = (self.side, step % self.side);
        let (row, column) = (rank / side, rank % side);
        let chain = |place, odd, peer: &dyn Fn(usize) -> usize| {
            let ChainLink { before, behind } = ChainLink::of(place, side, root);
            ChainOfStep { before: before.map(peer), behind: behind.map(peer), odd }
        };
        let mut both =
            [chain(column, 0, &|place| row * side + place), chain(row, 1, &|place| place * side + column)];
        // Who gives waits for nobody.
        both.sort_by_key(|chain| chain.before.is_some());
        both
    }

    /// The messages of a step, by the process that is so much behind the rank.
    fn step(&self, rank: usize, step: usize, behind: usize) -> String {
        let (me, parts, mut text) = (rank + behind, segments(self.bytes(), self.side), String::new());
        let chains = self.chains(rank, step);
        let tag = |part: usize, odd: usize| 2 * part + odd;
        for ChainOfStep { before, odd, .. } in &chains {
            let Some(peer) = before.map(|peer| peer + behind) else { continue };
            for (part, range) in parts.iter().enumerate() {
                let _ = writeln!(text, "{me} irecv {peer} {} {}", tag(part, *odd), range.len());
            }
        }
        for (part, range) in parts.iter().enumerate() {
            for ChainOfStep { before, behind: next, odd, .. } in &chains {
                if let Some(peer) = before {
                    let _ = writeln!(text, "{me} wait {} {me} {}", peer + behind, tag(part, *odd));
                }
                let Some(peer) = next.map(|peer| peer + behind) else { continue };
                if part > 0 {
                    let _ = writeln!(text, "{me} wait {me} {peer} {}", tag(part - 1, *odd));
                }
                let _ = writeln!(text, "{me} isend {peer} {} {}", tag(part, *odd), range.len());
            }
        }
        if chains.iter().any(|chain| chain.behind.is_some()) {
            let _ = writeln!(text, "{me} waitall");
        }
        text
    }

    /// Model `Sync`: a rank that moves panels, and then multiplies.
    fn one_after_the_other(&self, rank: usize) -> String {
        let work = self.work(SimulatedModel::Sync) * 1e9;
        let steps =
            (0..self.steps).map(|step| format!("{}{rank} compute {work}\n", self.step(rank, step, 0)));
        format!("{rank} init\n{}{rank} finalize\n", steps.collect::<String>())
    }

    /// The process that multiplies: it wants the next panels when it begins with the last ones.
    fn multiplies(&self, rank: usize, work: f64) -> String {
        let proxy = self.side * self.side + rank;
        let wants = |is_more: bool| {
            if is_more { format!("{rank} isend {proxy} {WANTED} 1\n") } else { String::new() }
        };
        let steps = (1..=self.steps).map(|step| {
            let more = wants(step < self.steps);
            format!("{rank} recv {proxy} {HERE} 1\n{more}{rank} compute {}\n", work * 1e9)
        });
        format!("{rank} init\n{}{}{rank} waitall\n{rank} finalize\n", wants(true), steps.collect::<String>())
    }

    /// The process that moves panels.
    fn moves(&self, rank: usize) -> String {
        let ranks = self.side * self.side;
        let me = ranks + rank;
        let steps = (0..self.steps).map(|step| {
            let moves = self.step(rank, step, ranks);
            format!("{me} recv {rank} {WANTED} 1\n{moves}{me} send {rank} {HERE} 1\n")
        });
        format!("{me} init\n{}{me} finalize\n", steps.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_the_one_that_is_written_above() {
        // W 10 ms; B 1 MB, so that C is 20 ms and 0.1; a segment of 256 KiB, h 5.342 ms.
        let scene = |side| SummaScene {
            side,
            block: 1000,
            panel: 125,
            steps: 4,
            products_per_second: 12.5e9,
            bytes_per_second: 1e8,
            latency: Duration::from_micros(100),
            ..SummaScene::default()
        };
        let of =
            |side, model| (scene(side).formula(model).expect("a time").as_secs_f64() * 4e6).round() as u64;
        assert_eq!(of(2, SimulatedModel::Sync), 4 * (10_000 + 20_100));
        assert_eq!(of(2, SimulatedModel::Shared), 20_100 + 3 * 20_100 + 10_000);
        let h: f64 = 5342.88;
        assert_eq!(of(4, SimulatedModel::Sync), (4.0 * (30_100.0 + 2.25 * h) + 4.0 * h).round() as u64);
        let each = f64::max(10_000.0 + (10_100.0 + 6.0 * h) / 4.0, 20_100.0 + 2.25 * h);
        assert_eq!(
            of(4, SimulatedModel::Shared),
            (20_100.0 + 4.0 * h + 3.0 * each + 10_000.0).round() as u64
        );
    }

    #[test]
    fn panels_go_from_rank_to_rank_and_each_is_received_as_often_as_it_is_sent() {
        let scene = SummaScene { side: 3, steps: 3, ..SummaScene::default() };
        let all: String = (0..9).map(|rank| scene.one_after_the_other(rank)).collect();
        let count = |what: &str| all.lines().filter(|line| line.split(' ').nth(1) == Some(what)).count();
        // Two of three ranks of each line get each of eight parts, in each step.
        assert_eq!((count("irecv"), count("isend")), (2 * 3 * 2 * 8 * 3, 2 * 3 * 2 * 8 * 3));
        let mut ends: Vec<[String; 4]> = Vec::new();
        for line in all.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let end = match words[1] {
                "isend" => [words[0], words[2], words[3], words[4]],
                "irecv" => [words[2], words[0], words[3], words[4]],
                _ => continue,
            };
            ends.push(end.map(str::to_owned));
        }
        ends.sort();
        assert!(ends.chunks(2).all(|pair| pair[0] == pair[1]), "who sends is not who is received from");
    }

    #[test]
    fn who_gives_sends_first_and_the_last_one_only_receives() {
        let scene = SummaScene { side: 3, panel: 16, steps: 1, ..SummaScene::default() };
        assert_eq!(scene.step(0, 0, 0), "0 isend 1 0 262144\n0 isend 3 1 262144\n0 waitall\n");
        assert_eq!(
            scene.step(8, 0, 0),
            "8 irecv 7 0 262144\n8 irecv 5 1 262144\n8 wait 7 8 0\n8 wait 5 8 1\n"
        );
    }
}
