//! Owns: `raddle top`: its options, its interval, and the search for programs.
//! May use: `refusal`, `libc`, `raddle-trace`, `terminal_size`.
//! Never: a signal to the program, a stop of it, a figure that is not on its page.

mod page;

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use raddle_trace::text::commands_a_terminal;

use crate::refusal::Error;
use page::{Page, TerminalSize, cut_to_size, frame};

/// The name of the runtime's page among a program's open files.
const NAME: &str = "/memfd:raddle-top";
/// Of a thousand workers it has a fifth of this; a file that is larger is no page of ours.
const PAGE_BYTES_MAX: u64 = 1 << 24;
/// How often to read a page until it is the same twice.
const TRIES: usize = 100;

/// `raddle top`.
#[derive(clap::Args)]
pub(crate) struct Top {
    /// The interval in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    every: f64,
    /// Show this many frames, then end
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// A process id; without it, all programs are listed
    #[arg(value_name = "PID")]
    pid: Option<u32>,
}

impl Top {
    /// Shows frames until there have been enough, or the program has ended.
    pub(crate) fn carry_out(self) -> Result<(), Error> {
        if !(self.every > 0.0 && self.every <= 86_400.0) {
            return Err(Error::Setting(format!("`{}`: write a time above 0, in seconds", self.every)));
        }
        let Some(pid) = self.pid else {
            return print(&list()).map(drop);
        };
        let Some(file) = pages_of(pid).into_iter().next() else {
            return Err(Error::NotFound(format!(
                "process {pid} shows nothing: not a Raddle program, not yours, or it has run for less than 100 ms"
            )));
        };
        let program = program_of(pid);
        let mut before = None;
        let mut shown = 0;
        while let Some(now) = read(&file) {
            let columns = room().map_or(usize::MAX, |room| room.columns);
            let text = frame(&program, before.as_ref(), &now, columns);
            let whole = match room() {
                Some(room) => print(&format!("\x1b[H\x1b[J{}", cut_to_size(&text, room))),
                None => print(&format!("{text}\n")),
            };
            if !whole? {
                break;
            }
            before = Some(now);
            shown += 1;
            if self.count.is_some_and(|count| shown >= count) {
                break;
            }
            if !lives(pid) {
                print(&format!("process {pid} has ended\n"))?;
                break;
            }
            thread::sleep(Duration::from_secs_f64(self.every));
        }
        Ok(())
    }
}

/// The size of the terminal that is written to, if it is one. It may change from frame to frame.
fn room() -> Option<TerminalSize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    let known = size.map(|(width, height)| TerminalSize { columns: width.0.into(), lines: height.0.into() });
    // Some terminals do not say.
    io::stdout()
        .is_terminal()
        .then(|| known.unwrap_or(TerminalSize { columns: usize::MAX, lines: usize::MAX }))
}

/// Prints; returns whether the output is still read.
fn print(text: &str) -> Result<bool, Error> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::unwritten_output(&error)),
    }
}

/// The process is there, and has not ended.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

fn program_of(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let line = words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    line.replace(commands_a_terminal, "\u{fffd}")
}

/// The pages of a process, its oldest runtime's first, without inherited ones.
fn pages_of(pid: u32) -> Vec<File> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let mut open: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    open.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    let is_page = |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(NAME));
    // What bears that name may be a pipe, which would keep us until somebody writes.
    let open_now =
        |path: PathBuf| OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok();
    let files = open.into_iter().filter(is_page).filter_map(open_now);
    files.filter(|file| read(file).is_some_and(|page| page.pid == u64::from(pid))).collect()
}

/// Reads the page until it is the same twice, since it may be written meanwhile.
fn read(file: &File) -> Option<Page> {
    let mut last = String::new();
    for _ in 0..TRIES {
        let text = all_of(file)?;
        if text == last {
            return Page::of(&text);
        }
        last = text;
    }
    None
}

fn all_of(file: &File) -> Option<String> {
    let is_page = |about: &fs::Metadata| about.is_file() && about.len() <= PAGE_BYTES_MAX;
    let len = file.metadata().ok().filter(is_page)?.len();
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line for each program that can be shown.
fn list() -> String {
    let mut text = String::from("    pid  workers  program\n");
    let none = text.len();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        for page in pages_of(pid).iter().filter_map(read) {
            text.push_str(&format!("{pid:>7}  {:>7}  {}\n", page.workers, program_of(pid)));
        }
    }
    if text.len() == none {
        return "no program of yours runs under Raddle\n".to_owned();
    }
    text
}
