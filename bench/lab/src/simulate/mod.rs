//! Owns: `raddle lab simulate`: costs, validation, the sweep over numbers of workers, its table and figure.
//! May use: the model, programs.
//! Never: a figure that is not labelled as simulated.
//!
//! What this machine has no cores for is simulated. The model's costs are measured here first, and it is held against
//! real runs on 1 and 2 workers; how far it was off is told with the result.

mod costs;
mod model;

use raddle::{Balance, Policy, Queues, Victim};
use raddle_measure::table::{Table, figure};

use crate::figure::{Axis, Line, chart};

pub use costs::{Costs, measure};
use model::{Batch, Model};

/// Simulated and real may differ by this share.
const TOLERANCE: f64 = 0.15;

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

/// A real run: workers, work of a process in ns, time of a batch in ns.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    pub workers: usize,
    pub work_ns: u64,
    pub batch_ns: f64,
}

/// Simulates batches of `count` processes of `work_ns` each on each number of workers: the table, and the figure.
pub fn simulate(costs: &Costs, workers: &[usize], count: usize, work_ns: u64) -> (String, String) {
    let mut table = Table::new(
        ["policy "].into_iter().map(String::from).chain(workers.iter().map(|w| format!("{w} workers"))),
    );
    let mut lines = Vec::new();
    let alone = Model::new(costs, Policy::default(), false, 1).run(Batch { count, work_ns });
    for (colour, (name, policy, ticks)) in policies().into_iter().enumerate() {
        let speed_up = |&workers: &usize| {
            alone / Model::new(costs, policy, ticks, workers).run(Batch { count, work_ns })
        };
        let figures: Vec<f64> = workers.iter().map(speed_up).collect();
        table.row([name.to_owned()].into_iter().chain(figures.iter().map(|f| figure(*f))));
        let points = workers.iter().map(|w| *w as f64).zip(figures).collect();
        lines.push(Line { name: name.to_owned(), points, colour, dashed: false });
    }
    let ideal = workers.iter().map(|w| (*w as f64, *w as f64)).collect();
    lines.push(Line { name: "ideal".into(), points: ideal, colour: 7, dashed: true });
    let what = format!("{count} processes of {} us, spawned by one", figure(work_ns as f64 / 1e3));
    let text = format!("SIMULATED: {what}; speed-up over one worker\n{table}");
    let title = format!("Simulated: {what}");
    let svg = chart(&title, Axis::log("workers (simulated)"), Axis::log("speed-up over one worker"), &lines);
    (text, svg)
}

/// How far the model is from real batches of `count` processes, and whether that is near enough.
pub fn validation(costs: &Costs, real: &[Real], count: usize) -> (String, bool) {
    let mut table = Table::new(["workers", "work us", "real ms", "simulated ms", "off by %"]);
    let mut worst: f64 = 0.0;
    for run in real {
        let model = Model::new(costs, Policy::default(), false, run.workers);
        let simulated = model.run(Batch { count, work_ns: run.work_ns });
        let off = simulated / run.batch_ns - 1.0;
        worst = worst.max(off.abs());
        table.row([
            run.workers.to_string(),
            figure(run.work_ns as f64 / 1e3),
            figure(run.batch_ns / 1e6),
            figure(simulated / 1e6),
            figure(100.0 * off),
        ]);
    }
    let valid = !real.is_empty() && worst <= TOLERANCE;
    let verdict = match (real.is_empty(), valid) {
        (true, _) => "The model was not held against real runs.".to_owned(),
        (_, true) => format!("The model is within {:.0} % of every real run.", 100.0 * worst),
        _ => format!(
            "The model is off by up to {:.0} %, more than the {:.0} % that are allowed: take what follows as a sketch.",
            100.0 * worst,
            100.0 * TOLERANCE
        ),
    };
    (format!("{costs}\n{table}{verdict}\n"), valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs =
        Costs { spawn_ns: 15.0, turn_ns: 25.0, wake_ns: 15_000.0, steal_ns: 200.0, queue_ns: 60.0 };

    #[test]
    fn what_is_simulated_is_labelled_and_held_against_reality() {
        let batch_ns =
            Model::new(&COSTS, Policy::default(), false, 1).run(Batch { count: 1000, work_ns: 10_000 });
        let real = [Real { workers: 1, work_ns: 10_000, batch_ns }];
        let (text, svg) = simulate(&COSTS, &[1, 2, 4], 1000, 10_000);
        assert!(text.contains("SIMULATED") && svg.contains("simulated"), "{text}");
        assert!(validation(&COSTS, &real, 1000).1);
        let wrong = [Real { workers: 1, work_ns: 10_000, batch_ns: 1.3 * batch_ns }];
        let (text, valid) = validation(&COSTS, &wrong, 1000);
        assert!(!valid && text.contains("as a sketch"), "{text}");
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
