//! Owns: the command line of the runner.
//! May use: the catalogue's names.
//! Never: files or processes.

use std::path::PathBuf;

use crate::catalogue::{BENCHES, Bench};
use crate::cell::Params;
use crate::compare::{COMPARED, OURS};
use crate::profile::Profile;
use crate::quiet::REPETITIONS;
use crate::runtimes;

const HELP: &str = "\
Runs Raddle's benchmarks beside their rivals and floors, in interleaved rounds.

usage: bench-runner [NAME...] [OPTIONS]

  NAME                 benchmarks to run (default: all; --list shows them)
  --runs N             rounds (default 15, with --quick 5; some benchmarks cap it)
  --repeat N           repeat a run at most so often during which strangers took more than 3 % of a core (default 5);
                       what is then not quiet counts, and is shown as noisy
  --workers 1,2        only cells with these numbers of workers
  --runtime go,raddle  only these runtimes
  --profile P          build Rust programs for release as `house` has it (with LTO; default), as cargo has it for a
                       `user` who sets nothing, or `both`
  --against DIR        compare raddle and occam with those of DIR, a checkout of another commit, pair by pair, and run
                       once more what is slower (default: short benchmarks only)
  --minutes N          with --against: measure no longer, however few rounds that is; building comes on top
  --seconds N          for benchmarks that last for a time (churn, idle): so long instead
  --quick              fewer rounds, smaller workloads: a look, not a claim
  --json FILE          write the raw figures there (rewritten after each benchmark)
  --list               print the benchmarks and runtimes
  --help               print this

exit code: 0 all that could run did; 1 a program failed or could not be built; 2 wrong arguments";

/// What the command line asks for.
pub enum RunnerCommand {
    /// Run benchmarks.
    Run(RunnerOptions),
    /// Print this text and stop.
    Print(String),
}

/// A session's settings.
pub struct RunnerOptions {
    pub benches: Vec<&'static Bench>,
    pub runs: usize,
    /// A run beside strangers is repeated so often at most.
    pub repetitions: usize,
    pub quick: bool,
    pub workers: Option<Vec<usize>>,
    pub runtimes: Option<Vec<String>>,
    pub profiles: Vec<Profile>,
    pub json: Option<PathBuf>,
    /// Another source tree to compare with.
    pub against: Option<PathBuf>,
    /// How long what lasts for a time shall last, in seconds.
    pub seconds: Option<usize>,
    /// How long to measure in a comparison.
    pub minutes: Option<usize>,
}

impl RunnerOptions {
    /// Reads the arguments, without the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<RunnerCommand, String> {
        let (mut names, mut runs) = (Vec::new(), None);
        let mut options = RunnerOptions::usual();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--help" | "-h" => return Ok(RunnerCommand::Print(HELP.to_owned())),
                "--list" => return Ok(RunnerCommand::Print(list())),
                "--quick" => options.quick = true,
                "--runs" => runs = Some(positive(&argument, &value()?)?),
                "--repeat" => options.repetitions = whole(&argument, &value()?)?,
                "--workers" => options.workers = Some(numbers(&argument, &value()?)?),
                "--runtime" | "--runtimes" => options.runtimes = Some(runtimes(&value()?)?),
                "--profile" => options.profiles = profiles(&value()?)?,
                "--against" => options.against = Some(value()?.into()),
                "--minutes" => options.minutes = Some(positive(&argument, &value()?)?),
                "--seconds" => options.seconds = Some(positive(&argument, &value()?)?),
                "--json" => options.json = Some(value()?.into()),
                option if option.starts_with('-') => {
                    return Err(format!("unknown option {option}\n\n{HELP}"));
                }
                name => names.push(name.to_owned()),
            }
        }
        options.benches = benches(&names)?;
        options.runs = runs.unwrap_or(if options.quick { 5 } else { 15 });
        options.narrowed(names.is_empty()).map(RunnerCommand::Run)
    }

    /// The same, for a comparison if it is one: of what differs between two trees, and by itself of what is short.
    fn narrowed(mut self, by_itself: bool) -> Result<RunnerOptions, String> {
        if self.against.is_none() {
            let unused = "--minutes is for --against, which is missing";
            return if self.minutes.is_none() { Ok(self) } else { Err(unused.into()) };
        }
        let runtimes =
            self.runtimes.get_or_insert_with(|| OURS.iter().map(|name| (*name).to_owned()).collect());
        if let Some(other) = runtimes.iter().find(|name| !OURS.contains(&name.as_str())) {
            return Err(format!(
                "{other} is the same in both trees; --against compares {}",
                OURS.join(" and ")
            ));
        }
        if self.json.is_some() {
            return Err("--json is not for --against, which keeps ratios only".into());
        }
        if by_itself {
            self.benches.retain(|bench| COMPARED.contains(&bench.name));
        }
        Ok(self)
    }

    /// What no argument changes, without benchmarks.
    fn usual() -> RunnerOptions {
        let profiles = vec![Profile::House];
        RunnerOptions {
            benches: vec![],
            runs: 0,
            repetitions: REPETITIONS,
            quick: false,
            workers: None,
            runtimes: None,
            profiles,
            json: None,
            against: None,
            seconds: None,
            minutes: None,
        }
    }

    /// The parameters of a cell, as the catalogue has them but for what these options say otherwise.
    pub fn given(&self, params: &str) -> String {
        self.seconds.map_or_else(|| params.to_owned(), |seconds| Params(params).with("seconds", seconds))
    }

    /// Whether the session shall have cells of this runtime with this many workers.
    pub fn wants(&self, runtime: &str, workers: usize) -> bool {
        self.runtimes.as_ref().is_none_or(|names| names.iter().any(|name| name == runtime))
            && self.workers.as_ref().is_none_or(|numbers| numbers.contains(&workers))
    }
}

