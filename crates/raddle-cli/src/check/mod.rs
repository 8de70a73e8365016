//! Owns: `raddle check`: its options, and the check of each file.
//! May use: `refusal`, `clap`, `raddle-occam`.
//! Never: exit codes; deciding what is wrong with a program.
//!
//! Each file is a program of its own, checked with what it includes. A file that cannot be read does not keep the
//! others from being checked. Diagnostics as text go to standard error, as a compiler's do; JSON is requested data, so
//! it goes to standard output.

pub(crate) mod files;
pub(crate) mod human;
mod json;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::ValueEnum;
use raddle_occam::diag::{CODES, Code, Diagnostic, Severity};
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};

use crate::refusal::Error;
use files::Disk;
use human::Human;

/// `raddle check`.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// occam programs; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Look for the files of #INCLUDE and #USE here too, after the folder of the file that names them
    #[arg(short = 'I', value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Define a name for #IF DEFINED (NAME)
    #[arg(short = 'D', value_name = "NAME", value_parser = occam_name)]
    defines: Vec<String>,

    /// Only warn of a variable that is used before it has a value
    #[arg(long)]
    undefined_warns: bool,

    /// Treat a warning as an error: its code, such as O0902, or `warnings` for all
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = Denied::parse)]
    deny: Vec<Denied>,

    /// The format of errors and warnings
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ErrorFormat::Human)]
    error_format: ErrorFormat,
}

/// The format of diagnostics.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ErrorFormat {
    /// Text, on standard error
    Human,
    /// One JSON object per line, on standard output
    Json,
}

/// The result of checking all files.
pub(crate) enum CheckResult {
    /// Every program is accepted, perhaps with warnings.
    Accepted,
    /// At least one is not.
    Refused,
    /// At least one could not be checked; this has been reported.
    Trouble(Error),
}

/// The number of diagnostics of each severity.
#[derive(Default)]
struct SeverityCounts {
    errors: usize,
    warnings: usize,
}

impl Check {
    /// Checks all files and says what is wrong with them.
    pub(crate) fn carry_out(self) -> CheckResult {
        let options = Options {
            defines: self.defines.clone(),
            undefined_warns: self.undefined_warns,
            deny: Denied::codes(&self.deny),
        };
        let (mut count, mut trouble, mut checked) = (SeverityCounts::default(), None, 0);
        for file in &self.files {
            let done = self.check(file, &options, &mut count);
            checked += usize::from(done.is_ok());
            for error in done.err().unwrap_or_default() {
                // An error is ignored: the exit code reports the failure, too.
                let _ = writeln!(io::stderr(), "raddle: {error}");
                trouble.get_or_insert(error);
            }
        }
        // No summary if nothing was checked.
        if self.error_format == ErrorFormat::Human && checked > 0 {
            let _ = writeln!(io::stderr(), "{}", human::summary(count.errors, count.warnings));
        }
        match trouble {
            Some(error) => CheckResult::Trouble(error),
            None if count.errors > 0 => CheckResult::Refused,
            None => CheckResult::Accepted,
        }
    }

    fn check(
        &self,
        file: &OsString,
        options: &Options,
        count: &mut SeverityCounts,
    ) -> Result<(), Vec<Error>> {
        let (name, text) = files::program(file).map_err(|error| vec![error])?;
        let mut sources = Sources::new();
        let root = sources.add(&name, &text).ok_or_else(|| vec![files::too_long(&name)])?;
        let mut disk = Disk::new(&self.folders);
        let analysis = analyse(&mut sources, root, options, &mut disk);
        if !disk.refused.is_empty() {
            // Other diagnostics would only follow from the missing text.
            return Err(disk.refused);
        }
        let errors = analysis.diagnostics().iter().filter(|it| it.is_error()).count();
        count.errors += errors;
        count.warnings += analysis.diagnostics().len() - errors;
        self.say(analysis.diagnostics(), &sources).map_err(|error| vec![error])
    }

    fn say(&self, diagnostics: &[Diagnostic], sources: &Sources) -> Result<(), Error> {
        let written = match self.error_format {
            ErrorFormat::Json => {
                let lines: String = diagnostics.iter().map(|it| json::line(it, sources)).collect();
                io::stdout().write_all(lines.as_bytes())
            }
            ErrorFormat::Human => {
                let human = Human::for_standard_error();
                let texts: String = diagnostics.iter().map(|it| human.text(it, sources)).collect();
                io::stderr().write_all(texts.as_bytes())
            }
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::CannotRun(format!("could not write the diagnostics: {error}")))
            }
            // A closed pipe (`| head`) is not an error.
            _ => Ok(()),
        }
    }
}

/// What `--deny` names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    One(Code),
    Warnings,
}

impl Denied {
    pub(crate) fn parse(text: &str) -> Result<Denied, String> {
        if text == "warnings" {
            return Ok(Denied::Warnings);
        }
        let code = Code::parse(text).ok_or("it is a code that `raddle check` shows, or `warnings`")?;
        Ok(Denied::One(code))
    }

    /// The codes that are errors.
    pub(crate) fn codes(list: &[Denied]) -> Vec<Code> {
        let warnings = || CODES.iter().filter(|it| it.severity == Severity::Warning).map(|it| it.code);
        let of = |denied: &Denied| match *denied {
            Denied::One(code) => vec![code],
            Denied::Warnings => warnings().collect(),
        };
        list.iter().flat_map(of).collect()
    }
}

#[test]
fn what_is_denied_is_a_code_or_all_warnings() {
    assert_eq!(Denied::parse("O0902"), Ok(Denied::One(Code::MaybeUndefined)));
    assert!(Denied::parse("O1234").is_err() && Denied::parse("undefined").is_err());
    let all = Denied::codes(&[Denied::Warnings]);
    assert!(all.contains(&Code::MaybeUndefined) && !all.contains(&Code::Undefined));
}

/// Parses an occam name.
fn occam_name(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') {
        return Ok(text.to_owned());
    }
    Err("a name is a letter and then letters, digits and dots".to_owned())
}

#[test]
fn a_name_is_letters_digits_and_dots() {
    assert_eq!(occam_name("TARGET.BITS2"), Ok("TARGET.BITS2".to_owned()));
    for wrong in ["", "2A", ".A", "A=1", "A B", "A_B", "É"] {
        assert!(occam_name(wrong).is_err(), "{wrong}");
    }
}
