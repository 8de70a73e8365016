//! Owns: what Raddle must reach, as one table, and how a measured group stands to it.
//! May use: cells of a group.
//! Never: a bound anywhere else.
//!
//! A required *ratio* is judged by the interval around the median of the ratios within rounds; with fewer than
//! [`raddle_measure::stats::PAIRS_MIN`] pairs the verdict carries a question mark. A bound on a figure itself is
//! judged by the figure's median. A *difference* is judged as a ratio is, by the differences within rounds.
//!
//! A bound on the *worst* run is one on the largest figure of all rounds over the median of another cell, or of the
//! same. A worst run above it is a miss, however many there are; one below it says little before there are
//! [`WORST_OF`] of them, and carries a question mark until then.

use raddle_measure::Interval;
use raddle_measure::rounds::{pair_differences, pair_ratios};
use raddle_measure::stats::Verdict;
use raddle_measure::table::figure;

use crate::cell::{Cell, Params};
use crate::session::BenchGroup;

pub mod table;

pub use table::REQUIREMENTS;

/// The worst run is that of so many.
pub const WORST_OF: usize = 30;

/// One requirement: a figure, what it is held against, and the largest allowed ratio (or value).
pub struct Requirement {
    bench: &'static str,
    figure: Select,
    against: Against,
    bound: f64,
}

/// A figure of a benchmark: the cells of `runtime` on `workers` workers whose parameters contain `params`.
#[derive(Clone, Copy)]
struct Select {
    runtime: &'static str,
    workers: usize,
    params: &'static str,
    metric: &'static str,
}

enum Against {
    /// The bound is the figure's own unit.
    Nothing,
    /// The bound is the ratio to this figure.
    Figure(Select),
    /// The bound is what the figure has more than this one.
    Less(Select),
    /// The bound is the ratio of the worst run to the median of this figure.
    WorstOver(Select),
}

impl Against {
    fn other(&self) -> Option<Select> {
        match *self {
            Against::Nothing => None,
            Against::Figure(other) | Against::Less(other) | Against::WorstOver(other) => Some(other),
        }
    }
}

const fn of(runtime: &'static str, workers: usize) -> Select {
    Select { runtime, workers, params: "", metric: "" }
}

impl Select {
    const fn with(mut self, params: &'static str) -> Self {
        self.params = params;
        self
    }

    const fn metric(mut self, metric: &'static str) -> Self {
        self.metric = metric;
        self
    }

    fn find(self, group: &BenchGroup) -> Option<&Cell> {
        let contains = |cell: &&Cell| {
            let params = Params(&cell.params);
            Params(self.params).pairs().all(|pair| params.pairs().any(|other| other == pair))
        };
        let mut cells = group.cells.iter();
        cells.find(|cell| cell.runtime == self.runtime && cell.workers == self.workers && contains(cell))
    }

    fn name(self) -> String {
        let workers = if self.workers == 1 { "1 worker".into() } else { format!("{} workers", self.workers) };
        let parts = [self.runtime, &workers, self.params, self.metric];
        parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
    }
}

const fn ratio(bench: &'static str, figure: Select, other: Select, bound: f64) -> Requirement {
    Requirement { bench, figure, against: Against::Figure(other), bound }
}

/// What `figure` takes more than `other`.
const fn less(bench: &'static str, figure: Select, other: Select, bound: f64) -> Requirement {
    Requirement { bench, figure, against: Against::Less(other), bound }
}

/// The worst run of `figure` over the median of `other`.
const fn worst(bench: &'static str, figure: Select, other: Select, bound: f64) -> Requirement {
    Requirement { bench, figure, against: Against::WorstOver(other), bound }
}

const fn value(bench: &'static str, figure: Select, bound: f64) -> Requirement {
    Requirement { bench, figure, against: Against::Nothing, bound }
}

/// How a requirement stands, as cells of a table: what, required, measured, interval, pairs, noisy runs, verdict.
pub type Standing = [String; 7];

/// How the requirements of `group`'s benchmark stand.
pub fn standings(group: &BenchGroup) -> Vec<Standing> {
    let all = REQUIREMENTS.iter().copied().flatten();
    all.filter(|r| r.bench == group.bench.name).map(|r| r.standing(group)).collect()
}

