//! Owns: `raddle trace`: its options, its files and its output.
//! May use: `check::files`, `refusal`, `clap`, `raddle`, `raddle-trace`.
//! Never: a figure that `raddle-trace` did not compute.

mod check;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Subcommand, ValueEnum};
use raddle_trace::analysis::{Analysis, diff, json, report};
use raddle_trace::export::{self, ExportOptions};
use raddle_trace::log::Log;
use raddle_trace::view;

use crate::refusal::Error;

/// `raddle trace`.
#[derive(clap::Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    what: TraceCommand,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Run a program and record what the scheduler does
    Run(RunArguments),
    /// Analyse a trace: the verdict, and where each worker's time went
    Stats {
        /// As JSON, with times in nanoseconds
        #[arg(long)]
        json: bool,
        /// A trace
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Compare two traces: where did the additional time of the second run go
    Diff {
        /// The trace of the run that was fast enough
        #[arg(value_name = "ONE")]
        one: PathBuf,
        /// The trace of the run that is to be explained
        #[arg(value_name = "TWO")]
        two: PathBuf,
    },
    /// Make an HTML page of a trace, in one file, for any browser
    View {
        /// The page; by default next to the trace
        #[arg(short, value_name = "HTML")]
        output: Option<PathBuf>,
        /// A trace
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write a trace as a file for other tools
    Export(Export),
    /// Check whether a trace is complete and adds up
    Check {
        /// A trace
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// `raddle trace run`.
#[derive(clap::Args)]
struct RunArguments {
    /// The trace; `%p` is the process id
    #[arg(short, value_name = "FILE", default_value = "trace.rdt")]
    output: PathBuf,
    /// How much to record: sched, sync, user
    #[arg(long, value_name = "LEVEL", default_value = "sched")]
    level: raddle::trace::Level,
    /// How much to keep of each worker, such as 64M; older events are overwritten
    #[arg(long, value_name = "BYTES")]
    last: Option<OsString>,
    /// Write the trace while the program runs, so that it survives even if the program is killed
    #[arg(long)]
    stream: bool,
    /// A path and its arguments; or what `raddle run` takes: options, a path, and after a further `--` its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    program: Vec<OsString>,
}

/// `raddle trace export`.
#[derive(clap::Args)]
struct Export {
    /// The format
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// The file; by default next to the trace
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out events before this time, such as 1500us
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<u64>,
    /// Leave out events after this time, such as 2ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<u64>,
    /// Multiply times; 1000 lets ThreadScope show nanoseconds as microseconds
    #[arg(long, value_name = "N", default_value_t = 1)]
    time_scale: u64,
    /// A trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For the Perfetto UI and its trace processor
    Perfetto,
    /// GHC's event log, for ThreadScope
    Eventlog,
    /// One row per event
    Csv,
}

/// The output, and whether no error was found.
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) well: bool,
}

impl Report {
    fn well(text: String) -> Report {
        Report { text, well: true }
    }
}

impl Trace {
    pub(crate) fn carry_out(self) -> Result<Report, Error> {
        match self.what {
            TraceCommand::Run(run) => Err(run.become_it()),
            TraceCommand::Stats { json: as_json, file } => {
                let (log, analysis) = read(&file)?;
                let text =
                    if as_json { format!("{:#}\n", json(&log, &analysis)) } else { report(&log, &analysis) };
                Ok(Report::well(text))
            }
            TraceCommand::Diff { one, two } => {
                let ((log_one, one), (log_two, two)) = (read(&one)?, read(&two)?);
                let found = diff(&one, &two).with_forecast((&log_one, &one), (&log_two, &two));
                Ok(Report::well(found.to_string()))
            }
            TraceCommand::View { output, file } => {
                let (log, analysis) = read(&file)?;
                let page = view::page(&log, &analysis, &file.display().to_string());
                write(output.unwrap_or_else(|| file.with_extension("html")), &file, page.as_bytes())
            }
            TraceCommand::Export(export) => export.carry_out(),
            TraceCommand::Check { file } => {
                let (log, analysis) = read(&file)?;
                Ok(check::findings(&log, &analysis))
            }
        }
    }
}

impl RunArguments {
    /// Becomes `raddle run` with the trace's settings; returns only if that fails.
    fn become_it(self) -> Error {
        let itself = match std::env::current_exe() {
            Ok(itself) => itself,
            Err(error) => return Error::CannotRun(format!("could not find raddle itself: {error}")),
        };
        let mut command = Command::new(itself);
        command.arg("run").arg("--trace").arg(&self.output);
        command.args(["--trace-level", self.level.name()]);
        if let Some(last) = self.last {
            command.arg("--trace-last").arg(last);
        }
        if self.stream {
            command.arg("--trace-stream");
        }
        let error = command.args(for_run(self.program)).exec();
        Error::CannotRun(format!("could not run raddle itself: {error}"))
    }
}

/// The arguments for `raddle run`: after the path, the first word that is not an option begins the program's own.
fn for_run(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_plain =
        |word: Option<&OsString>| word.is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-"));
    if is_plain(words.first()) && is_plain(words.get(1)) {
        words.insert(1, "--".into());
    }
    words
}

impl Export {
    fn carry_out(self) -> Result<Report, Error> {
        let (log, analysis) = read(&self.file)?;
        let format = match self.format {
            Format::Perfetto => export::Format::Perfetto,
            Format::Eventlog => export::Format::Eventlog,
            Format::Csv => export::Format::Csv,
        };
        let options = ExportOptions {
            from_ns: self.from.unwrap_or(0),
            until_ns: self.until.unwrap_or(u64::MAX),
            time_scale: self.time_scale,
        };
        let bytes = export::export(&log, &analysis, format, options);
        let output = self.output.unwrap_or_else(|| self.file.with_extension(format.extension()));
        write(output, &self.file, &bytes)
    }
}

fn read(file: &Path) -> Result<(Log, Analysis), Error> {
    let shown = file.display();
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!("there is no file `{shown}`")),
        _ => Error::CannotRun(format!("could not read `{shown}`: {error}")),
    })?;
    let log = Log::read(&bytes).map_err(|error| Error::CannotRun(format!("`{shown}`: {error}")))?;
    let analysis = Analysis::of(&log);
    Ok((log, analysis))
}

