//! Owns: the command line of the laboratory, its files and exit codes.
//! May use: everything beside it.
//! Never: a figure of its own.
//!
//! `raddle lab` builds and executes it: the laboratory needs the source tree, since it builds the
//! programs that it measures, rivals included, and `raddle` itself stays small without it.

mod experiment;

// Before it is built, `raddle` has the same.
#[path = "../../../crates/raddle-cli/src/lab/grammar.rs"]
mod grammar;

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
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use bench_runner::session::{is_set, stop_on_interrupt};
use clap::Parser as _;

use experiment::{EXPERIMENTS, Experiment, Settings, Size};
use grammar::{LabCommand, LabLine, LabOptions, Simulation};
use raddle_measure::stats::Verdict;
use run::Run;
use simulate::Sweep;

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
    let outcome = match LabLine::parse().command {
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
fn the_grammar_knows_all_runtimes() {
    assert!(bench_runner::runtimes::names().eq(grammar::RUNTIMES), "put the right ones into `grammar.rs`");
}
