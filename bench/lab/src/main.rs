//! Owns: the command line of the laboratory, its files and exit codes.
//! May use: everything beside it.
//! Never: a figure of its own.
//!
//! `raddle lab` builds and executes it: the laboratory needs the source tree, since it builds the
//! programs that it measures, rivals included, and `raddle` itself stays small without it.

mod experiment;

mod claim;
mod compare;
mod run;

mod diagnosis;
mod measure;
mod rivals;
mod simulate;

mod figure;
mod folder;
mod page;
mod report;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use bench_runner::runtimes;
use bench_runner::session::{is_set, stop_on_interrupt};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use experiment::{EXPERIMENTS, Experiment, Settings, Size};
use raddle_measure::stats::Verdict;
use run::Run;
use simulate::Sweep;

/// Repeats the experiments that define Raddle, compared with rivals, as tables, figures and a page
///
/// Each is measured in interleaved rounds with the rivals that are installed (`cargo xtask rivals`). The folder of the
/// results gets NAME.json, NAME-FIGURE.svg and index.html. Ctrl-C keeps what is done. Ends with 1 if a program failed,
/// 2 if the arguments are wrong; the page says whether requirements hold, not the exit code.
#[derive(Parser)]
#[command(name = "lab", bin_name = "raddle lab", max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// Show the experiments
    List,
    /// The Transterpreter's replicated PAR: time against granularity
    Granularity(LabOptions),
    /// ThreadScope's thread ring: a line of 2000 threads
    Ring(LabOptions),
    /// McRT's micro-benchmarks: creation, switches, locks, futures
    Threads(LabOptions),
    /// K42's study of thread migration: throughput, thread spread, idle incidents
    Warehouse(LabOptions),
    /// Unmodified programs with POSIX threads, on NPTL and on Raddle
    Pthreads(LabOptions),
    /// OpenMP: unmodified programs on libgomp, libomp and Raddle
    Openmp(LabOptions),
    /// Transactions: by versions, by locks, by the crates stm and fast-stm, by libitm
    Stm(LabOptions),
    /// Allocators: with threads that are stopped in malloc, by 1 to 64 threads a core, memory
    Alloc(LabOptions),
    /// RedBlack3D and SUMMA over two ranks of MPI: who moves messages
    Proxy(LabOptions),
    /// All experiments in common rounds, and the simulation
    All(LabOptions),
    /// Simulate more workers than this machine has cores, and compare the model with real runs
    Simulate(Simulation),
    /// Write the figures and the page of a folder again from its files
    Page {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Build every program that is measured, and list missing runtimes and what they need
    Rivals,
    /// Say what changed from one saved run to another
    Compare {
        /// The file of the earlier run
        #[arg(value_name = "A")]
        a: PathBuf,
        /// The file of the later run
        #[arg(value_name = "B")]
        b: PathBuf,
    },
}

#[derive(Args)]
struct LabOptions {
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = workers)]
    workers: Vec<usize>,
    /// Three rounds and few parameters: a quick look, no claims
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Everything that the original studies varied; takes hours
    #[arg(long)]
    full: bool,
    /// Rounds, instead of those of the size (3 or 15)
    #[arg(long, value_parser = workers)]
    rounds: Option<usize>,
    /// Start no round that would end later than this many minutes after the first began
    #[arg(long)]
    minutes: Option<f64>,
    /// Only these runtimes
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    #[arg(value_parser = PossibleValuesParser::new(runtimes::names()))]
    runtime: Vec<String>,
    /// The folder for the results
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
}

#[derive(Args)]
struct Simulation {
    /// Numbers of workers: a list, or a range such as 4..256, which stands for its powers of two
    #[arg(long, default_value = "4..256", value_parser = range)]
    workers: Workers,
    /// Processes of a batch
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    count: u32,
    /// Nanoseconds of work of each
    #[arg(long, default_value_t = 10_000)]
    work_ns: u64,
    /// Rounds in which costs and real batches are measured
    #[arg(long, default_value_t = 15, value_parser = workers)]
    rounds: usize,
    /// The folder for the results
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
}

/// Numbers of workers.
#[derive(Clone, Debug, PartialEq)]
struct Workers(Vec<usize>);

fn range(text: &str) -> Result<Workers, String> {
    let Some((low, high)) = text.split_once("..") else {
        return text.split(',').map(workers).collect::<Result<_, _>>().map(Workers);
    };
    let (low, high) = (workers(low)?, workers(high)?);
    let powers = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n <= high);
    let found: Vec<usize> = powers.filter(|n| *n >= low).collect();
    if found.is_empty() {
        Err(format!("there is no power of two from {low} to {high}"))
    } else {
        Ok(Workers(found))
    }
}

impl Simulation {
    /// `false` if the model deviates too much from the real runs.
    fn carry_out(self) -> Result<bool, String> {
        let (stopped, folder) = (stop_on_interrupt()?, self.out);
        folder::make(&folder)?;
        let sweep = Sweep { workers: self.workers.0, count: self.count as usize, work_ns: self.work_ns };
        let run = simulated(&folder, &sweep, (Size::Usual, self.rounds), &stopped)?;
        let valid =
            (simulate::EXPERIMENT.claims)(&run).iter().all(|claim| claim.verdict() == Some(Verdict::Yes));
        finish(&folder, &stopped)?;
        Ok(valid)
    }
}

