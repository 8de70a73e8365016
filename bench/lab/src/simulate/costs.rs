//! Owns: the costs of the model, measured on this machine.
//! May use: the benchmark programs `spread`, `wake`, `pingpong`.
//! Never: a cost of another machine.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use bench_runner::programs::{self, BuildResult, progress};
use bench_runner::session::is_set;
use raddle_measure::Sample;
use raddle_measure::rounds::order;
use raddle_measure::table::figure;

use super::Real;

/// Costs in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// To spawn a process.
    pub spawn_ns: f64,
    /// To start, end and join one.
    pub turn_ns: f64,
    /// From the wake of a worker that sleeps until it runs.
    pub wake_ns: f64,
    /// To steal from another worker's list: a few cache lines from another core.
    pub steal_ns: f64,
    /// To take from a shared queue under contention, during which no other worker can.
    pub queue_ns: f64,
}

impl Display for Costs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Costs { spawn_ns, turn_ns, wake_ns, steal_ns, queue_ns } = self;
        let [spawn, turn, wake, steal, queue] =
            [spawn_ns, turn_ns, wake_ns, steal_ns, queue_ns].map(|n| figure(*n));
        write!(f, "spawn {spawn}, start to join {turn}, wake {wake}, steal {steal}, shared queue {queue} ns")
    }
}

/// Steps of work in the real runs; one is about a nanosecond. The cost of a step is taken from the longest.
const STEPS: [u64; 4] = [0, 2_000, 10_000, 50_000];
/// One thing to measure.
struct Probe {
    program: &'static str,
    runtime: &'static str,
    workers: usize,
    params: String,
}

impl Probe {
    fn new(program: &'static str, runtime: &'static str, workers: usize, params: String) -> Self {
        Probe { program, runtime, workers, params }
    }
}

/// One round: the costs, and real batches of `count` processes for comparison with the model.
pub struct Round {
    pub costs: Costs,
    pub real: Vec<Real>,
}

/// Measures costs and real batches of `count` processes, round by round and in rotated order.
///
/// A round's batches are compared with the costs of the same round, since other load affects both alike. Ends early
/// when `stopped`.
///
/// # Errors
/// When a program cannot be built or fails.
pub fn measure(count: usize, rounds: usize, stopped: &AtomicBool) -> Result<Vec<Round>, String> {
    let mut probes = vec![
        Probe::new("wake", "raddle", 2, "wakes=150,from=worker".into()),
        Probe::new("pingpong", "floor", 2, "rounds=100000,placed=1".into()),
    ];
    for steps in STEPS {
        let params = format!("count={count},steps={steps}");
        probes.extend([1, 2].map(|workers| Probe::new("spread", "raddle", workers, params.clone())));
    }
    let paths =
        probes.iter().map(|probe| path(probe.program, probe.runtime)).collect::<Result<Vec<_>, _>>()?;
    let mut measured = Vec::new();
    for round in 0..rounds {
        let mut got = vec![f64::NAN; probes.len()];
        for index in order(probes.len(), round) {
            progress(&format!("measuring costs {}/{rounds}: {}", round + 1, probes[index].program));
            if is_set(stopped) {
                progress("");
                return Ok(measured);
            }
            match sample(&paths[index], &probes[index]) {
                Err(_) if is_set(stopped) => return Ok(measured),
                figure => got[index] = figure?,
            }
        }
        measured.push(summary(count, &probes, &got));
    }
    progress("");
    Ok(measured)
}

fn summary(count: usize, probes: &[Probe], got: &[f64]) -> Round {
    let spread = |workers: usize, steps: u64| {
        let params = format!("count={count},steps={steps}");
        let wanted = |p: &Probe| p.program == "spread" && p.workers == workers && p.params == params;
        probes.iter().position(wanted).map_or(f64::NAN, |index| got[index])
    };
    let longest = STEPS[STEPS.len() - 1];
    let each = spread(1, 0);
    let step_ns = (spread(1, longest) - each) / longest as f64;
    // A hand-over of a cache line is half a round trip. A steal needs four: the reach of the list, its claim, and the
    // first of what it holds, there and back; a contended lock two. A spawn is about a third of what a process costs in
    // all: an allocation and a store against two switches.
    let (line_ns, spawn_ns) = (got[1] / 2.0, each / 3.0);
    let costs = Costs {
        spawn_ns,
        turn_ns: each - spawn_ns,
        wake_ns: got[0],
        steal_ns: 4.0 * line_ns,
        queue_ns: 2.0 * line_ns,
    };
    let real = |(workers, steps): (usize, u64)| Real {
        workers,
        steps,
        work_ns: (step_ns * steps as f64) as u64,
        batch_ns: spread(workers, steps) * count as f64,
    };
    let runs = STEPS[1..].iter().flat_map(|&steps| [(1, steps), (2, steps)]);
    Round { costs, real: runs.map(real).collect() }
}

impl Costs {
    /// The minimum of each: other load can only add to it.
    pub fn least(rounds: &[Round]) -> Option<Costs> {
        let of =
            |cost: fn(&Costs) -> f64| rounds.iter().map(|round| cost(&round.costs)).min_by(f64::total_cmp);
        Some(Costs {
            spawn_ns: of(|c| c.spawn_ns)?,
            turn_ns: of(|c| c.turn_ns)?,
            wake_ns: of(|c| c.wake_ns)?,
            steal_ns: of(|c| c.steal_ns)?,
            queue_ns: of(|c| c.queue_ns)?,
        })
    }
}

fn path(program: &str, runtime: &str) -> Result<PathBuf, String> {
    match programs::build(program, runtime) {
        BuildResult::Ready(path) => Ok(path),
        BuildResult::Missing(why) | BuildResult::Failed(why) => Err(format!("{program}: {why}")),
    }
}

/// The main figure of one process: the minimum of its samples.
fn sample(path: &Path, probe: &Probe) -> Result<f64, String> {
    let mut command = Command::new(path);
    command.args([
        "--workers",
        &probe.workers.to_string(),
        "--params",
        &probe.params,
        "--samples",
        "2",
        "--run-ns",
        "10000000",
    ]);
    let done =
        command.stdin(Stdio::null()).output().map_err(|e| format!("cannot start {}: {e}", probe.program))?;
    let text = String::from_utf8_lossy(&done.stdout);
    let samples = text.lines().map(Sample::from_json_line).collect::<Result<Vec<_>, _>>()?;
    let least = samples.iter().map(|sample| sample.ns_per_op).min_by(f64::total_cmp);
    least.ok_or_else(|| format!("{}: {}", probe.program, String::from_utf8_lossy(&done.stderr).trim()))
}
