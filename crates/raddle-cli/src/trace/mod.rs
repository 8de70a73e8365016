//! Owns: `raddle trace`: its options, its files and its output.
//! May use: `check::files`, `refusal`, `clap`, `raddle`, `raddle-trace`.
//! Never: a figure that `raddle-trace` did not compute.

mod check;
mod heap;
mod progress;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Subcommand, ValueEnum};
use raddle_trace::analysis::{Analysis, diff, json, report};
use raddle_trace::export::{self, ExportOptions};
use raddle_trace::file::Source;
use raddle_trace::log::Log;
use raddle_trace::trace::Trace as Opened;
use raddle_trace::view;

use crate::refusal::Error;
use progress::{Bar, Counted};

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
        #[command(flatten)]
        part: Part,
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
    /// Make an HTML page of a trace, or of a heap profile, in one file, for any browser
    View {
        /// The page; by default next to the trace
        #[arg(short, value_name = "HTML")]
        output: Option<PathBuf>,
        #[command(flatten)]
        part: Part,
    },
    /// Draw who waited for whom, how often and how long, as SVG
    Graph {
        /// The picture; by default next to the trace
        #[arg(short, value_name = "SVG")]
        output: Option<PathBuf>,
        #[command(flatten)]
        part: Part,
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

/// A trace, or a part of it: memory is needed for that part only.
#[derive(clap::Args)]
struct Part {
    /// Leave out what is before this time, such as 1500us
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<u64>,
    /// Leave out what is after this time, such as 2ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<u64>,
    /// A trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
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
    /// Multiply times; 1000 lets ThreadScope show nanoseconds as microseconds
    #[arg(long, value_name = "N", default_value_t = 1)]
    time_scale: u64,
    #[command(flatten)]
    part: Part,
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
            TraceCommand::Stats { json: as_json, part } => {
                let (log, analysis) = part.read()?;
                let text =
                    if as_json { format!("{:#}\n", json(&log, &analysis)) } else { report(&log, &analysis) };
                Ok(Report::well(text))
            }
            TraceCommand::Diff { one, two } => {
                let whole = |file| Part { from: None, until: None, file }.read();
                let ((log_one, one), (log_two, two)) = (whole(one)?, whole(two)?);
                let found = diff(&one, &two).with_forecast((&log_one, &one), (&log_two, &two));
                Ok(Report::well(found.to_string()))
            }
            TraceCommand::View { output, part } if is_heap_profile(&part.file) => {
                heap_page(output, &part.file)
            }
            TraceCommand::View { output, part } => {
                let (log, analysis) = part.read()?;
                let file = part.file;
                let page = view::page(&log, &analysis, &file.display().to_string());
                let output = output.unwrap_or_else(|| file.with_extension("html"));
                write(output, &file, |out| out.write_all(page.as_bytes()))
            }
            TraceCommand::Graph { output, part } => {
                let (_, analysis) = part.read()?;
                let picture = view::graph(&analysis);
                let output = output.unwrap_or_else(|| part.file.with_extension("svg"));
                write(output, &part.file, |out| out.write_all(picture.as_bytes()))
            }
            TraceCommand::Export(export) => export.carry_out(),
            TraceCommand::Check { file } => with(&file, |trace| {
                let mut bar = Bar::of("checking");
                check::findings(trace, &mut |done, of| bar.show(done, of))
                    .map_err(|error| refused(&file, &error))
            }),
        }
    }
}

/// Whether the file is a heap profile of the allocator's. A pipe is not looked into.
fn is_heap_profile(file: &Path) -> bool {
    let begin = || {
        let mut begin = [0; heap::BEGIN.len()];
        let mut file =
            File::open(file).ok().filter(|file| file.metadata().is_ok_and(|known| known.is_file()))?;
        file.read_exact(&mut begin).ok()?;
        Some(begin == heap::BEGIN)
    };
    begin() == Some(true)
}