/// Writes `bytes` into `file`, unless that is the trace itself.
fn write(file: PathBuf, trace: &Path, bytes: &[u8]) -> Result<Report, Error> {
    let shown = file.display().to_string();
    let is_trace =
        file == trace || file.canonicalize().ok().is_some_and(|at| trace.canonicalize().ok() == Some(at));
    if is_trace {
        let advice = "name another file with `-o`";
        return Err(Error::CannotRun(format!(
            "`{shown}` is the trace itself, which would be lost; {advice}"
        )));
    }
    match crate::check::files::save(&file, bytes) {
        Ok(()) => Ok(Report::well(format!("{shown}\n"))),
        Err(error) => Err(Error::CannotRun(format!("could not write `{shown}`: {error}"))),
    }
}

/// A time of the trace: a number and a unit.
fn time(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000_u64)];
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, ns)| *ns);
    let ns = number.parse::<u64>().ok().zip(scale).and_then(|(number, scale)| number.checked_mul(scale));
    ns.ok_or_else(|| format!("`{text}` is not a time; write a number and ns, us, ms or s, such as 1500us"))
}

#[test]
fn times_have_units() {
    assert_eq!((time("1500us"), time("2s"), time("0ns")), (Ok(1_500_000), Ok(2_000_000_000), Ok(0)));
    assert!(time("12").is_err() && time("us").is_err() && time("99999999999s").is_err());
}

#[cfg(test)]
mod tests {
    use super::for_run;

    #[test]
    fn arguments_of_a_program_may_follow_it_at_once() {
        let words = |line: &str| -> String {
            let words = for_run(line.split(' ').map(Into::into).collect());
            words.iter().map(|word| word.to_str().expect("it was text")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("line 200 --fast 2"), "line -- 200 --fast 2");
        for line in ["line", "line -- 200", "line --workers 2", "--workers 2 line -- 200"] {
            assert_eq!(words(line), line);
        }
    }
}
