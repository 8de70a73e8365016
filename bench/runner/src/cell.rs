//! Owns: one cell of a benchmark (runtime, workers, parameters) and what its processes printed.
//! May use: child processes.
//! Never: comparison; a cell knows only itself.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use bench_common::sockets;
use raddle_measure::{Plan, Sample, Summary};

use crate::neighbour::Neighbour;
use crate::{quiet, runtimes};

/// A process that takes longer than this hangs; one that is to last for so many seconds may take these on top.
const PROCESS_LIMIT: Duration = Duration::from_secs(300);

/// One cell: which program, with what, and the sample of each round (`None` for a round that failed).
pub struct Cell {
    pub runtime: &'static str,
    pub workers: usize,
    pub params: String,
    pub rounds: Vec<Option<Sample>>,
    /// How many cores strangers kept busy in each round, where it was watched.
    pub strangers: Vec<Option<f64>>,
    /// Runs that do not count, since strangers took too much during them.
    pub repeated: usize,
    /// Why the cell is not run, or no longer.
    pub failure: Option<String>,
}

impl Cell {
    pub fn new(runtime: &'static str, workers: usize, params: impl Into<String>) -> Self {
        let (rounds, strangers) = (Vec::new(), Vec::new());
        Cell { runtime, workers, params: params.into(), rounds, strangers, repeated: 0, failure: None }
    }

    /// The figures called `metric`, round by round.
    pub fn series(&self, metric: &str) -> Vec<Option<f64>> {
        self.rounds.iter().map(|sample| sample.as_ref()?.metric(metric)).collect()
    }

    /// The figures called `metric` in short.
    pub fn summary(&self, metric: &str) -> Option<Summary> {
        Summary::of(&self.series(metric).into_iter().flatten().collect::<Vec<_>>())
    }

    /// How many of its rounds count though strangers took too much during them.
    pub fn noisy(&self) -> usize {
        self.strangers.iter().filter(|strangers| quiet::is_noisy(**strangers)).count()
    }

    /// Runs the program once more and keeps the median of its `samples`, which must have the checksum `expected`.
    pub fn run(&mut self, samples: usize, expected: u64, program: Command, quick: bool) {
        self.repeat(plan(samples, quick), expected, program);
    }

    /// As [`Cell::run`], but while strangers take too much the run is repeated, at most `repetitions` times.
    pub fn run_watched(
        &mut self,
        samples: usize,
        expected: u64,
        program: Command,
        quick: bool,
        repetitions: usize,
    ) {
        let mut program = self.called(plan(samples, quick), program);
        let (limit, busy) = (self.limit(), self.has("busy"));
        let run = quiet::run(repetitions, || {
            let neighbour = busy.then(Neighbour::move_in).transpose()?;
            let text = output(&mut program, limit);
            drop(neighbour);
            checked(&text?, expected)
        });
        self.repeated += run.repeated;
        self.strangers.resize(self.rounds.len(), None);
        self.strangers.push(run.strangers);
        self.keep(run.outcome);
    }

    /// As [`Cell::run`], by a plan.
    pub fn repeat(&mut self, plan: Plan, expected: u64, program: Command) {
        let mut program = self.called(plan, program);
        self.keep(output(&mut program, self.limit()).and_then(|text| checked(&text, expected)));
    }

    /// How long a process of it may take.
    fn limit(&self) -> Duration {
        let seconds = Params(&self.params).text("seconds").parse().unwrap_or_default();
        PROCESS_LIMIT + Duration::from_secs(seconds)
    }

    fn has(&self, param: &str) -> bool {
        Params(&self.params).text(param) == "1"
    }

    /// The program with its arguments.
    fn called(&self, plan: Plan, mut program: Command) -> Command {
        let (workers, samples) = (self.workers.to_string(), plan.samples.to_string());
        program.args(["--workers", &workers, "--params", &self.params, "--samples", &samples]);
        program.args(["--run-ns", &plan.run_ns_min.to_string()]);
        if let Ok(runner) = std::env::current_exe() {
            program.env(sockets::CLIENT, runner);
        }
        if runtimes::program_of(self.runtime) != self.runtime {
            program.env(runtimes::VARIANT, self.runtime);
        }
        program
    }

    fn keep(&mut self, outcome: Result<Sample, String>) {
        match outcome {
            Ok(sample) => self.rounds.push(Some(sample)),
            Err(message) => {
                self.rounds.push(None);
                self.failure = Some(message);
            }
        }
    }
}

/// How long a sample is, in a session in short or in full.
fn plan(samples: usize, quick: bool) -> Plan {
    Plan { samples, run_ns_min: if quick { 10_000_000 } else { 20_000_000 } }
}

/// Parameters as they are passed to a program: `count=1000,kind=task`.
#[derive(Clone, Copy)]
pub struct Params<'a>(pub &'a str);

