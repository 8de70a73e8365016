//! Owns: `raddle fmt`: which files are laid out, and what is shown of the difference.
//! May use: `check::files`, `check::human`, `out`, `refusal`, `raddle-occam`.
//! Never: a file written in part, or one whose text is wrong.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use raddle_occam::format::format;
use raddle_occam::source::Sources;

use crate::check::files::{self, Disk};
use crate::check::human::Human;
use crate::out::print;
use crate::refusal::Error;

pub(crate) const FMT_HELP: &str = "\
Examples:
  raddle fmt a.occ b.occ       lay out two files anew
  raddle fmt --check *.occ     only show what would change
  raddle fmt - < a.occ         from standard input to standard output

Exit codes:
    0  done; under --check, nothing would change
    1  a file is no occam program, and is left as it is; under --check also: something would change
    2  the command line is wrong
  126  a file cannot be read or written, or is not UTF-8 text
  127  a file does not exist
The last two take precedence over 1: they mean that not every file was looked at.";

/// `raddle fmt`.
#[derive(clap::Args)]
pub(crate) struct Fmt {
    /// occam programs and files that they include; `-` is standard input, laid out on standard output
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,

    /// Write nothing; show what would change
    #[arg(long)]
    check: bool,

    /// Look for the files of #INCLUDE and #USE here too, after the folder of the file that names them
    #[arg(short = 'I', value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// How the files were found or left.
pub(crate) enum Formatted {
    Done,
    /// A file is wrong, or would change under --check.
    Not,
    Trouble(Error),
}

impl Fmt {
    /// Lays out all files.
    pub(crate) fn carry_out(self) -> Formatted {
        let (mut well, mut trouble) = (true, None);
        for file in &self.files {
            match self.file(file) {
                Ok(it_is_well) => well &= it_is_well,
                Err(error) if self.files.len() == 1 => return Formatted::Trouble(error),
                Err(error) => {
                    // An error is ignored: the exit code reports the failure, too.
                    let _ = writeln!(io::stderr(), "raddle: {error}");
                    trouble.get_or_insert(error);
                }
            }
        }
        match trouble {
            Some(Error::NotFound(_)) => {
                Formatted::Trouble(Error::NotFound("not every file was laid out".to_owned()))
            }
            Some(_) => Formatted::Trouble(Error::CannotRun("not every file was laid out".to_owned())),
            None if well => Formatted::Done,
            None => Formatted::Not,
        }
    }

    /// Lays out one file; whether it was right, and under --check laid out already.
    fn file(&self, file: &OsString) -> Result<bool, Error> {
        let (name, text) = files::program(file)?;
        let mut sources = Sources::new();
        let root = sources.add(&name, &text).ok_or_else(|| files::too_long(&name))?;
        let mut disk = Disk::new(&self.folders);
        let new = match format(&mut sources, root, &mut disk) {
            Ok(new) => new,
            Err(complaints) => {
                let human = Human::for_standard_error();
                let texts: String = complaints.iter().map(|it| human.text(it, &sources)).collect();
                let _ = io::stderr().write_all(texts.as_bytes());
                return Ok(false);
            }
        };
        match (self.check, file == "-") {
            (true, _) if text == new => Ok(true),
            (true, _) => print(&difference(&name, &text, &new)).map(|()| false),
            (false, true) => print(&new).map(|()| true),
            (false, false) if text == new => Ok(true),
            (false, false) => save(Path::new(file), &new).map(|()| true),
        }
    }
}

/// Writes the new text, with the rights that the file has.
fn save(path: &Path, text: &str) -> Result<(), Error> {
    let rights = std::fs::metadata(path).map(|it| it.permissions());
    let written = files::save(path, text.as_bytes()).and_then(|()| std::fs::set_permissions(path, rights?));
    written.map_err(|error| Error::CannotRun(format!("could not write `{}`: {error}", path.display())))
}

/// A line of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// Lines around a change.
const CONTEXT: usize = 3;

/// The difference in the usual form. Laying out drops empty lines and changes others, one for one.
fn difference(name: &str, old: &str, new: &str) -> String {
    let changes = changes(old, new);
    let mut text = format!("--- {name}\n+++ {name} (laid out)\n");
    let near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(changes.len());
        changes[around].iter().any(|it| !matches!(it, Change::Same(_)))
    };
    let (mut at, mut lines) = (0, [1, 1]);
    while at < changes.len() {
        let length = (at..changes.len()).take_while(|&at| near(at)).count();
        let hunk = &changes[at..at + length];
        let counts = [
            hunk.iter().filter(|it| !matches!(it, Change::New(_))).count(),
            hunk.iter().filter(|it| !matches!(it, Change::Old(_))).count(),
        ];
        if length > 0 {
            let _ = writeln!(text, "@@ -{},{} +{},{} @@", lines[0], counts[0], lines[1], counts[1]);
            for change in hunk {
                let _ = match change {
                    Change::Same(line) => writeln!(text, " {line}"),
                    Change::Old(line) => writeln!(text, "-{line}"),
                    Change::New(line) => writeln!(text, "+{line}"),
                };
            }
        }
        // The line behind the hunk is the same in both, and begins none.
        let skipped = usize::from(at + length < changes.len());
        lines = [lines[0] + counts[0] + skipped, lines[1] + counts[1] + skipped];
        at += length + skipped;
    }
    text
}

fn changes<'t>(old: &'t str, new: &'t str) -> Vec<Change<'t>> {
    let mut list = Vec::new();
    let mut news = new.lines().peekable();
    // By line feeds alone, so that a carriage return is seen as a change.
    for line in old.strip_suffix('\n').unwrap_or(old).split('\n') {
        let blank = line.trim_ascii().is_empty();
        match news.peek() {
            Some(&next) if next == line => {
                list.push(Change::Same(line));
                news.next();
            }
            Some(&next) if blank == next.is_empty() => {
                list.extend([Change::Old(line), Change::New(next)]);
                news.next();
            }
            _ => list.push(Change::Old(line)),
        }
    }
    list.extend(news.map(Change::New));
    list
}

#[test]
fn a_difference_shows_hunks_with_the_lines_around() {
    let old = "a\n\n\nb\nc\nd\ne\nf\ng\nh\ni\nj \nk\n";
    let new = "a\n\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
    let first = "@@ -1,6 +1,5 @@\n a\n \n-\n b\n c\n d\n";
    let second = "@@ -9,5 +8,5 @@\n g\n h\n i\n-j \n+j\n k\n";
    let wanted = format!("--- x\n+++ x (laid out)\n{first}{second}");
    assert_eq!(difference("x", old, new), wanted);
    assert_eq!(changes("", "").len(), 1);
}
