//! Owns: `raddle lab simulate`: costs, validation, the sweep over numbers of workers, as a run like the others.
//! May use: the model, programs.
//! Never: a figure that is not labelled as simulated.
//!
//! More workers than this machine has cores are simulated. The model's costs are first measured here, and the model is
//! compared with real runs on 1 and 2 workers; the deviation is reported with the result. In the run, the cells called
//! `spread` are real batches, those called `model` the model's results for the same rounds, and those called
//! `simulated` the speed-ups by policy.

mod costs;
mod model;

use std::sync::atomic::AtomicBool;

use raddle::{Balance, Policy, Queues, Victim};
use raddle_measure::Sample;
use raddle_measure::table::figure;

use crate::claim::Claim;
use crate::experiment::{Experiment, Figure};
use crate::figure::{Axis, ChartLine, chart};
use crate::run::{Cell, Run};

use costs::{Costs, Round};
use model::{Batch, Model};

pub const EXPERIMENT: Experiment = Experiment {
    name: "simulate",
    title: "SIMULATED: where policies stop scaling",
    story: "A model of the scheduler, driven by the runtime's own decisions and by costs measured on this machine: one \
            worker spawns a batch of independent processes, which the others come for, by policy. It is held against \
            real batches on 1 and 2 workers, and must be within 15 %; it knows nothing of caches, memory bandwidth or \
            the kernel.",
    cells: |_| Vec::new(),
    claims,
    remarks,
    figures,
    afterwards: None,
};

/// The largest factor between simulated and real.
const TOLERANCE: f64 = 1.15;
/// Processes of the real batches.
const REAL_COUNT: usize = 2000;

/// How work gets to idle workers, by name.
pub fn policies() -> Vec<(&'static str, Policy, bool)> {
    let of = |change: fn(&mut Policy)| {
        let mut policy = Policy::default();
        change(&mut policy);
        policy
    };
    vec![
        ("steal from the largest backlog", Policy::default(), false),
        ("steal at random", of(|policy| policy.victim = Victim::Random), false),
        ("share", of(|policy| policy.balance = Balance::Share), false),
        ("one shared queue", of(|policy| policy.queues = Queues::Shared), false),
        ("lengths published each tick (K42)", Policy::default(), true),
    ]
}

/// A real run: workers, steps and nanoseconds of work of a process, time of a batch in ns.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    pub workers: usize,
    pub steps: u64,
    pub work_ns: u64,
    pub batch_ns: f64,
}

/// The parameters of the simulation.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub workers: Vec<usize>,
    /// Processes of a batch, and nanoseconds of work of each.
    pub count: usize,
    pub work_ns: u64,
}

impl Default for Sweep {
    fn default() -> Self {
        Sweep { workers: (0..=8).map(|power| 1 << power).skip(2).collect(), count: 100_000, work_ns: 10_000 }
    }
}

/// Measures costs and real batches in several rounds and simulates; `run` is empty at first.
///
/// # Errors
/// When a program cannot be built or fails, or when there was no time for a round.
pub fn carry_out(mut run: Run, sweep: &Sweep, rounds: usize, stopped: &AtomicBool) -> Result<Run, String> {
    let measured = costs::measure(REAL_COUNT, rounds, stopped)?;
    let costs = Costs::least(&measured).ok_or("interrupted before the costs were measured")?;
    run.complete = measured.len() == rounds;
    run.notes
        .push(format!("The costs of the model, the minimum of {} rounds here: {costs}.", measured.len()));
    run.cells = validation(&measured);
    run.cells.extend(simulated(&costs, sweep));
    Ok(run)
}

fn cell(bench: &str, runtime: &str, workers: usize, params: String, unit: &str, figures: Vec<f64>) -> Cell {
    Cell {
        bench: bench.into(),
        runtime: runtime.into(),
        workers,
        params,
        unit: unit.into(),
        rounds: figures.into_iter().map(|figure| Some(Sample::new(figure, 0))).collect(),
        failure: None,
    }
}

/// Real batches, and the model's results with the costs of the same round.
fn validation(rounds: &[Round]) -> Vec<Cell> {
    let of = |index: usize, form: &dyn Fn(&Round, &Real) -> f64| {
        rounds
            .iter()
            .filter_map(|round| Some(form(round, round.real.get(index)?) / 1e6))
            .collect::<Vec<f64>>()
    };
    let model = |round: &Round, real: &Real| {
        let model = Model::new(&round.costs, Policy::default(), false, real.workers);
        model.run(Batch { count: REAL_COUNT, work_ns: real.work_ns })
    };
    let kinds = rounds.first().map_or(&[][..], |round| &round.real).iter().enumerate();
    let cells = kinds.flat_map(|(index, real)| {
        let params = format!("count={REAL_COUNT},steps={}", real.steps);
        [
            cell("spread", "raddle", real.workers, params.clone(), "ms", of(index, &|_, real| real.batch_ns)),
            cell("model", "raddle", real.workers, params, "ms", of(index, &model)),
        ]
    });
    cells.collect()
}

/// Speed-ups over one worker by policy.
fn simulated(costs: &Costs, sweep: &Sweep) -> Vec<Cell> {
    let (count, work_ns) = (sweep.count, sweep.work_ns);
    let alone = Model::new(costs, Policy::default(), false, 1).run(Batch { count, work_ns });
    let of = |(name, policy, ticks): (&'static str, Policy, bool)| {
        sweep.workers.iter().map(move |&workers| {
            let speed_up = alone / Model::new(costs, policy, ticks, workers).run(Batch { count, work_ns });
            let params = format!("count={count},work_ns={work_ns}");
            cell("simulated", name, workers, params, "speed-up", vec![speed_up])
        })
    };
    policies().into_iter().flat_map(of).collect()
}

