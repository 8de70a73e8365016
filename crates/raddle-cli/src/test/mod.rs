//! Owns: `raddle test`: which tests there are, under which schedules they run, and what is said of them.
//! May use: `occam`, `out`, `refusal`, `raddle-bytecode`, `raddle-host`, `raddle-occam`.
//! Never: exit codes.
//!
//! A test is an outermost PROC behind `#PRAGMA TEST`, of the file itself and not of one that it includes. Each is
//! compiled as a program of its own and run in this process, one run at a time.

mod shown;
mod trial;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use raddle_bytecode::{Verified, verify};
use raddle_host::ForeignRoutines;
use raddle_occam::ast::TestMark;
use raddle_occam::lower;

use crate::occam::{CheckedSource, Compile, Foreign, MEMORY_MIB, Refused, memory_mib};
use crate::out::print;
use crate::refusal::Error;
use trial::{Limits, Schedule, Trial};

pub(crate) const TEST_HELP: &str = "\
Examples:
  raddle test prog.occ                               all tests, each on 1 and 2 workers and under 8 seeds
  raddle test --seeds 1000 prog.occ                  under more schedules
  raddle test --list a.occ b.occ                     the names of the tests
  raddle test --filter sort prog.occ                 those whose names contain `sort`
  raddle test --exact --filter sorts --seed 7 prog.occ
                                                     one test under one schedule, as a failure shows it

A test is a PROC with `#PRAGMA TEST` on the line before. It takes some of `CHAN BYTE keyboard?, screen!, error!`, and
passes if it ends. The pragma may say more: OUTPUT \"text\", INPUT \"text\", FAILS [\"text\"], SECONDS number.

Exit codes:
    0  every test passed, or there was none
    1  a program is refused; the tests of the others have run
    2  the command line is wrong
    3  a test failed
  126  a file cannot be read, or is not UTF-8 text, or the output cannot be written
  127  a file does not exist";

/// How long a test may take if it does not say more, in seconds.
const SECONDS: u32 = 60;

/// `raddle test`.
#[derive(clap::Args)]
pub(crate) struct TestCommand {
    /// occam programs with tests; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Only the tests whose names contain this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Only the test whose name is that of --filter
    #[arg(long, requires = "filter")]
    exact: bool,

    /// Show the names of the tests, and run none
    #[arg(long)]
    list: bool,

    /// Run each test so often on 2 workers, and so often on 1 worker, each time under another seed
    #[arg(long, value_name = "N", default_value_t = 8)]
    seeds: u64,

    /// Run each test once, on 1 worker under this seed
    #[arg(long, value_name = "SEED", conflicts_with = "seeds")]
    seed: Option<u64>,

    /// Run each test only on so many workers: --seeds times, or once if it is 1
    #[arg(long, value_name = "N", conflicts_with = "seed")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Seconds that a run may take if the test says nothing else
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// Memory that a test may use, in MiB
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB)]
    #[arg(value_parser = memory_mib)]
    memory: u32,

    #[command(flatten)]
    compile: Compile,

    #[command(flatten)]
    foreign: Foreign,
}

/// How the tests ended.
pub(crate) enum TestsEnded {
    Passed,
    Failed,
    /// A program was refused; this has been reported.
    Refused,
    Trouble(Error),
}

/// What came of the tests.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    left_out: usize,
    runs: usize,
}

/// A test and its program.
struct Compiled {
    name: String,
    program: Verified,
    mark: TestMark,
    foreign: Option<Arc<ForeignRoutines>>,
}

impl TestCommand {
    /// Runs all tests of all files.
    pub(crate) fn carry_out(self) -> TestsEnded {
        let begun = Instant::now();
        let (mut tally, mut refused, mut trouble) = (Tally::default(), false, None);
        for file in &self.files {
            match self.file(file, &mut tally) {
                Ok(()) => {}
                Err(Refused::Program) => refused = true,
                Err(Refused::Trouble(error)) if self.files.len() == 1 => return TestsEnded::Trouble(error),
                Err(Refused::Trouble(error)) => {
                    let _ = writeln!(io::stderr(), "raddle: {error}");
                    trouble.get_or_insert(error);
                }
            }
        }
        let all = !refused && trouble.is_none();
        if !self.list
            && let Err(error) = print(&tally.line(all, begun))
        {
            return TestsEnded::Trouble(error);
        }
        match trouble {
            Some(_) if self.list => {
                TestsEnded::Trouble(Error::CannotRun("not every file could be read".to_owned()))
            }
            Some(error) => TestsEnded::Trouble(error),
            None if refused => TestsEnded::Refused,
            None if tally.failed > 0 => TestsEnded::Failed,
            None => TestsEnded::Passed,
        }
    }

    fn file(&self, file: &OsString, tally: &mut Tally) -> Result<(), Refused> {
        let source = self.compile.checked(file)?;
        let tests = self.tests(&source, tally)?;
        if self.list {
            let names: String = tests.iter().map(|it| format!("{}: {}\n", source.name, it.name)).collect();
            return print(&names).map_err(Refused::Trouble);
        }
        let count = tests.len();
        let word = if count == 1 { "test" } else { "tests" };
        print(&format!("running {count} {word} of {}\n", source.name)).map_err(Refused::Trouble)?;
        let mut failures = String::new();
        for test in &tests {
            print(&format!("test {} ... ", test.name)).map_err(Refused::Trouble)?;
            let said = match self.failure(test, tally) {
                None => {
                    tally.passed += 1;
                    "ok\n".to_owned()
                }
                Some((schedule, what)) => {
                    tally.failed += 1;
                    let replay = self.replay(&source.name, &test.name, schedule);
                    let _ =
                        write!(failures, "\n---- {}, {schedule} ----\n{what}again: {replay}\n", test.name);
                    format!("FAILED ({schedule})\n")
                }
            };
            print(&said).map_err(Refused::Trouble)?;
        }
        if !failures.is_empty() {
            print(&format!("\nfailures:\n{failures}")).map_err(Refused::Trouble)?;
        }
        print("\n").map_err(Refused::Trouble)
    }

