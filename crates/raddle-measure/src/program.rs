//! Owns: what every benchmark program has in common: its arguments, its output, its exit code.
//! May use: `plan`, `sample`.
//! Never: a particular benchmark or runtime.
//!
//! A program is called as `PROGRAM --workers W --params key=value,key=value --samples N` and prints one line of
//! JSON a sample. `--run-ns N` shortens or lengthens a sample. What it cannot do it says on standard error, with
//! exit code 1; the runner prints that beside the cell.
//!
//! It reads the process's arguments and writes to standard output.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use crate::{Plan, Sample};

/// What the runner asked a program to do.
///
/// ```
/// use raddle_measure::Job;
/// let job = Job::parse(["--workers", "2", "--params", "count=1000,kind=task"].map(String::from)).unwrap();
/// assert_eq!((job.workers, job.number("count"), job.text("kind")), (2, Ok(1000), Ok("task")));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Workers (OS threads that run work) that the runtime under test shall have.
    pub workers: usize,
    /// Samples and their length.
    pub plan: Plan,
    params: BTreeMap<String, String>,
}

impl Job {
    /// Reads a program's arguments, without the program's name.
    ///
    /// # Errors
    /// A sentence that names the argument and what was expected.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut job = Job { workers: 1, ..Job::default() };
        let mut arguments = arguments.into_iter();
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{option} wants a value"))?;
            match option.as_str() {
                "--workers" => job.workers = number(&option, &value)? as usize,
                "--samples" => job.plan.samples = number(&option, &value)? as usize,
                "--run-ns" => job.plan.run_ns_min = number(&option, &value)?,
                "--params" => job.params = pairs(&value)?,
                _ => {
                    return Err(format!(
                        "unknown option {option}; known: --workers --params --samples --run-ns"
                    ));
                }
            }
        }
        Ok(job)
    }

    /// The parameter `name` as text.
    ///
    /// # Errors
    /// When the runner did not give it.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        let value = self.params.get(name);
        value.map(String::as_str).ok_or_else(|| format!("wants --params {name}=..."))
    }

    /// The parameter `name` as a whole number.
    ///
    /// # Errors
    /// When it is missing or no whole number.
    pub fn number(&self, name: &str) -> Result<u64, String> {
        number(name, self.text(name)?)
    }
}

/// The whole `main` of a benchmark program: parses the arguments, runs `body`, prints what it measured.
pub fn main(body: impl FnOnce(&Job) -> Result<Vec<Sample>, String>) -> ExitCode {
    let outcome = Job::parse(std::env::args().skip(1)).and_then(|job| body(&job)).and_then(|s| print(&s));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn print(samples: &[Sample]) -> Result<(), String> {
    let lines: String = samples.iter().map(|sample| sample.to_json_line() + "\n").collect();
    std::io::stdout().write_all(lines.as_bytes()).map_err(|e| format!("cannot print the samples: {e}"))
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} is {value:?}, expected a whole number"))
}

fn pairs(text: &str) -> Result<BTreeMap<String, String>, String> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("--params has {part:?}, expected key=value")),
    };
    text.split(',').filter(|part| !part.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Job, String> {
        Job::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn options_set_what_they_name() {
        let job = parse("--samples 5 --run-ns 1000 --workers 3").unwrap();
        assert_eq!((job.workers, job.plan), (3, Plan { samples: 5, run_ns_min: 1000 }));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert!(parse("--speed 5").unwrap_err().contains("--speed"));
        assert!(parse("--workers").unwrap_err().contains("wants a value"));
        assert!(parse("--workers two").unwrap_err().contains("\"two\""));
        assert!(parse("--params count").unwrap_err().contains("key=value"));
        assert!(parse("").unwrap().number("count").unwrap_err().contains("count"));
    }
}