/// The model is within 15 % of each real batch, in the median of the rounds.
fn claims(run: &Run) -> Vec<Claim> {
    let real = run.cells.iter().filter(|cell| cell.bench == "spread");
    let claim = |real: &Cell| {
        let model = run.find("model", "raddle", real.workers, &real.params)?;
        let what = format!(
            "Real and simulated, the larger by the smaller, {} steps of work on {} worker{},",
            real.param("steps"),
            real.workers,
            if real.workers == 1 { "" } else { "s" }
        );
        let both = [(real, model), (model, real)].map(|(n, d)| Claim::median(what.as_str(), n, d, TOLERANCE));
        let median = |claim: &Claim| claim.interval.map_or(0.0, |interval| interval.median);
        both.into_iter().max_by(|a, b| median(a).total_cmp(&median(b)))
    };
    real.filter_map(claim).collect()
}

/// The speed-ups of a policy, by workers.
fn speed_ups(run: &Run, policy: &str) -> Vec<(f64, f64)> {
    let cells = run.cells.iter().filter(|cell| cell.bench == "simulated" && cell.runtime == policy);
    cells.filter_map(|cell| Some((cell.workers as f64, cell.median("")?))).collect()
}

/// Where each policy stops scaling.
fn remarks(run: &Run) -> Vec<String> {
    let of = |(name, ..): (&str, Policy, bool)| {
        let points = speed_ups(run, name);
        let (workers, last) = points.last()?;
        let below = points.iter().find(|(workers, speed_up)| speed_up / workers < 0.5);
        let stops = below.map_or("more than half of the ideal up to there".to_owned(), |(workers, _)| {
            format!("less than half of the ideal from {workers} workers on")
        });
        let best = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|best| best.1 > 1.02 * last);
        let best = best.map_or(String::new(), |(workers, most)| {
            format!(", and most on {workers} workers: {}", figure(*most))
        });
        Some(format!(
            "SIMULATED: {name}: {} times as fast on {workers} workers, {stops}{best}.",
            figure(*last)
        ))
    };
    policies().into_iter().filter_map(of).collect()
}

fn figures(run: &Run) -> Vec<Figure> {
    let Some(first) = run.cells.iter().find(|cell| cell.bench == "simulated") else {
        let axis = || Axis::log("workers (simulated)");
        return vec![("speedup", chart("Simulated: nothing", axis(), Axis::log("speed-up"), &[]))];
    };
    let line = |(colour, (name, ..)): (usize, (&str, Policy, bool))| ChartLine {
        name: name.to_owned(),
        points: speed_ups(run, name),
        colour,
        dashed: false,
    };
    let mut lines: Vec<ChartLine> = policies().into_iter().enumerate().map(line).collect();
    let ideal = speed_ups(run, &first.runtime).into_iter().map(|(workers, _)| (workers, workers)).collect();
    lines.push(ChartLine { name: "ideal".into(), points: ideal, colour: 7, dashed: true });
    let work_us = figure(first.number("work_ns") / 1e3);
    let title = format!("SIMULATED: {} processes of {work_us} us, spawned by one", first.param("count"));
    let (x, y) = (Axis::log2("workers (simulated)"), Axis::log2("speed-up over one worker"));
    vec![("speedup", chart(&title, x, y, &lines))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    const COSTS: Costs =
        Costs { spawn_ns: 15.0, turn_ns: 25.0, wake_ns: 15_000.0, steal_ns: 200.0, queue_ns: 60.0 };

    #[test]
    fn what_is_simulated_is_labelled_and_held_against_reality() {
        let batch_ns =
            Model::new(&COSTS, Policy::default(), false, 1).run(Batch { count: REAL_COUNT, work_ns: 10_000 });
        let claimed = |factor: f64| {
            let real = Real { workers: 1, steps: 9000, work_ns: 10_000, batch_ns: factor * batch_ns };
            let mut run = run("simulate", &[]);
            run.cells = validation(&[Round { costs: COSTS, real: vec![real] }]);
            let sweep = Sweep { workers: vec![1, 2, 4], count: 1000, work_ns: 10_000 };
            run.cells.extend(simulated(&COSTS, &sweep));
            assert!(
                remarks(&run).iter().all(|remark| remark.starts_with("SIMULATED")),
                "{:?}",
                remarks(&run)
            );
            assert!(figures(&run)[0].1.contains("SIMULATED"));
            claims(&run)[0].sentence()
        };
        assert!(claimed(1.0).contains("it holds"), "{}", claimed(1.0));
        assert!(claimed(1.3).contains("it does not hold") && claimed(0.7).contains("it does not hold"));
    }

    #[test]
    fn no_policy_is_faster_than_its_workers_nor_loses_work() {
        for (name, policy, ticks) in policies() {
            let run = |workers| {
                Model::new(&COSTS, policy, ticks, workers).run(Batch { count: 2000, work_ns: 20_000 })
            };
            let alone = run(1);
            assert!(alone >= 2000.0 * 20_000.0, "{name}");
            for workers in [2, 3, 16, 64] {
                let speed_up = alone / run(workers);
                assert!(speed_up <= workers as f64 * 1.001, "{name} on {workers}: {speed_up}");
                assert!(speed_up > 0.9, "{name} on {workers}: {speed_up}");
            }
            assert_eq!(run(16).to_bits(), run(16).to_bits(), "{name} differs from run to run");
        }
    }
}