    /// The tests of a program that are asked for, compiled.
    fn tests(&self, source: &CheckedSource, tally: &mut Tally) -> Result<Vec<Compiled>, Refused> {
        let program = source.checked.program();
        let mut tests = Vec::new();
        for (mark, routine) in program.tests() {
            let base = source.sources.base(source.root);
            if !(base..=base + source.sources.text(source.root).len() as u32).contains(&mark.span.lo) {
                continue;
            }
            let name = program.spelling(program.routines[routine.0 as usize].name).to_owned();
            if !self.asks_for(&name) {
                tally.left_out += 1;
                continue;
            }
            let lowered = lower::lower_test(&source.checked, &source.sources, self.compile.watch(), routine);
            let program = verify(source.module(lowered)?).map_err(|refusal| {
                Refused::Trouble(Error::CannotRun(format!("the bytecode of `{name}` is invalid: {refusal}")))
            })?;
            let foreign = self.foreign.routines(&program, true).map_err(Refused::Trouble)?.map(Arc::new);
            tests.push(Compiled { name, program, mark: mark.clone(), foreign });
        }
        Ok(tests)
    }

    fn asks_for(&self, name: &str) -> bool {
        match &self.filter {
            Some(filter) if self.exact => name == filter,
            Some(filter) => name.contains(filter.as_str()),
            None => true,
        }
    }

    /// Runs a test under each schedule, until it fails under one: which one, and what was wrong.
    fn failure(&self, test: &Compiled, tally: &mut Tally) -> Option<(Schedule, String)> {
        let limits = Limits { seconds: test.mark.seconds.unwrap_or(self.seconds), memory_mib: self.memory };
        self.schedules().find_map(|schedule| {
            tally.runs += 1;
            let trial = Trial::run((&test.program, test.foreign.clone()), &test.mark, schedule, limits);
            trial.complaint(&test.mark).map(|what| (schedule, what))
        })
    }

    fn schedules(&self) -> impl Iterator<Item = Schedule> {
        let (seeds, first) = match (self.seed, self.workers) {
            (Some(seed), _) => (seed..seed + 1, None),
            (None, Some(_)) => (0..0, None),
            // The order without a seed is that of seed 0.
            (None, None) => (0..self.seeds.max(1), Some(2)),
        };
        let workers = self.workers.map(usize::from).or(first);
        let times = if workers == Some(1) { 1 } else { self.seeds.max(1) };
        let several =
            workers.into_iter().flat_map(move |workers| (0..times).map(move |_| Schedule::Workers(workers)));
        seeds.map(Schedule::Seed).chain(several)
    }

    /// The command that runs a test under that schedule again.
    fn replay(&self, file: &str, test: &str, schedule: Schedule) -> String {
        let file = if file == "<stdin>" { "-" } else { file };
        let options = self.compile.spelt() + &self.foreign.spelt();
        format!("raddle test{options} --exact --filter {test} {schedule} {file}")
    }
}

impl Tally {
    fn line(&self, all: bool, begun: Instant) -> String {
        let result = match (self.failed, all) {
            (0, true) => "ok",
            (0, false) => "INCOMPLETE",
            _ => "FAILED",
        };
        format!(
            "test result: {result}. {} passed; {} failed; {} filtered out; {} runs; finished in {:.2} s\n",
            self.passed,
            self.failed,
            self.left_out,
            self.runs,
            begun.elapsed().as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Arguments, Command};
    use clap::Parser as _;

    fn schedules(options: &[&str]) -> Vec<String> {
        let line = ["raddle", "test", "a.occ"].iter().chain(options);
        let Command::Test(test) = Arguments::parse_from(line).command else { panic!("another command") };
        test.schedules().map(|it| it.to_string()).collect()
    }

    #[test]
    fn each_option_chooses_its_schedules() {
        let two = "--workers 2";
        assert_eq!(schedules(&["--seeds", "2"]), ["--seed 0", "--seed 1", two, two]);
        assert_eq!(schedules(&["--seeds", "0"]), ["--seed 0", two]);
        assert_eq!(schedules(&["--seed", "7"]), ["--seed 7"]);
        assert_eq!(schedules(&["--workers", "1"]), ["--workers 1"]);
        assert_eq!(schedules(&["--workers", "3", "--seeds", "2"]), ["--workers 3", "--workers 3"]);
        assert_eq!(schedules(&[]).len(), 16);
    }

    #[test]
    fn what_contradicts_is_refused() {
        for wrong in [&["--seed", "1", "--workers", "2"][..], &["--seed", "1", "--seeds", "2"], &["--exact"]]
        {
            let line = ["raddle", "test", "a.occ"].iter().chain(wrong);
            assert!(Arguments::try_parse_from(line).is_err(), "{wrong:?}");
        }
    }
}
