//! Owns: the grammar of the laboratory's command line.
//! May use: `clap`.
//! Never: performing a command; what only the laboratory knows.
//!
//! It is a part of two programs: of the laboratory (`bench/lab`), and of `raddle`, which so refuses what is wrong
//! before it builds the other one.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

/// The runtimes that can be asked for. A test of the laboratory holds them against its table.
pub(crate) const RUNTIMES: [&str; 37] = [
    "raddle",
    "light",
    "occam",
    "occam-native",
    "go",
    "java",
    "ghc",
    "erlang",
    "openmp",
    "tbb",
    "boost",
    "floor",
    "rayon",
    "chili",
    "tokio",
    "smol",
    "may",
    "std",
    "parking_lot",
    "kernel",
    "stm",
    "fast-stm",
    "itm",
    "libitm",
    "crossbeam",
    "pthreads",
    "nptl",
    "omp",
    "libgomp",
    "libomp",
    "alloc",
    "mimalloc",
    "snmalloc",
    "rpmalloc",
    "jemalloc",
    "tcmalloc",
    "glibc",
];

/// Repeats the experiments that define Raddle, compared with rivals, as tables, figures and a page
///
/// Each is measured in interleaved rounds with the rivals that are installed (`cargo xtask rivals`). The folder of the
/// results gets NAME.json, NAME-FIGURE.svg and index.html. Ctrl-C keeps what is done. Ends with 1 if a program failed,
/// 2 if the arguments are wrong; the page says whether requirements hold, not the exit code.
#[derive(Parser)]
#[command(name = "lab", bin_name = "raddle lab", max_term_width = 100)]
pub(crate) struct LabLine {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Subcommand)]
pub(crate) enum LabCommand {
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
pub(crate) struct LabOptions {
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = workers)]
    pub(crate) workers: Vec<usize>,
    /// Three rounds and few parameters: a quick look, no claims
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Everything that the original studies varied; takes hours
    #[arg(long)]
    pub(crate) full: bool,
    /// Rounds, instead of those of the size (3 or 15)
    #[arg(long, value_parser = workers)]
    pub(crate) rounds: Option<usize>,
    /// Start no round that would end later than this many minutes after the first began
    #[arg(long)]
    pub(crate) minutes: Option<f64>,
    /// Only these runtimes
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    #[arg(value_parser = PossibleValuesParser::new(RUNTIMES))]
    pub(crate) runtime: Vec<String>,
    /// The folder for the results
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct Simulation {
    /// Numbers of workers: a list, or a range such as 4..256, which stands for its powers of two
    #[arg(long, default_value = "4..256", value_parser = range)]
    pub(crate) workers: Workers,
    /// Processes of a batch
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) count: u32,
    /// Nanoseconds of work of each
    #[arg(long, default_value_t = 10_000)]
    pub(crate) work_ns: u64,
    /// Rounds in which costs and real batches are measured
    #[arg(long, default_value_t = 15, value_parser = workers)]
    pub(crate) rounds: usize,
    /// The folder for the results
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) out: PathBuf,
}

/// Numbers of workers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Workers(pub(crate) Vec<usize>);

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

fn workers(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1024).contains(n))
        .ok_or_else(|| "expected a number from 1 to 1024".into())
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
    LabLine::command().debug_assert();
}
