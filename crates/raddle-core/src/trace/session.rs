//! Owns: `Session`, one runtime's trace: its level, the helper that watches it, and who asked for a file.
//! May use: the workers' public half, files.
//! Never: a lock that a worker takes for anything but a failure, or for a spawn from outside.
//!
//! The helper is an OS thread that there is only while there is a trace. Every 10 ms it notes what the workers publish
//! and for how long the kernel made each of them wait, streams if it shall, and looks whether a file was asked for. So
//! a panicking process, whose stack may be small, only asks and waits.

use super::ends;
use super::output::{Output, Seen, about};
use super::outside::Outside;
use super::target;
use super::waits::Waits;
use crate::block::Block;
use crate::message;
use crate::orphan;
use crate::os_thread::{Registration, Role};
use crate::runtime::Shared;
use crate::worker::choice;
use raddle_trace::clock::Source;
use raddle_trace::{Event, Level};
use std::fs::File;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the helper looks.
const TICK: Duration = Duration::from_millis(10);
/// Clocks are read anew after so many ticks.
const TICKS_A_READING: u64 = 100;
/// So much of each worker's ring, and of all, has its memory before the program begins: two million records.
const POPULATED_EACH: usize = 32 << 20;
const POPULATED_MAX: usize = 256 << 20;
/// But no more than comes within this time, so that a short program does not begin late.
const POPULATED_WITHIN: Duration = Duration::from_millis(40);
/// So long a failing process waits for its file.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many samples, and births outside, are kept.
const KEPT_MAX: usize = 1 << 20;

/// What the settings say of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The file at the end, if one is wanted.
    pub(crate) file: Option<PathBuf>,
    pub(crate) level: Level,
    /// What each worker keeps.
    pub(crate) last_bytes: usize,
    /// The file is written as the program runs.
    pub(crate) stream: bool,
}

/// One runtime's trace.
pub(crate) struct Session {
    plan: Plan,
    file: Option<PathBuf>,
    control: Mutex<Control>,
    changed: Condvar,
    births: Mutex<Vec<Birth>>,
    pub(super) outside: Outside,
    /// Places that engines have named, numbered from 1.
    sites: Mutex<Vec<String>>,
    on: AtomicBool,
    /// The program itself has switched it.
    switched: AtomicBool,
    /// It was on from the beginning to the end.
    is_whole: AtomicBool,
    failed: AtomicBool,
    generation: u64,
}

/// A process that was made outside of the workers.
#[derive(Clone)]
pub(super) struct Birth {
    pub(super) number: u32,
    name: Option<Arc<str>>,
    site: &'static Location<'static>,
}

impl Birth {
    pub(super) fn name(&self) -> String {
        self.name.as_ref().map_or_else(|| self.site.to_string(), |name| name.to_string())
    }
}

#[derive(Default)]
struct Control {
    helper: Option<thread::JoinHandle<()>>,
    stopping: bool,
    finished: bool,
    /// The last file is written, or cannot be.
    is_written: bool,
    /// Files asked for by failures, and written since.
    asked: u64,
    written: u64,
    /// Signals that it has seen to.
    signals: usize,
    seen: Seen,
    stream: Option<Output<File>>,
}

impl Session {
    pub(crate) fn new(plan: Plan) -> Session {
        Session {
            plan,
            file: None,
            control: Mutex::default(),
            changed: Condvar::new(),
            births: Mutex::default(),
            outside: Outside::new(),
            sites: Mutex::default(),
            on: AtomicBool::new(false),
            switched: AtomicBool::new(false),
            is_whole: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            generation: orphan::generation(),
        }
        .with_file()
    }