fn heap_page(output: Option<PathBuf>, file: &Path) -> Result<Report, Error> {
    let (shown, output) = heap::page_of(file, output);
    let text = std::fs::read(file)
        .map_err(|error| Error::CannotRun(format!("could not read `{shown}`: {error}")))?;
    let sites = heap::sites(&text).map_err(|why| Error::CannotRun(format!("`{shown}`: {why}")))?;
    let page = view::heap::page(&sites, &shown);
    write(output, file, |out| out.write_all(page.as_bytes()))
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
        let format = match self.format {
            Format::Perfetto => export::Format::Perfetto,
            Format::Eventlog => export::Format::Eventlog,
            Format::Csv => export::Format::Csv,
        };
        let (from_ns, until_ns) = self.part.span()?;
        let options = ExportOptions { from_ns, until_ns, time_scale: self.time_scale };
        let file = &self.part.file;
        let output = self.output.unwrap_or_else(|| file.with_extension(format.extension()));
        if format == export::Format::Csv {
            // It needs no analysis, and so no more than a part of the trace in memory.
            return with(file, |trace| {
                let mut bar = Bar::of("writing");
                write(output, file, |out| {
                    export::write_table(trace, options, out, &mut |done, of| bar.show(done, of))
                })
            });
        }
        let (log, analysis) = self.part.read()?;
        write(output, file, |out| {
            let mut out = Counted { out, bar: Bar::of("writing"), written: 0 };
            export::write(&log, &analysis, format, options, &mut out)
        })
    }
}

impl Part {
    /// From when until when, ns.
    fn span(&self) -> Result<(u64, u64), Error> {
        let (from, until) = (self.from.unwrap_or(0), self.until.unwrap_or(u64::MAX));
        if until < from {
            let text = "`--until` is before `--from`: nothing of the trace lies between";
            return Err(Error::Setting(text.to_owned()));
        }
        Ok((from, until))
    }

    fn read(&self) -> Result<(Log, Analysis), Error> {
        let (from, until) = self.span()?;
        let log = with(&self.file, |trace| {
            let mut bar = Bar::of("taking");
            let part = trace.part(from, until, &mut |done, of| bar.show(done, of));
            part.map_err(|error| refused(&self.file, &error))
        })?;
        let mut bar = Bar::of("analysing");
        bar.begin(log.workers.iter().map(|worker| worker.events.len()).sum());
        let analysis = Analysis::of(&log);
        Ok((log, analysis))
    }
}

/// Opens a trace for `then`.
fn with<T>(file: &Path, then: impl FnOnce(&Opened<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let shown = file.display();
    let open = || {
        let mut opened = File::open(file)?;
        // What has no length and no places, as a pipe, is read at once.
        let (is_plain, mut bytes) = (opened.metadata()?.is_file(), Vec::new());
        if !is_plain {
            opened.read_to_end(&mut bytes)?;
        }
        Ok((opened, bytes, is_plain))
    };
    let (opened, bytes, is_plain) = open().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!("there is no file `{shown}`")),
        _ => Error::CannotRun(format!("could not read `{shown}`: {error}")),
    })?;
    let bytes = &bytes[..];
    let source: &dyn Source = if is_plain { &opened } else { &bytes };
    let mut bar = Bar::of("reading");
    let trace =
        Opened::open(source, &mut |done, of| bar.show(done, of)).map_err(|error| refused(file, &error))?;
    drop(bar);
    then(&trace)
}

fn refused(file: &Path, error: &raddle_trace::file::ReadError) -> Error {
    Error::CannotRun(format!("`{}`: {error}", file.display()))
}

/// Writes `file`, unless that is the trace itself.
fn write(
    file: PathBuf,
    trace: &Path,
    by: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<Report, Error> {
    let shown = file.display().to_string();
    let is_trace =
        file == trace || file.canonicalize().ok().is_some_and(|at| trace.canonicalize().ok() == Some(at));
    if is_trace {
        let advice = "name another file with `-o`";
        return Err(Error::CannotRun(format!(
            "`{shown}` is the trace itself, which would be lost; {advice}"
        )));
    }
    match crate::check::files::save_by(&file, by) {
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