impl Requirement {
    fn standing(&self, group: &BenchGroup) -> Standing {
        let what = format!("{} ({})", self.what(), group.profile);
        let required = format!("<= {}", self.bound);
        let noisy = self.noisy(group).to_string();
        let Some(interval) = Interval::of(&self.samples(group)) else {
            return [what, required, "-".into(), "-".into(), "0".into(), noisy, "not measured".into()];
        };
        let count = interval.count.to_string();
        let verdict = self.verdict(&interval).to_string();
        if let Against::WorstOver(_) = self.against {
            return [what, required, figure(interval.worst), "-".into(), count, noisy, verdict];
        }
        let range = format!("{} .. {}", figure(interval.low), figure(interval.high));
        [what, required, figure(interval.median), range, count, noisy, verdict]
    }

    fn what(&self) -> String {
        let (bench, figure) = (self.bench, self.figure.name());
        match self.against {
            Against::Nothing => format!("{bench} {figure}"),
            Against::Figure(other) => format!("{bench} {figure} / {}", other.name()),
            Against::Less(other) => format!("{bench} {figure} minus {}", other.name()),
            Against::WorstOver(other) => format!("{bench} worst of {figure} / median of {}", other.name()),
        }
    }

    fn verdict(&self, interval: &Interval) -> Verdict {
        match self.against {
            Against::Figure(_) | Against::Less(_) => interval.at_most(self.bound),
            Against::Nothing if interval.median <= self.bound => Verdict::Yes,
            Against::WorstOver(_) if interval.worst > self.bound => Verdict::No,
            Against::WorstOver(_) if interval.count < WORST_OF => Verdict::LooksLikeYes,
            Against::WorstOver(_) => Verdict::Yes,
            Against::Nothing => Verdict::No,
        }
    }

    fn samples(&self, group: &BenchGroup) -> Vec<f64> {
        let series =
            |select: Select| select.find(group).map_or_else(Vec::new, |cell| cell.series(select.metric));
        let (figures, others) = (series(self.figure), self.against.other().map_or_else(Vec::new, series));
        match self.against {
            Against::Nothing => figures.into_iter().flatten().collect(),
            Against::Figure(_) => pair_ratios(&figures, &others),
            Against::Less(_) => pair_differences(&figures, &others),
            Against::WorstOver(other) => {
                let median = other.find(group).and_then(|cell| cell.summary(other.metric)).map(|s| s.median);
                let over = |figure: f64| Some(figure / median.filter(|&median| median != 0.0)?);
                figures.into_iter().flatten().filter_map(over).collect()
            }
        }
    }

    /// Runs of both cells that count though strangers took too much during them.
    fn noisy(&self, group: &BenchGroup) -> usize {
        let cells = [Some(self.figure), self.against.other()].into_iter().flatten();
        let mut cells: Vec<&Cell> = cells.filter_map(|select| select.find(group)).collect();
        cells.dedup_by(|one, other| std::ptr::eq(*one, *other));
        cells.into_iter().map(Cell::noisy).sum()
    }
}

#[cfg(test)]
mod tests {
    use raddle_measure::Sample;

    use super::*;
    use crate::catalogue::BENCHES;
    use crate::profile::Profile;

    fn group(name: &str, cells: Vec<(&'static str, usize, &'static str, f64)>) -> BenchGroup {
        let bench = BENCHES.iter().find(|bench| bench.name == name).unwrap();
        let cell = |(runtime, workers, params, figure)| {
            let mut cell = Cell::new(runtime, workers, params);
            cell.rounds =
                (0..15).map(|_| Some(Sample::new(figure, 0).with("net_create_ns", figure))).collect();
            cell
        };
        let cells = cells.into_iter().map(cell).collect();
        BenchGroup { bench, profile: Profile::House, cells, skipped: vec![], unbuilt: vec![] }
    }

    fn verdict(standing: &Standing) -> &str {
        &standing[6]
    }

