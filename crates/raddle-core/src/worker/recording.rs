//! Owns: what the scheduler tells and asks the recorder, and what it shows it of runtimes and workers.
//! May use: `block::control`, `counters`, `message`, `observe`, `policy`, `tracer`, `raddle-trace`.
//! Never: a file; a call from a place that is frequent, unless something is recorded.
//!
//! A worker records by itself, into rings of its own (`tracer`). The recorder, the crate `raddle-recorder`, makes the
//! rings, switches the workers, keeps what no worker does, and makes all that a file.

use super::shared::Shared;
use crate::block::Block;
use crate::counters::Stats;
use crate::observe::{NotLinked, Slot, TracePlan};
use crate::policy::Policy;
use crate::tracer::Tracer;
use crate::worker::Worker;
use raddle_trace::{Event, Level};
use std::any::Any;
use std::io;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who records, if the program has linked that.
pub static RECORDER: Slot<dyn Recorder> = Slot::new();

/// Records runtimes.
pub trait Recorder: Sync {
    /// What is to be told of a runtime with this plan, which begins.
    fn recording(&self, plan: TracePlan) -> Box<dyn Recording>;

    /// Locks what a forked child needs unlocked, until what is returned is dropped.
    fn hold_over_fork(&self) -> Box<dyn Any>;
}

/// The recording of one runtime.
pub trait Recording: Any + Send + Sync {
    /// The runtime begins, its workers do not run yet. `bind` has the calling thread run where a worker will.
    fn begin(&self, shared: &Arc<Shared>, bind: &(dyn Fn(usize) + Sync));

    /// The program wants recorded from now on what belongs to `level`.
    fn set_level(&self, shared: &Shared, level: Level);

    /// The program wants a file.
    ///
    /// # Errors
    /// If nothing has been recorded, or the file cannot be written.
    fn dump(&self, shared: &Shared, path: &Path) -> io::Result<()>;

    /// A process has been made by an OS thread that is no worker of the runtime.
    fn note_birth(&self, number: u32, name: Option<&Arc<str>>, site: &'static Location<'static>);

    /// An OS thread that is no worker makes a thread ready, for that worker; 255 for any.
    fn note_outside(&self, event: Event, thread: u32, worker: u8);

    /// A number for a place in an engine's program; 0 if it has none.
    fn number_of_site(&self, name: String) -> u32;

    /// The program, or one of its processes, is failing.
    fn note_failure(&self);

    /// The runtime's end, whose workers have ended, or else the program's.
    fn finish(&self, shared: &Shared, have_ended: bool);
}

/// What of a runtime is recorded.
pub struct Trace {
    recording: Option<Box<dyn Recording>>,
    /// Something has been recorded.
    has_begun: AtomicBool,
    /// It is recorded what OS threads do that are no workers.
    looks_outside: AtomicBool,
}

impl Trace {
    /// Of a runtime that begins.
    pub(crate) fn new(plan: TracePlan) -> Result<Trace, NotLinked> {
        let recorder = RECORDER.get();
        if recorder.is_none() && plan.asks_for_anything() {
            return Err(NotLinked::RECORDER);
        }
        let recording = recorder.map(|recorder| recorder.recording(plan));
        Ok(Trace { recording, has_begun: AtomicBool::new(false), looks_outside: AtomicBool::new(false) })
    }

    /// Who records, if the program has linked that.
    pub fn recording(&self) -> Option<&dyn Recording> {
        self.recording.as_deref()
    }

    /// Who records, if anything has been recorded.
    fn begun(&self) -> Option<&dyn Recording> {
        self.recording().filter(|_| self.has_begun())
    }

    /// Whether anything has been recorded.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Something is recorded from now on. True the first time.
    pub fn note_begin(&self) -> bool {
        !self.has_begun.swap(true, Ordering::Relaxed)
    }

    /// Whether [`note_outside`](Self::note_outside) is to be called.
    #[inline]
    pub(crate) fn looks_outside(&self) -> bool {
        self.looks_outside.load(Ordering::Relaxed)
    }

    /// Has it recorded what OS threads do that are no workers, or no more.
    pub fn look_outside(&self, on: bool) {
        self.looks_outside.store(on, Ordering::Relaxed);
    }

    pub(crate) fn begin(&self, shared: &Arc<Shared>, bind: impl Fn(usize) + Sync) {
        self.recording().into_iter().for_each(|recording| recording.begin(shared, &bind));
    }

    /// See [`Recording::set_level`]. Without a recorder nothing can be recorded, which is said.
    pub fn set_level(&self, shared: &Shared, level: Level) {
        match self.recording() {
            Some(recording) => recording.set_level(shared, level),
            None if level != Level::Off => crate::message::say(&format!("raddle: {}\n", NotLinked::RECORDER)),
            None => {}
        }
    }

    /// See [`Recording::dump`].
    ///
    /// # Errors
    /// As there, and without a recorder.
    pub fn dump(&self, shared: &Shared, path: &Path) -> io::Result<()> {
        let recording = self.recording().ok_or_else(|| io::Error::other(NotLinked::RECORDER))?;
        recording.dump(shared, path)
    }

    /// The caller, who still holds it, has made this process outside.
    pub(crate) fn note_birth(&self, block: &Block) {
        if let Some(recording) = self.begun() {
            // SAFETY: its maker calls, who still holds it.
            let name = unsafe { block.name() };
            recording.note_birth(block.id.get() as u32, name, block.site.get());
        }
    }

    pub(crate) fn note_outside(&self, event: Event, thread: u32, worker: u8) {
        self.begun().into_iter().for_each(|recording| recording.note_outside(event, thread, worker));
    }

    pub(crate) fn number_of_site(&self, name: String) -> u32 {
        self.recording().map_or(0, |recording| recording.number_of_site(name))
    }

    pub(crate) fn note_failure(&self) {
        self.begun().into_iter().for_each(|recording| recording.note_failure());
    }

    /// See [`Recording::finish`].
    pub fn finish(&self, shared: &Shared, have_ended: bool) {
        self.begun().into_iter().for_each(|recording| recording.finish(shared, have_ended));
    }
}

impl Shared {
    /// What of it is recorded.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What it works by.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// How many of its workers sleep.
    pub fn sleepers(&self) -> usize {
        self.idle.sleepers()
    }

    /// The language of its programs, if that is not Rust.
    pub fn language(&self) -> Option<&'static str> {
        self.hooks.door
    }
}

impl Worker {
    /// Where it records.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// How many runnables wait here, and the nanoseconds that they will take, as it has last published.
    pub fn backlog(&self) -> (usize, u64) {
        let published = &self.published;
        (published.ready.load(Ordering::Relaxed), published.backlog_ns.load(Ordering::Relaxed))
    }

    /// All that is always counted of it, by name.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let always = self.always();
        let entries = Stats::entries(&always.stats).map(|(name, value)| (name.to_owned(), value));
        entries.chain(always.beside()).collect()
    }
}