/// Simulates, saves and reports.
fn simulated(
    folder: &Path,
    sweep: &Sweep,
    (size, rounds): (Size, usize),
    stopped: &AtomicBool,
) -> Result<Run, String> {
    let run = simulate::carry_out(measure::empty(&simulate::EXPERIMENT, size), sweep, rounds, stopped)?;
    folder::save(&run, folder)?;
    show(&format!("{}\n", report::text(&simulate::EXPERIMENT, &run)));
    Ok(run)
}

fn workers(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1024).contains(n))
        .ok_or_else(|| "expected a number from 1 to 1024".into())
}

impl LabOptions {
    fn settings(&self) -> (Settings, usize) {
        let size = match (self.quick, self.full) {
            (true, _) => Size::Quick,
            (_, true) => Size::Full,
            _ => Size::Usual,
        };
        let mut workers = self.workers.clone();
        workers.sort_unstable();
        workers.dedup();
        let settings = Settings { workers, size, runtimes: self.runtime.clone() };
        (settings, self.rounds.unwrap_or(size.rounds()))
    }
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        LabCommand::List => {
            show(&list());
            Ok(true)
        }
        LabCommand::Granularity(options) => carry_out(&EXPERIMENTS[..1], &options, false),
        LabCommand::Ring(options) => carry_out(&EXPERIMENTS[1..2], &options, false),
        LabCommand::Threads(options) => carry_out(&EXPERIMENTS[2..3], &options, false),
        LabCommand::Warehouse(options) => carry_out(&EXPERIMENTS[3..4], &options, false),
        LabCommand::Pthreads(options) => carry_out(&EXPERIMENTS[4..5], &options, false),
        LabCommand::Openmp(options) => carry_out(&EXPERIMENTS[5..6], &options, false),
        LabCommand::Stm(options) => carry_out(&EXPERIMENTS[6..7], &options, false),
        LabCommand::Alloc(options) => carry_out(&EXPERIMENTS[7..8], &options, false),
        LabCommand::Proxy(options) => carry_out(&EXPERIMENTS[8..9], &options, false),
        LabCommand::All(options) => carry_out(EXPERIMENTS, &options, true),
        LabCommand::Simulate(simulation) => simulation.carry_out(),
        LabCommand::Rivals => Ok(rivals::build()),
        LabCommand::Page { folder } => folder::write_page(&folder).map(|()| true),
        LabCommand::Compare { a, b } => (|| {
            show(&compare::compare(&Run::load(&a)?, &Run::load(&b)?)?);
            Ok(true)
        })(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("raddle lab: {why}");
            ExitCode::from(2)
        }
    }
}

/// The experiments, with the original results.
fn list() -> String {
    let all = EXPERIMENTS.iter().chain([&simulate::EXPERIMENT]);
    let entry = |Experiment { name, title, story, .. }: &Experiment| {
        format!("{name:<12} {title}\n{}\n", report::folded(story, 100, 13))
    };
    all.map(entry).collect()
}

#[test]
fn the_command_shows_the_same_list_without_building_this() {
    assert_eq!(
        include_str!("../../../crates/raddle-cli/src/lab.txt"),
        list(),
        "put the right one into `lab.txt`"
    );
}

/// Writes to standard output. A closed pipe (`| head`) is not an error.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Measures, and saves after each round; `false` if a program failed.
fn carry_out(experiments: &[Experiment], options: &LabOptions, and_simulate: bool) -> Result<bool, String> {
    let (stopped, (settings, rounds)) = (stop_on_interrupt()?, options.settings());
    folder::make(&options.out)?;
    let experiments: Vec<&Experiment> = experiments.iter().collect();
    let keep = &mut |run: &Run| folder::save(run, &options.out);
    let runs = measure::measure(&experiments, &settings, (rounds, options.minutes), &stopped, keep)?;
    if runs.is_empty() {
        return Err(
            "nothing was measured: interrupted, or none of the runtimes asked for is part of this".into()
        );
    }
    let mut well = true;
    for (experiment, mut run) in runs {
        if let Some(afterwards) = experiment.afterwards.filter(|_| !is_set(&stopped)) {
            afterwards(&mut run, &options.out)?;
            folder::save(&run, &options.out)?;
        }
        show(&format!("{}\n", report::text(experiment, &run)));
        well &= run.cells.iter().all(|cell| cell.failure.is_none());
    }
    if and_simulate && !is_set(&stopped) {
        let rounds = if settings.size == Size::Quick { 5 } else { 15 };
        match simulated(&options.out, &Sweep::default(), (settings.size, rounds), &stopped) {
            Err(_) if is_set(&stopped) => {}
            run => drop(run?),
        }
    }
    finish(&options.out, &stopped)?;
    Ok(well)
}

/// Writes the page, and says where it is.
fn finish(folder: &Path, stopped: &AtomicBool) -> Result<(), String> {
    folder::write_page(folder)?;
    if is_set(stopped) {
        show("interrupted: what was measured until then is kept\n");
    }
    show(&format!("{}\n", folder.join("index.html").display()));
    Ok(())
}

#[test]
fn a_range_of_workers_gives_its_powers_of_two() {
    assert_eq!(range("4..64"), Ok(Workers(vec![4, 8, 16, 32, 64])));
    assert_eq!(range("3,5"), Ok(Workers(vec![3, 5])));
    assert!(range("0..4").is_err() && range("9..4").is_err());
}

#[test]
fn the_grammar_holds_together() {
    use clap::CommandFactory as _;
    CommandLine::command().debug_assert();
}
