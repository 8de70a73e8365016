//! Owns: the order of a benchmark session, and its exit code.
//! May use: every module of the library.
//! Never: a figure of its own; figures come from the programs, their comparison from `raddle-measure`.
//!
//! `bench-runner [NAME...]` builds the programs of the chosen benchmarks (one process for each workload and
//! runtime, `bench/<workload>/<runtime>.rs` or `go/main.go`), runs them in interleaved rounds,
//! and prints one table a benchmark, with the ratios to Go and to the floor and with what the benchmark must
//! reach. The catalogue and the requirements are tables of the library.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use bench_common::sockets;
use bench_runner::compare::{self, Comparison, table};
use bench_runner::options::{RunnerCommand, RunnerOptions};
use bench_runner::{report, session};

/// Exit codes: 0 all that could run did, 1 a program failed or could not be built, 2 wrong arguments.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == sockets::WORD) {
        return be_client(&arguments[1..]);
    }
    let options = match RunnerOptions::parse(arguments) {
        Ok(RunnerCommand::Run(options)) => options,
        Ok(RunnerCommand::Print(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("bench-runner: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("bench-runner: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The client of a program that measures sockets: see `bench_common::sockets`.
fn be_client(arguments: &[String]) -> ExitCode {
    match sockets::client(arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("bench-runner: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs everything; `false` when some program failed.
fn run(options: &RunnerOptions) -> Result<bool, String> {
    let stopped = session::stop_on_interrupt()?;
    print!("{}", report::heading(options));
    if let Some(root) = &options.against {
        return compare(root, options, &stopped);
    }
    let mut groups = Vec::new();
    let sessions =
        options.benches.iter().flat_map(|bench| options.profiles.iter().map(move |p| (*bench, *p)));
    for (bench, profile) in sessions {
        if session::is_set(&stopped) {
            break;
        }
        let group = session::run(bench, profile, options, &stopped);
        println!("{}", report::group(&group));
        groups.push(group);
        if let Some(path) = &options.json {
            report::write_json(path, &groups)?;
        }
    }
    print!("{}", report::requirements(&groups));
    if session::is_set(&stopped) {
        println!("interrupted: the figures above are those of the rounds that were complete");
    }
    Ok(groups.iter().all(|group| group.failures().is_empty()))
}

/// Compares this tree with the one at `root`; `false` when some row could not be.
fn compare(root: &Path, options: &RunnerOptions, stopped: &AtomicBool) -> Result<bool, String> {
    let [first, second] = compare::shares(options.minutes);
    let mut comparison = Comparison::build(options, root)?;
    comparison.run(options.runs, first, stopped);
    println!("{}", table::rows(&comparison));
    let whole = comparison.is_whole();
    let mut again = comparison.slower();
    if !again.pairs.is_empty() && !session::is_set(stopped) {
        again.run(options.runs, second, stopped);
        println!("once more, what seemed slower:\n{}", table::rows(&again));
        print!("{}", table::repeated(&again));
    }
    Ok(whole && again.is_whole())
}
