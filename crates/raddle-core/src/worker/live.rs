//! Owns: the page of a runtime that `raddle top` reads: what is always counted, ten times a second.
//! May use: `libc`.
//! Never: a name in the file system, a thread, a signal; a page for what ran less than a tenth of a second.
//!
//! The file has no name and goes with the program, however that ends. Whoever may look at the program (its user, by the
//! rules of `/proc`) finds it among its open files as `memfd:raddle-top`. Writing it costs a few microseconds in each
//! tenth of a second in which something runs; what sleeps keeps its last page, which says when it was written.
//!
//! It is text, so that a reader of another version, or a person, can make something of it: first `raddle-top 1`, then
//! lines of a name and one number for each worker (or one for all), last `end` with the number of the page. Behind the
//! numbers of the workers stand those of the extra ones. What follows is the rest of a longer page. A reader reads
//! until it gets the same twice.

use crate::worker::{Shared, Worker};
use std::fmt::Write as _;
use std::fs::File;
use std::os::fd::FromRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages are so far apart, at least.
const PAGE_NS: u64 = 100_000_000;

/// One runtime's page.
#[derive(Debug, Default)]
pub(crate) struct Live {
    state: Mutex<State>,
    /// How many pages have been begun.
    pages: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// The kernel gives no such file.
    refused: bool,
    written_at: u64,
    pages: u64,
}

impl Live {
    /// Writes the page if the last is old. Called by whoever takes samples.
    pub(crate) fn look(&self, shared: &Shared, now: u64) {
        // Somebody else does it. A poisoned page stays as it was.
        let Ok(mut state) = self.state.try_lock() else { return };
        if state.refused || now < state.written_at + PAGE_NS || shared.clock.virtual_now().is_some() {
            return;
        }
        if state.file.is_none() {
            state.file = anonymous();
            state.refused = state.file.is_none();
        }
        state.written_at = now;
        state.pages += 1;
        self.pages.fetch_add(1, Ordering::Relaxed);
        let page = page(shared, now, state.pages);
        if let Some(file) = &state.file
            && file.write_all_at(page.as_bytes(), 0).is_err()
        {
            state.refused = true;
        }
    }
}

impl Shared {
    /// How many pages its workers have begun to write.
    pub fn pages_written(&self) -> u64 {
        self.live.pages.load(Ordering::Relaxed)
    }
}

fn anonymous() -> Option<File> {
    // SAFETY: the name is a string that ends in a zero and lives through the call.
    let file = unsafe { libc::memfd_create(c"raddle-top".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: the kernel has just made it, for nobody else.
    (file >= 0).then(|| unsafe { File::from_raw_fd(file) })
}

/// What the page has of one worker. Of each the same numbers, in one order.
#[inline(never)]
fn numbers(worker: &Worker) -> Vec<(String, u64)> {
    let always = worker.always();
    let now = [
        ("began", worker.began_ns),
        ("idle_since", worker.idle_times.since().unwrap_or(0)),
        ("ready", worker.published.ready.load(Ordering::Relaxed) as u64),
        ("backlog_ns", worker.published.backlog_ns.load(Ordering::Relaxed)),
    ];
    let named = |(name, value): (&str, u64)| (name.to_owned(), value);
    let mut all: Vec<_> = always.stats.entries().map(named).collect();
    all.append(&mut always.beside());
    all.extend(now.map(named));
    all
}

fn page(shared: &Shared, now: u64, number: u64) -> String {
    let all: Vec<_> = shared.everybody().map(numbers).collect();
    let workers = shared.workers().len();
    let mut text = String::with_capacity(4096);
    let head = [
        ("raddle-top", 1),
        ("pid", u64::from(std::process::id())),
        ("page", number),
        ("ns", now),
        ("workers", workers as u64),
        ("extra", (all.len() - workers) as u64),
    ];
    for (name, value) in head {
        let _infallible = writeln!(text, "{name} {value}");
    }
    for (place, (name, _)) in all.first().into_iter().flatten().enumerate() {
        text.push_str(&name.replace(' ', "_"));
        for of_worker in &all {
            let _infallible = write!(text, " {}", of_worker[place].1);
        }
        text.push('\n');
    }
    let _infallible = writeln!(text, "end {number}");
    text
}
