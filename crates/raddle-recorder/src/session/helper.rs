//! Owns: the helper of a trace, an OS thread, and the ways to the file.
//! May use: `ends`, `target`, `waits`, `raddle-core`, `raddle-trace`.
//! Never: a wait for a worker.
//!
//! The helper is an OS thread that there is only while there is a trace. Every 10 ms it notes what the workers publish
//! and for how long the kernel made each of them wait, streams if it shall, and looks whether a file was asked for. So
//! a panicking process, whose stack may be small, only asks and waits.
//!
//! It uses the workers' public half, files.

use crate::ends;
use crate::session::output::{Collected, Output, about};
use crate::session::{KEPT_MAX, Session};
use crate::target;
use crate::waits::Waits;
use raddle_core::os_thread::{self, Registration, Role};
use raddle_core::runtime::Shared;
use raddle_trace::clock::Source;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the helper looks.
const TICK: Duration = Duration::from_millis(10);
/// Clocks are read anew after so many ticks.
const TICKS_A_READING: u64 = 100;

/// What the helper shares with those who ask it.
#[derive(Default)]
pub(crate) struct Control {
    pub(crate) helper: Option<thread::JoinHandle<()>>,
    pub(crate) stopping: bool,
    pub(crate) finished: bool,
    /// The last file is written, or cannot be.
    pub(crate) is_written: bool,
    /// Files asked for by failures, and written since.
    pub(crate) asked: u64,
    pub(crate) written: u64,
    /// Signals that it has seen to.
    pub(crate) signals: usize,
    pub(crate) seen: Collected,
    pub(crate) stream: Option<Output<File>>,
}

impl Session {
    pub(crate) fn start_helper(&self, shared: Arc<Shared>) {
        ends::watch_over(&shared);
        let mut control = self.control();
        control.seen.clock.push(Source::of_this_machine().read());
        if self.plan.stream
            && let Some(path) = &self.file
        {
            let begin =
                |file| Output::begin(file, &about(self, &shared)).inspect_err(|_| target::remove(path));
            let begun = File::create(path).and_then(begin);
            control.stream = begun.inspect_err(|cause| target::say_refused(path, cause)).ok();
        }
        // Without a helper there are no samples, and a file at the end all the same.
        control.helper = os_thread::begin("raddle-trace".to_owned(), Box::new(move || watch(&shared))).ok();
    }

    pub(crate) fn dump_seen(&self, shared: &Shared, path: &Path, seen: &mut Collected) -> io::Result<()> {
        target::write_whole(path, |file| {
            let mut output = Output::begin(file, &about(self, shared))?;
            output.drain(self, shared, seen)?;
            output.end(shared, &seen.hardware).map(drop)
        })
    }

    /// The file as it stays: by the helper, or by who ends if there is none.
    pub(crate) fn write_last(&self, shared: &Shared, control: &mut Control) {
        if std::mem::replace(&mut control.is_written, true) {
            return;
        }
        if control.stream.is_some() {
            self.stream(shared, control);
            let ended = control.stream.take().map(|output| output.end(shared, &control.seen.hardware));
            if let (Some(Err(cause)), Some(path)) = (ended, &self.file) {
                target::say_refused(path, &cause);
            }
        } else if !self.plan.stream {
            self.write(shared, control);
        }
        self.changed.notify_all();
    }

    /// The file that the settings ask for.
    fn write(&self, shared: &Shared, control: &mut Control) {
        if let Some(path) = &self.file
            && let Err(cause) = self.dump_seen(shared, path, &mut control.seen)
        {
            target::say_refused(path, &cause);
        }
    }

    fn stream(&self, shared: &Shared, control: &mut Control) {
        let Control { stream, seen, .. } = control;
        if let Some(output) = stream
            && let Err(cause) = output.drain(self, shared, seen)
        {
            *stream = None;
            self.file.iter().for_each(|path| target::say_refused(path, &cause));
        }
    }

    fn on_tick(&self, shared: &Shared, control: &mut Control, waits: &mut Waits, tick: u64) {
        if tick.is_multiple_of(TICKS_A_READING) {
            control.seen.clock.push(Source::of_this_machine().read());
        }
        control.seen.hardware.look(shared);
        if control.seen.samples.len() < KEPT_MAX {
            let tick = waits.sample(shared, &mut control.seen.calls);
            control.seen.samples.extend(tick.samples);
            control.seen.whereabouts.extend(tick.whereabouts);
        }
        if control.stream.is_some() {
            self.stream(shared, control);
        }
        let signals = ends::signals();
        let signalled = std::mem::replace(&mut control.signals, signals) != signals;
        if signalled || control.written < control.asked {
            if !self.plan.stream {
                control.seen.clock.push(Source::of_this_machine().read());
                self.write(shared, control);
            }
            control.written = control.asked;
            self.changed.notify_all();
        }
    }
}

/// The helper's life.
fn watch(shared: &Shared) {
    // Who looks for deadlocks knows that nobody waits for it.
    let _registration = Registration::new(Role::Helper);
    let Some(session) = Session::of(shared) else { return };
    let mut waits = Waits::default();
    let mut control = session.control();
    control.signals = ends::signals();
    let mut tick = 0;
    let mut next = Instant::now();
    while !control.stopping {
        tick += 1;
        session.on_tick(shared, &mut control, &mut waits, tick);
        next = (next + TICK).max(Instant::now());
        let idle = |control: &mut Control| !control.stopping && control.written == control.asked;
        let left = next.saturating_duration_since(Instant::now());
        control =
            session.changed.wait_timeout_while(control, left, idle).unwrap_or_else(PoisonError::into_inner).0;
    }
    // Not by who ends the runtime, or the program: that may be a process on a small stack.
    session.write_last(shared, &mut control);
}
