//! Owns: what Raddle must reach, as one table, and how a measured group stands to it.
//! May use: cells of a group.
//! Never: a bound anywhere else.
//!
//! A required *ratio* is judged by the interval around the median of the ratios within rounds; with fewer than
//! [`raddle_measure::stats::PAIRS_MIN`] pairs the verdict carries a question mark. A bound on a figure itself is
//! judged by the figure's median.

use raddle_measure::rounds::pair_ratios;
use raddle_measure::stats::Verdict;
use raddle_measure::{Interval, table};

use crate::cell::{Cell, Params};
use crate::session::BenchGroup;

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

const fn value(bench: &'static str, figure: Select, bound: f64) -> Requirement {
    Requirement { bench, figure, against: Against::Nothing, bound }
}

const RADDLE: Select = of("raddle", 1);
const RADDLE_TWO: Select = of("raddle", 2);
const LIGHT: Select = of("light", 1);
const GO: Select = of("go", 1);
const OCCAM: Select = of("occam", 1);
const OCCAM_TWO: Select = of("occam", 2);

const TREE: &str = "leaves=100000,children=10";

/// The table of the core's speed and memory.
pub const REQUIREMENTS: &[Requirement] = &[
    ratio("yield2", RADDLE, GO, 0.15),
    ratio("yield1000", RADDLE, GO, 0.15),
    ratio("create_join", RADDLE, GO, 0.15),
    ratio("create255", RADDLE, GO, 0.2),
    ratio("tree", RADDLE.with(TREE), GO.with(TREE), 0.3),
    ratio("tree", RADDLE_TWO.with(TREE), RADDLE.with(TREE), 0.6),
    value("tree", RADDLE.with(TREE), 260.0),
    ratio(
        "alive",
        RADDLE.with("count=1000000,kind=process").metric("net_create_ns"),
        RADDLE.with("count=1000,kind=process").metric("net_create_ns"),
        1.3,
    ),
    value("alive", RADDLE.with("count=100000,kind=process").metric("resident_bytes"), 6000.0),
    value("alive", LIGHT.with("count=100000,kind=process").metric("resident_bytes"), 4400.0),
    value("alive", LIGHT.with("count=1000000,kind=process").metric("resident_bytes"), 4400.0),
    value("alive", RADDLE.with("count=100000,kind=task").metric("resident_bytes"), 256.0),
    value("alive", RADDLE.with("count=1000000,kind=task").metric("resident_bytes"), 256.0),
    ratio("thread_yield2", RADDLE, GO, 0.3),
    ratio("thread_yield1000", RADDLE, GO, 0.3),
    ratio("thread_create", RADDLE, GO, 0.6),
    ratio("thread_create", RADDLE_TWO, of("std", 2), 0.02),
    value("thread_alive", RADDLE.with("count=100000").metric("resident_bytes"), 10_000.0),
    value("migrate", RADDLE_TWO, 1000.0),
    ratio("started", RADDLE_TWO, RADDLE, 0.55),
    value("started", RADDLE_TWO, 20.0),
    value("handoff", RADDLE, 40.0),
    ratio("wake", RADDLE.with("from=os"), RADDLE.with("from=os").metric("futex_ns"), 1.2),
    ratio("chain", RADDLE_TWO, RADDLE, 1.05),
    ratio("pingpong", RADDLE, GO, 0.15),
    ratio("pingpong", RADDLE_TWO, of("floor", 2), 3.0),
    ratio("commstime_seq", RADDLE, GO, 0.15),
    ratio("commstime_par", RADDLE, GO, 0.15),
    ratio("line2000", RADDLE.with("messages=500,segments=0"), GO.with("messages=500"), 0.15),
    ratio("line2000", RADDLE_TWO.with("messages=1,segments=0"), RADDLE.with("messages=1"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=500,segments=0"), RADDLE.with("messages=500"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=2000,segments=0"), RADDLE.with("messages=2000"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=100000,segments=0"), RADDLE.with("messages=100000"), 1.05),
    ratio("line2000", RADDLE_TWO.with("messages=100000,segments=2"), RADDLE.with("messages=100000"), 0.65),
    ratio("granularity", RADDLE.with("grain=1"), GO.with("grain=1"), 0.2),
    ratio("granularity", RADDLE_TWO.with("grain=1"), of("go", 2).with("grain=1"), 0.2),
    ratio("granularity", RADDLE_TWO.with("grain=1"), RADDLE.with("grain=1"), 0.6),
    ratio("granularity", RADDLE_TWO.with("grain=1000"), RADDLE.with("grain=1000"), 0.53),
    ratio("alternation", RADDLE.with("channels=2"), GO.with("channels=2"), 0.3),
    ratio("alternation", RADDLE.with("channels=8"), GO.with("channels=8"), 0.3),
    ratio("alternation", RADDLE.with("channels=64"), GO.with("channels=64"), 0.3),
    ratio("independent", RADDLE_TWO.with("form=a"), RADDLE.with("form=a"), 0.53),
    ratio("independent", RADDLE_TWO.with("form=b"), RADDLE.with("form=b"), 0.55),
    ratio("independent", RADDLE_TWO.with("form=c"), RADDLE.with("form=c"), 0.55),
    ratio("mutex", RADDLE, of("std", 1), 1.0),
    ratio("mutex", RADDLE, of("parking_lot", 1), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=2"), of("std", 2).with("threads=2"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=2"), of("parking_lot", 2).with("threads=2"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=64"), of("std", 2).with("threads=64"), 1.0),
    ratio("mutex", RADDLE_TWO.with("threads=64"), of("parking_lot", 2).with("threads=64"), 1.0),
    ratio("futex", RADDLE.with("form=nobody"), of("kernel", 1).with("form=nobody"), 0.2),
    ratio("futex", RADDLE.with("form=nobody"), of("parking_lot", 1).with("form=nobody"), 1.0),
    ratio("futex", RADDLE.with("form=pair"), of("kernel", 1).with("form=pair"), 0.2),
    ratio("futex", RADDLE.with("form=pair"), of("parking_lot", 1).with("form=pair"), 0.2),
    ratio("queue_lock", RADDLE.with("lock=mcs"), RADDLE.with("lock=spin"), 1.3),
    ratio("queue_lock", RADDLE.with("lock=clh"), RADDLE.with("lock=spin"), 1.3),
    ratio("queue_lock", RADDLE_TWO.with("lock=mcs,threads=64"), RADDLE_TWO.with("lock=mcs,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=clh,threads=64"), RADDLE_TWO.with("lock=clh,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=mcs,threads=1000"), RADDLE_TWO.with("lock=mcs,threads=2"), 2.0),
    ratio("queue_lock", RADDLE_TWO.with("lock=clh,threads=1000"), RADDLE_TWO.with("lock=clh,threads=2"), 2.0),
    ratio("rendezvous", RADDLE, GO, 0.3),
    ratio("select", RADDLE.with("form=ready,width=2"), GO.with("form=ready,width=2"), 0.3),
    ratio("select", RADDLE.with("form=ready,width=8"), GO.with("form=ready,width=8"), 0.3),
    ratio("select", RADDLE.with("form=ready,width=64"), GO.with("form=ready,width=64"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=2"), GO.with("form=wait,width=2"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=8"), GO.with("form=wait,width=8"), 0.3),
    ratio("select", RADDLE.with("form=wait,width=64"), GO.with("form=wait,width=64"), 0.3),
    value("commstime_seq", OCCAM, 30.0),
    value("commstime_par", OCCAM, 37.5),
    ratio("commstime_seq", OCCAM, GO, 0.3),
    ratio("commstime_par", OCCAM, GO, 0.3),
    ratio("commstime_seq", OCCAM_TWO, OCCAM, 1.05),
    ratio("commstime_par", OCCAM_TWO, OCCAM, 1.05),
    value("ring", OCCAM, 45.0),
    ratio("ring", OCCAM_TWO, OCCAM, 1.05),
    value("pair", OCCAM, 150.0),
    value("update", OCCAM, 30.0),
    value("crowd", OCCAM.metric("resident_bytes"), 120.0),
    ratio("granularity", OCCAM_TWO.with("grain=1"), OCCAM.with("grain=1"), 0.6),
    ratio("granularity", OCCAM_TWO.with("grain=1000"), OCCAM.with("grain=1000"), 0.53),
    value("check", OCCAM, 2000.0),
    ratio("check_wide", OCCAM.with("branches=16000"), OCCAM.with("branches=2000"), 1.5),
    value("idle", RADDLE, 0.05),
    value("idle", RADDLE_TWO, 0.05),
    ratio("fib", RADDLE, of("chili", 1), 1.0),
    ratio("fib", RADDLE_TWO, of("chili", 2), 1.0),
    ratio("fib", RADDLE, of("rayon", 1), 0.35),
    ratio("fib", RADDLE_TWO, of("rayon", 2), 0.35),
    value("flat", RADDLE.with("batch=250,kind=future"), 6.0),
    value("flat", RADDLE_TWO.with("batch=250,kind=future"), 6.0),
    value("flat", RADDLE.with("batch=1000000,kind=future"), 6.0),
    value("flat", RADDLE_TWO.with("batch=1000000,kind=future"), 6.0),
    ratio("flat", RADDLE.with("batch=250,kind=future"), RADDLE.with("kind=process"), 0.2),
    ratio("flat", RADDLE.with("batch=250,kind=future"), RADDLE.with("kind=thread"), 0.025),
    ratio("leaves", RADDLE_TWO, RADDLE, 0.5263),
    ratio("trace_event", RADDLE.with("form=record"), RADDLE.with("form=stamp"), 1.15),
];

/// How a requirement stands, as cells of a table: what, required, measured, interval, pairs, verdict.
pub type Standing = [String; 6];

/// How the requirements of `group`'s benchmark stand.
pub fn standings(group: &BenchGroup) -> Vec<Standing> {
    REQUIREMENTS.iter().filter(|r| r.bench == group.bench.name).map(|r| r.standing(group)).collect()
}

impl Requirement {
    fn standing(&self, group: &BenchGroup) -> Standing {
        let what = match &self.against {
            Against::Nothing => format!("{} {}", self.bench, self.figure.name()),
            Against::Figure(other) => format!("{} {} / {}", self.bench, self.figure.name(), other.name()),
        };
        let what = format!("{what} ({})", group.profile);
        let required = format!("<= {}", self.bound);
        let Some(interval) = Interval::of(&self.samples(group)) else {
            return [what, required, "-".into(), "-".into(), "0".into(), "not measured".into()];
        };
        let range = format!("{} .. {}", table::figure(interval.low), table::figure(interval.high));
        let verdict = self.verdict(&interval).to_string();
        [what, required, table::figure(interval.median), range, interval.count.to_string(), verdict]
    }

    fn verdict(&self, interval: &Interval) -> Verdict {
        match self.against {
            Against::Figure(_) => interval.at_most(self.bound),
            Against::Nothing if interval.median <= self.bound => Verdict::Yes,
            Against::Nothing => Verdict::No,
        }
    }

    fn samples(&self, group: &BenchGroup) -> Vec<f64> {
        let series = |select: Select| select.find(group).map(|cell| cell.series(select.metric));
        match (&self.against, series(self.figure)) {
            (_, None) => vec![],
            (Against::Nothing, Some(figures)) => figures.into_iter().flatten().collect(),
            (Against::Figure(other), Some(figures)) => {
                series(*other).map_or_else(Vec::new, |others| pair_ratios(&figures, &others))
            }
        }
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
        &standing[5]
    }

    #[test]
    fn every_requirement_names_cells_of_the_catalogue() {
        for requirement in REQUIREMENTS {
            let bench = BENCHES.iter().find(|bench| bench.name == requirement.bench).unwrap();
            let others = match requirement.against {
                Against::Nothing => None,
                Against::Figure(other) => Some(other),
            };
            for select in std::iter::once(requirement.figure).chain(others) {
                let params = bench.params(select.runtime, select.workers, false);
                let cells = params.into_iter().map(|p| (select.runtime, select.workers, p, 1.0)).collect();
                assert!(select.find(&group(bench.name, cells)).is_some(), "{} {}", bench.name, select.name());
                assert!(bench.metrics().any(|(name, _)| name == select.metric), "{}", select.metric);
            }
        }
    }

    #[test]
    fn a_ratio_is_judged_within_its_group() {
        let good =
            group("yield2", vec![("raddle", 1, "", 3.0), ("go", 1, "", 79.0), ("raddle", 2, "", 500.0)]);
        assert_eq!(verdict(&standings(&good)[0]), "yes");
        let bad = group("yield2", vec![("raddle", 1, "", 20.0), ("go", 1, "", 79.0)]);
        assert_eq!(verdict(&standings(&bad)[0]), "no");
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
        assert_eq!(verdict(&standings(&absent)[0]), "not measured");
        let few = group("handoff", vec![("raddle", 1, "", 41.0)]);
        assert_eq!(verdict(&standings(&few)[0]), "no");
    }
}