    fn with_file(self) -> Session {
        let file = self.plan.file.as_deref().map(target::name_of_file);
        Session { file, ..self }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins what the settings ask for. Before the workers run; `bind` has the calling thread run where a worker will.
    pub(crate) fn begin(&self, shared: &Arc<Shared>, bind: impl Fn(usize) + Sync) {
        if self.plan.level != Level::Off {
            self.populate(shared, bind);
            self.switch(shared, self.plan.level);
        }
    }

    /// Makes the rings, each in memory near its worker, by as many threads as there are workers.
    fn populate(&self, shared: &Shared, bind: impl Fn(usize) + Sync) {
        let each = (POPULATED_MAX / shared.workers().len().max(1)).min(POPULATED_EACH);
        let until = Instant::now() + POPULATED_WITHIN;
        let (bind, records) = (&bind, self.records());
        thread::scope(|scope| {
            for worker in shared.workers() {
                worker.tracer.make_rings(records);
                let populate = move || {
                    bind(worker.index);
                    worker.tracer.rings().inspect(|rings| rings.records.populate(each, until));
                };
                // Without a thread it is populated as records come.
                let _refused = thread::Builder::new().spawn_scoped(scope, populate);
            }
        });
    }

    /// Records from now on what belongs to `level`.
    pub(crate) fn set_level(&self, shared: &Shared, level: Level) {
        self.switched.store(true, Ordering::Relaxed);
        self.switch(shared, level);
    }

    fn switch(&self, shared: &Shared, level: Level) {
        if level != Level::Off && !self.on.swap(true, Ordering::Relaxed) {
            shared.workers().iter().for_each(|worker| worker.tracer.make_rings(self.records()));
            self.start_helper(shared.hold());
        }
        if level >= Level::Sync {
            choice::turn_on();
        }
        self.outside.switch(level != Level::Off, self.records());
        shared.workers().iter().for_each(|worker| worker.set_trace_level(level));
    }

    /// Whether all of the run is recorded, which has ended.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// How many records each ring keeps.
    fn records(&self) -> usize {
        self.plan.last_bytes / raddle_trace::Record::BYTES
    }

    /// Whether is recorded what OS threads do that are no workers.
    #[inline]
    pub(crate) fn looks_outside(&self) -> bool {
        self.outside.is_on()
    }

    /// An OS thread that is no worker makes a thread ready, for that worker; 255 for any.
    pub(crate) fn note_outside(&self, event: Event, thread: u32, worker: u8) {
        self.outside.record(event, thread, worker);
    }

    fn start_helper(&self, shared: Arc<Shared>) {
        ends::watch_over(&shared);
        let mut control = self.control();
        control.seen.clock.push(Source::of_this_machine().read());
        if self.plan.stream
            && let Some(path) = &self.file
        {
            let begun = File::create(path).and_then(|file| Output::begin(file, &about(&shared)));
            control.stream = begun.inspect_err(|cause| message::no_trace(path, cause)).ok();
        }
        let helper = thread::Builder::new().name("raddle-trace".to_owned());
        // Without a helper there are no samples, and a file at the end all the same.
        control.helper = helper.spawn(move || watch(&shared)).ok();
    }

    /// A process was made outside.
    pub(crate) fn note_birth(&self, block: &Block) {
        if self.on.load(Ordering::Relaxed) {
            // SAFETY: its maker calls, who still holds it.
            let name = unsafe { block.name() }.cloned();
            let mut births = self.births.lock().unwrap_or_else(PoisonError::into_inner);
            if births.len() < KEPT_MAX {
                births.push(Birth { number: block.id.get() as u32, name, site: block.site.get() });
            }
        }
    }

    /// A number for a place in an engine's program.
    pub(crate) fn number_of_site(&self, name: String) -> u32 {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.push(name);
        sites.len() as u32
    }

    /// What an engine has called the place of that number.
    pub(super) fn site(&self, number: u32) -> String {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        (number as usize).checked_sub(1).and_then(|at| sites.get(at).cloned()).unwrap_or_default()
    }

    /// Writes what there is into a file.
    pub(crate) fn dump(&self, shared: &Shared, path: &Path) -> io::Result<()> {
        if !self.on.load(Ordering::Relaxed) {
            return Err(io::Error::other("nothing has been recorded: set the level of the trace first"));
        }
        let mut control = self.control();
        control.seen.clock.push(Source::of_this_machine().read());
        self.dump_seen(shared, path, &mut control.seen)
    }

    fn dump_seen(&self, shared: &Shared, path: &Path, seen: &mut Seen) -> io::Result<()> {
        let births = self.births.lock().unwrap_or_else(PoisonError::into_inner);
        target::write_whole(path, |file| {
            let mut output = Output::begin(file, &about(shared))?;
            output.drain(shared, &births, seen)?;
            output.end(shared).map(drop)
        })
    }

    /// The program, or one of its processes, is failing: has the file written now, if there is to be one. Once.
    pub(crate) fn note_failure(&self) {
        let wanted = self.on.load(Ordering::Relaxed) && self.file.is_some();
        if !wanted || self.generation != orphan::generation() || self.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut control = self.control();
        if control.helper.is_none() {
            return;
        }
        control.asked += 1;
        self.changed.notify_all();
        let waits = |control: &mut Control| control.written < control.asked && !control.finished;
        drop(self.changed.wait_timeout_while(control, PATIENCE, waits));
    }

    /// The end of the runtime, whose workers have ended, or else of the program: ends the helper and writes the file.
    pub(crate) fn finish(&self, shared: &Shared, have_ended: bool) {
        if !self.on.load(Ordering::Relaxed) || self.generation != orphan::generation() {
            return;
        }
        let mut control = self.control();
        if std::mem::replace(&mut control.finished, true) {
            // The program may end while another thread ends the runtime: not before the file is there.
            drop(self.changed.wait_while(control, |control| !control.is_written));
            return;
        }
        control.stopping = true;
        let from_the_beginning = self.plan.level != Level::Off && !self.switched.load(Ordering::Relaxed);
        self.is_whole.store(from_the_beginning && have_ended, Ordering::Relaxed);
        // The time in which the file is written is none of the program's.
        self.outside.switch(false, 0);
        shared.workers().iter().for_each(|worker| worker.set_trace_level(Level::Off));
        control.seen.clock.push(Source::of_this_machine().read());
        self.changed.notify_all();
        let helper = control.helper.take();
        drop(control);
        if let Some(helper) = helper {
            let _panicked = helper.join();
        }
        self.write_last(shared, &mut self.control());
    }

    /// The file as it stays: by the helper, or by who ends if there is none.
    fn write_last(&self, shared: &Shared, control: &mut Control) {
        if std::mem::replace(&mut control.is_written, true) {
            return;
        }
        if control.stream.is_some() {
            self.stream(shared, control);
            let ended = control.stream.take().map(|output| output.end(shared));
            if let (Some(Err(cause)), Some(path)) = (ended, &self.file) {
                message::no_trace(path, &cause);
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
            message::no_trace(path, &cause);
        }
    }

    fn stream(&self, shared: &Shared, control: &mut Control) {
        let births = self.births.lock().unwrap_or_else(PoisonError::into_inner);
        let Control { stream, seen, .. } = control;
        if let Some(output) = stream
            && let Err(cause) = output.drain(shared, &births, seen)
        {
            *stream = None;
            self.file.iter().for_each(|path| message::no_trace(path, &cause));
        }
    }

    fn on_tick(&self, shared: &Shared, control: &mut Control, waits: &mut Waits, tick: u64) {
        if tick.is_multiple_of(TICKS_A_READING) {
            control.seen.clock.push(Source::of_this_machine().read());
        }
        if control.seen.samples.len() < KEPT_MAX {
            control.seen.samples.extend(waits.sample(shared));
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
    let session = &shared.trace;
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