    #[test]
    fn every_requirement_names_cells_of_the_catalogue() {
        for requirement in REQUIREMENTS.iter().copied().flatten() {
            let bench = BENCHES.iter().find(|bench| bench.name == requirement.bench).unwrap();
            for select in std::iter::once(requirement.figure).chain(requirement.against.other()) {
                let params = bench.params(select.runtime, select.workers, false);
                let cells = params.into_iter().map(|p| (select.runtime, select.workers, p, 1.0)).collect();
                assert!(select.find(&group(bench.name, cells)).is_some(), "{} {}", bench.name, select.name());
                assert!(bench.metrics().any(|(name, _)| name == select.metric), "{}", select.metric);
            }
        }
    }

    /// The verdict of the requirement whose name begins so.
    fn standing(group: &BenchGroup, what: &str) -> Standing {
        let mut all = standings(group).into_iter();
        all.find(|standing| standing[0].starts_with(what)).expect("there is such a requirement")
    }

    #[test]
    fn a_ratio_is_judged_within_its_group() {
        let good =
            group("yield2", vec![("raddle", 1, "", 3.0), ("go", 1, "", 79.0), ("raddle", 2, "", 500.0)]);
        assert_eq!(verdict(&standing(&good, "yield2 raddle 1 worker / go")), "yes");
        let bad = group("yield2", vec![("raddle", 1, "", 24.0), ("go", 1, "", 79.0)]);
        assert_eq!(verdict(&standing(&bad, "yield2 raddle 1 worker / go")), "no");
    }

    #[test]
    fn a_difference_is_judged_within_its_group() {
        let group = |default| group("yield2", vec![("raddle", 1, "", default), ("light", 1, "", 15.0)]);
        let of = |default| standing(&group(default), "yield2 raddle 1 worker minus light");
        assert_eq!([verdict(&of(27.0)), verdict(&of(27.5))], ["yes", "no"]);
        assert_eq!(of(27.5)[2], "12.5");
    }

    #[test]
    fn the_worst_run_is_judged_by_itself_and_shown_with_what_is_noisy() {
        let mut chain = group("chain", vec![("raddle", 1, "", 10.0), ("raddle", 2, "", 11.0)]);
        let what = "chain worst of raddle 2 workers / median of raddle 1 worker";
        assert_eq!(standing(&chain, what)[2..], ["1.10", "-", "15", "0", "yes?"]);
        chain.cells[1].rounds = vec![Some(Sample::new(11.0, 0)); WORST_OF];
        assert_eq!(verdict(&standing(&chain, what)), "yes");
        chain.cells[1].rounds[7] = Some(Sample::new(12.5, 0));
        chain.cells[1].strangers = vec![Some(0.5)];
        assert_eq!(standing(&chain, what)[2..], ["1.25", "-", "30", "1", "no"]);
        chain.cells.remove(0);
        assert_eq!(verdict(&standing(&chain, what)), "not measured");
    }

    #[test]
    fn noisy_runs_of_one_cell_count_once() {
        let two = |figure| ("raddle", 2, "form=flow,ends=1,width=8,capacity=64", figure);
        let mut flow = group("flow", vec![two(50.0)]);
        flow.cells[0].strangers = vec![Some(0.5), Some(0.0)];
        let own =
            standing(&flow, "flow worst of raddle 2 workers ends=1,width=8,capacity=64 / median of raddle 2");
        assert_eq!(own[2..6], ["1.00", "-", "15", "1"]);
    }

    #[test]
    fn a_million_is_held_against_a_thousand_and_not_against_itself() {
        let (thousand, million) = ("count=1000,kind=process", "count=1000000,kind=process");
        let cells = |figure| vec![("raddle", 1, thousand, 100.0), ("raddle", 1, million, figure)];
        assert_eq!(verdict(&standings(&group("alive", cells(120.0)))[0]), "yes");
        assert_eq!(verdict(&standings(&group("alive", cells(140.0)))[0]), "no");
    }

    #[test]
    fn what_did_not_run_is_not_measured() {
        let absent = group("yield2", vec![("raddle", 1, "", 3.0)]);
        assert_eq!(verdict(&standing(&absent, "yield2 raddle 1 worker / go")), "not measured");
        let few = group("handoff", vec![("raddle", 1, "", 41.0)]);
        assert_eq!(verdict(&standings(&few)[0]), "no");
    }
}
