//! Owns: the table of allocators by workloads, and the rounds in which they take turns.
//! May use: `libc`, `mimalloc`, `raddle-alloc`, `rpmalloc`, `snmalloc-rs`, `tikv-jemallocator`.
//! Never: an allocator as the program's own: each is called by itself, all else is glibc's.
//!
//! ```console
//! $ cargo build --release --manifest-path bench/malloc/Cargo.toml
//! $ bench/malloc/target/release/bench-malloc                    # all rows, three rounds; medians and the worst
//! $ bench/malloc/target/release/bench-malloc --rounds 5 larson  # rows whose names contain the word
//! $ bench/malloc/target/release/bench-malloc --with jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 pair
//! ```
//!
//! One process for each figure, of all allocators in turn: nanoseconds for an operation, and megabytes resident at the
//! end. It is unsafe because it frees what it has allocated.

mod work;

use std::alloc::{GlobalAlloc, System};
use std::process::Command;

/// Those that the program holds.
const ALLOCATORS: &[&str] = &[
    "raddle",
    "mimalloc",
    "snmalloc",
    "rpmalloc",
    #[cfg(feature = "jemalloc")]
    "jemalloc",
    "glibc",
];

/// A workload, and for how many threads for each core; 0 is one thread alone.
const ROWS: [(&str, usize); 15] = [
    ("pair", 0),
    ("window", 0),
    ("bulk", 0),
    ("start", 0),
    ("consumer", 0),
    ("larson", 1),
    ("larson", 4),
    ("larson", 16),
    ("larson", 64),
    ("exchange", 1),
    ("exchange", 16),
    ("exchange", 64),
    ("batches", 1),
    ("batches", 16),
    ("batches", 64),
];

fn run_with<A: GlobalAlloc + Sync>(allocator: &'static A, row: &str, threads: usize) {
    let ns = work::run(allocator, row, threads);
    println!("{ns:.2} {:.1}", work::resident_megabytes());
}

fn run(allocator: &str, row: &str, threads: usize) {
    match allocator {
        "raddle" => run_with(&raddle_alloc::RaddleAlloc, row, threads),
        "mimalloc" => run_with(&mimalloc::MiMalloc, row, threads),
        "snmalloc" => run_with(&snmalloc_rs::SnMalloc, row, threads),
        "rpmalloc" => run_with(&rpmalloc::RpMalloc, row, threads),
        #[cfg(feature = "jemalloc")]
        "jemalloc" => run_with(&tikv_jemallocator::Jemalloc, row, threads),
        "glibc" => run_with(&System, row, threads),
        other => panic!("`{other}` is none of {ALLOCATORS:?}"),
    }
}

/// One figure, of a process of its own. `NAME=PATH` is glibc's with that library preloaded.
fn figure(allocator: &str, row: &str, threads: usize) -> Option<[f64; 2]> {
    let program = std::env::current_exe().expect("a program has a path");
    let (name, library) = allocator.split_once('=').map_or((allocator, None), |(_, path)| ("glibc", Some(path)));
    let mut command = Command::new("timeout");
    command.args(["60", program.to_str().expect("UTF-8"), "--run", name, row]).arg(threads.to_string());
    command.envs(library.map(|path| ("LD_PRELOAD", path)));
    let output = command.output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("figures");
    let mut figures = text.split_whitespace().map(|figure| figure.parse::<f64>().expect("a figure"));
    Some([figures.next()?, figures.next()?])
}

fn table(rounds: usize, allocators: &[String], wanted: &[String]) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let names: Vec<&str> = allocators.iter().map(|name| name.split('=').next().unwrap_or(name)).collect();
    println!("| row | threads | {} |", names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len()));
    let rows = ROWS.iter().filter(|row| wanted.is_empty() || wanted.iter().any(|word| row.0.contains(word.as_str())));
    for (row, per_core) in rows {
        let threads = (per_core * cores).max(1);
        let mut figures = vec![Vec::new(); allocators.len()];
        for _ in 0..rounds {
            for (all, allocator) in figures.iter_mut().zip(allocators) {
                all.extend(figure(allocator, row, threads));
            }
        }
        let cells: Vec<_> = figures.into_iter().map(cell).collect();
        println!("| {row} | {threads} | {} |", cells.join(" | "));
    }
}

/// The median, the worst, and the memory of the median.
fn cell(mut figures: Vec<[f64; 2]>) -> String {
    figures.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let Some(last) = figures.last() else { return "-".to_owned() };
    let median = figures[figures.len() / 2];
    format!("{:.1} ({:.1}) {:.0}M", median[0], last[0], median[1])
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [run_word, allocator, row, threads] = &words[..]
        && run_word == "--run"
    {
        return run(allocator, row, threads.parse().expect("a number of threads"));
    }
    let (mut rounds, mut wanted) = (3, Vec::new());
    let mut allocators: Vec<String> = ALLOCATORS.iter().map(|name| (*name).to_owned()).collect();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().and_then(|n| n.parse().ok()).expect("a number of rounds"),
            "--with" => allocators.extend(words.next()),
            _ => wanted.push(word),
        }
    }
    table(rounds, &allocators, &wanted);
}