fn benches(names: &[String]) -> Result<Vec<&'static Bench>, String> {
    let find = |name: &String| {
        let found = BENCHES.iter().find(|bench| bench.name == name);
        let known = || BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>().join(" ");
        found.ok_or_else(|| format!("no benchmark is called {name:?}; there are: {}", known()))
    };
    if names.is_empty() { Ok(BENCHES.iter().collect()) } else { names.iter().map(find).collect() }
}

fn runtimes(text: &str) -> Result<Vec<String>, String> {
    let known = |name: &str| match runtimes::of(name).is_some() {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no runtime is called {name:?}; there are: {}",
            runtimes::names().collect::<Vec<_>>().join(" ")
        )),
    };
    text.split(',').map(known).collect()
}

fn profiles(text: &str) -> Result<Vec<Profile>, String> {
    match Profile::ALL.into_iter().find(|profile| profile.name() == text) {
        Some(profile) => Ok(vec![profile]),
        None if text == "both" => Ok(Profile::ALL.to_vec()),
        None => Err(format!(
            "--profile is {text:?}, expected {} or both",
            Profile::ALL.map(Profile::name).join(", ")
        )),
    }
}

fn numbers(option: &str, text: &str) -> Result<Vec<usize>, String> {
    text.split(',').map(|part| positive(option, part)).collect()
}

fn positive(option: &str, text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{option} is {text:?}, expected a whole number from 1 up"))
}

fn whole(option: &str, text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{option} is {text:?}, expected a whole number"))
}

fn list() -> String {
    let mut table = raddle_measure::table::Table::new(["bench", "runtimes ", "what "]);
    for bench in BENCHES {
        let runtimes: Vec<&str> = bench.runtimes.iter().map(|(name, _)| *name).collect();
        table.row([bench.name.to_owned(), runtimes.join(" "), format!("{} ({})", bench.what, bench.unit)]);
    }
    table.to_string().trim_end().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn parse(line: &str) -> Result<RunnerCommand, String> {
        RunnerOptions::parse(line.split_whitespace().map(String::from))
    }

    pub(crate) fn options(line: &str) -> RunnerOptions {
        match parse(line) {
            Ok(RunnerCommand::Run(options)) => options,
            _ => panic!("{line} does not run anything"),
        }
    }

    #[test]
    fn no_name_means_every_benchmark() {
        assert_eq!(options("").benches.len(), BENCHES.len());
        assert_eq!((options("").repetitions, options("--repeat 0").repetitions), (REPETITIONS, 0));
        assert_eq!((options("").runs, options("--quick").runs, options("--quick --runs 2").runs), (15, 5, 2));
    }

    #[test]
    fn what_lasts_for_a_time_lasts_as_long_as_is_said() {
        let long = options("churn --seconds 600");
        assert_eq!([long.given("seconds=10"), long.given("count=1")], ["seconds=600", "count=1"]);
        assert_eq!(options("churn").given("seconds=10"), "seconds=10");
    }

    #[test]
    fn unknown_names_list_all_known_ones() {
        for bench in BENCHES {
            assert!(parse("yeild2").err().unwrap().contains(bench.name));
        }
        assert!(parse("--runtime goo").err().unwrap().contains("rayon"));
        assert!(parse("--fast").err().unwrap().contains("--quick"));
        assert!(parse("--workers 0").err().unwrap().contains("from 1 up"));
        assert!(parse("--repeat often").err().unwrap().contains("whole number"));
        assert!(parse("--json").err().unwrap().contains("wants a value"));
    }

    #[test]
    fn programs_are_built_in_the_houses_profile_unless_it_is_said() {
        assert_eq!(options("").profiles, [Profile::House]);
        assert_eq!(options("--profile user").profiles, [Profile::User]);
        assert_eq!(options("--profile both").profiles, Profile::ALL);
        assert!(parse("--profile fast").err().unwrap().contains("house, user or both"));
    }

    #[test]
    fn a_comparison_is_of_what_differs_between_two_trees() {
        let by_itself = options("--against . --minutes 3");
        assert_eq!((by_itself.benches.len(), by_itself.minutes), (COMPARED.len(), Some(3)));
        assert!(!by_itself.wants("go", 1) && by_itself.wants("occam", 1));
        assert_eq!(options("ring --against .").benches.len(), 1);
        assert!(parse("--against . --runtime go").err().unwrap().contains("the same in both trees"));
        assert!(parse("--against . --json x").err().unwrap().contains("--json"));
        assert!(parse("--minutes 3").err().unwrap().contains("--against"));
    }

    #[test]
    fn runtimes_and_workers_are_filters() {
        let options = options("yield2 --runtime go,floor --workers 2");
        assert!(options.wants("go", 2));
        assert!(!options.wants("go", 1));
        assert!(!options.wants("raddle", 2));
    }
}
