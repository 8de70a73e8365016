//! Owns: the bar that shows how far `raddle trace` has come.
//! May use: nothing.
//! Never: a byte on a standard error that is no terminal.

use std::io::{self, IsTerminal as _, Write, stderr};
use std::time::{Duration, Instant};

/// How wide the bar is, in columns.
const WIDTH: u64 = 30;
/// What is done sooner needs no bar; and how often it changes.
const STEP: Duration = Duration::from_millis(100);

/// A bar on the terminal, in one line, which is erased in the end.
pub(super) struct Bar {
    what: &'static str,
    on_terminal: bool,
    shown: bool,
    next: Instant,
}

impl Bar {
    /// A bar for this, as a word: `reading`.
    pub(super) fn of(what: &'static str) -> Bar {
        Bar { what, on_terminal: stderr().is_terminal(), shown: false, next: Instant::now() + STEP }
    }

    /// Shows how much has been done, if that is due.
    pub(super) fn show(&mut self, done: u64, of: u64) {
        self.say(|what| line(what, done, of));
    }

    /// The same of work that says nothing of how much there is to do: so many bytes have been written.
    pub(super) fn show_bytes(&mut self, bytes: u64) {
        self.say(|what| format!("{what}: {} MiB", bytes >> 20));
    }

    /// What says nothing at all is at least named, if it is about so many events that it takes a while.
    pub(super) fn begin(&mut self, events: usize) {
        if events > 200_000 {
            self.next = Instant::now();
            self.say(|what| format!("{what} {events} events"));
        }
    }

    fn say(&mut self, text: impl FnOnce(&str) -> String) {
        if self.on_terminal && Instant::now() >= self.next {
            self.next = Instant::now() + STEP;
            self.shown = true;
            let _no_matter = write!(stderr(), "\r{}", text(self.what));
        }
    }
}

/// Passes on what is written, and shows how much that was.
pub(super) struct Counted<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) bar: Bar,
    pub(super) written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        self.bar.show_bytes(self.written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.shown {
            let _no_matter = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// The bar as text.
fn line(what: &str, done: u64, of: u64) -> String {
    let of = of.max(1);
    let part = |whole: u64| (u128::from(done.min(of)) * u128::from(whole) / u128::from(of)) as usize;
    let filled = part(WIDTH);
    format!("{what} [{}{}] {:>3} %", "#".repeat(filled), " ".repeat(WIDTH as usize - filled), part(100))
}

#[test]
fn a_bar_is_as_full_as_much_is_done() {
    assert_eq!(line("reading", 0, 10), format!("reading [{}]   0 %", " ".repeat(30)));
    assert_eq!(line("reading", 5, 10), format!("reading [{}{}]  50 %", "#".repeat(15), " ".repeat(15)));
    assert_eq!(line("checking", u64::MAX, u64::MAX), format!("checking [{}] 100 %", "#".repeat(30)));
    assert_eq!(line("reading", 3, 0), format!("reading [{}] 100 %", "#".repeat(30)));
}