impl<'a> Params<'a> {
    /// Names and values, in order.
    pub fn pairs(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.split(',').filter_map(|part| part.split_once('='))
    }

    /// The same with `value` for `name`, if that is among them.
    pub fn with(self, name: &str, value: usize) -> String {
        let pair = |(key, old): (&str, &str)| match key == name {
            true => format!("{key}={value}"),
            false => format!("{key}={old}"),
        };
        self.pairs().map(pair).collect::<Vec<_>>().join(",")
    }

    /// The parameter `name`, which the catalogue gives to this benchmark.
    pub fn text(self, name: &str) -> &'a str {
        self.pairs().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// The parameter `name` as a number.
    ///
    /// # Panics
    /// When the catalogue does not give it: a mistake in the catalogue, which its tests look for.
    pub fn number(self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} is no number in {:?}", self.0))
    }
}

/// Standard output of the finished process, or what went wrong, in one line.
fn output(program: &mut Command, limit: Duration) -> Result<String, String> {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().map_err(|e| format!("cannot start {program:?}: {e}"))?;
    let (done, finished) = mpsc::channel();
    let streams = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || {
        let (mut out, mut err) = (String::new(), String::new());
        let errors = std::thread::spawn(move || {
            let _ = streams.1.map(|mut stream| stream.read_to_string(&mut err));
            err
        });
        let _ = streams.0.map(|mut stream| stream.read_to_string(&mut out));
        let err = errors.join().unwrap_or_default();
        let _ = done.send(());
        (out, err)
    });
    if finished.recv_timeout(limit).is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| format!("cannot wait for {program:?}: {e}"))?;
    let (out, err) = reader.join().unwrap_or_default();
    match status.success() {
        true => Ok(out),
        false => Err(format!("{status}: {}", err.lines().last().unwrap_or("no message"))),
    }
}

fn checked(text: &str, expected: u64) -> Result<Sample, String> {
    let samples = text.lines().map(Sample::from_json_line).collect::<Result<Vec<_>, _>>()?;
    let sample = Sample::median_of(&samples)?;
    match sample.checksum == expected {
        true => Ok(sample),
        false => Err(format!("wrong checksum {}, expected {expected}", sample.checksum)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_output_of_a_good_process_is_what_it_printed() {
        assert_eq!(output(&mut shell("echo hello"), PROCESS_LIMIT).unwrap(), "hello\n");
    }

    #[test]
    fn a_failed_process_says_why() {
        let message =
            output(&mut shell("echo first >&2; echo out of stacks >&2; exit 3"), PROCESS_LIMIT).unwrap_err();
        assert!(message.contains('3') && message.contains("out of stacks"), "{message}");
    }

    #[test]
    fn a_process_that_hangs_is_ended_and_one_that_shall_last_may() {
        let hangs = output(&mut shell("exec sleep 1000"), Duration::from_millis(1)).unwrap_err();
        assert!(hangs.contains("signal: 9"), "{hangs}");
        assert_eq!(Cell::new("raddle", 1, "seconds=600").limit(), PROCESS_LIMIT + Duration::from_secs(600));
        assert_eq!(Cell::new("raddle", 1, "rounds=1").limit(), PROCESS_LIMIT);
    }

    #[test]
    fn every_round_that_is_watched_has_its_strangers() {
        let line = Sample::new(1.0, 41).to_json_line();
        let mut cell = Cell::new("raddle", 1, "rounds=1");
        cell.rounds.push(None);
        cell.run_watched(1, 41, shell(&format!("echo '{line}'")), true, 0);
        cell.run_watched(1, 42, shell(&format!("echo '{line}'")), true, 0);
        assert_eq!(cell.series(""), [None, Some(1.0), None]);
        assert_eq!((cell.strangers.len(), cell.strangers[0], cell.repeated), (3, None, 0));
        assert!(cell.failure.is_some_and(|why| why.contains("41")));
        cell.strangers = vec![None, Some(quiet::STRANGERS_MAX), Some(1.2)];
        assert_eq!(Cell { failure: None, ..cell }.noisy(), 1);
    }

    #[test]
    fn a_parameter_is_replaced_where_it_is() {
        assert_eq!(Params("seconds=3,kind=all").with("seconds", 600), "seconds=600,kind=all");
        assert_eq!(Params("count=1000,kind=task").with("seconds", 600), "count=1000,kind=task");
    }

    #[test]
    fn a_wrong_checksum_has_no_time() {
        let line = Sample::new(1.0, 41).to_json_line();
        assert!(checked(&line, 42).unwrap_err().contains("41"));
        assert_eq!(checked(&line, 41).unwrap().ns_per_op, 1.0);
        assert!(checked("", 41).is_err());
    }
}
