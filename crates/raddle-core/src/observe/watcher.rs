//! Owns: where the watcher is attached, which looks for hangs; what it is told; and the word by which it is woken.
//! May use: `raddle-protocol`.
//! Never: what a hang is, or how it is told.
//!
//! The watcher is told when a runtime begins and when it ends. What it looks at meanwhile the scheduler writes as it
//! goes: waits (`describe`), OS threads (`os_thread`), sleeping workers. When all sleep, so does the watcher, and
//! whoever gets up, or goes to sleep outside of a worker, wakes it by the word ([`note_change`]).

use super::Dump;
use raddle_protocol::protocol::watch::WatchWord;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Here the watcher sleeps.
pub static WATCH_WORD: WatchWord = WatchWord::new();

/// A worker has got up, or an OS thread goes to sleep.
#[inline]
pub(crate) fn note_change() {
    WATCH_WORD.note_change();
}

/// What a deadlock leads to, beside a handler of the program's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDeadlock {
    /// Nobody looks for one.
    Off,
    /// It is reported on standard error, and the program goes on waiting.
    Report,
    /// It is reported, and the program exits with code 3.
    #[default]
    Exit,
}

/// The program's own way to take a report.
#[derive(Clone)]
pub struct DeadlockHandler(pub Arc<dyn Fn(&Dump) + Send + Sync>);

impl fmt::Debug for DeadlockHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeadlockHandler")
    }
}

/// What the settings say of hangs.
#[derive(Clone, Debug, Default)]
pub struct HangPlan {
    /// What a deadlock leads to.
    pub deadlock: OnDeadlock,
    /// Who takes its report instead.
    pub handler: Option<DeadlockHandler>,
    /// `SIGQUIT` asks for a dump.
    pub on_quit: bool,
    /// Slices that take longer, while others wait behind them, are told.
    pub slow_slice: Option<Duration>,
    /// Who has only woken each other, or yielded, for so long is told.
    pub livelock: Option<Duration>,
}
