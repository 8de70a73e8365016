//! Owns: `Session`, one runtime's trace: its level, what its settings ask for, and who asked for a file.
//! May use: `outside`, `target`, `raddle-core`, `raddle-trace`.
//! Never: a lock that a worker takes for anything but a failure, or for a spawn from outside.
//!
//! It uses the workers' public half, files.

mod helper;
mod output;

use crate::outside::Outside;
use crate::session::helper::Control;
use crate::target;
use raddle_core::observe::TracePlan;
use raddle_core::orphan;
use raddle_core::os_thread::passing;
use raddle_core::runtime::Shared;
use raddle_core::worker::choice;
use raddle_core::worker::recording::Recording;
use raddle_trace::clock::Source;
use raddle_trace::{Event, Level};
use std::any::Any;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So much of each worker's ring, and of all, has its memory before the program begins: two million records.
const POPULATED_EACH: usize = 32 << 20;
const POPULATED_MAX: usize = 256 << 20;
/// But no more than comes within this time, so that a short program does not begin late.
const POPULATED_WITHIN: Duration = Duration::from_millis(40);
/// So long a failing process waits for its file.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many samples, and births outside, are kept.
pub(crate) const KEPT_MAX: usize = 1 << 20;

/// One runtime's trace.
pub(crate) struct Session {
    pub(crate) plan: TracePlan,
    pub(crate) file: Option<PathBuf>,
    control: Mutex<Control>,
    pub(crate) changed: Condvar,
    pub(crate) births: Mutex<Vec<Birth>>,
    pub(crate) outside: Outside,
    /// Places that engines have named, numbered from 1.
    sites: Mutex<Vec<String>>,
    /// The program itself has switched it.
    switched: AtomicBool,
    /// It was on from the beginning to the end.
    is_whole: AtomicBool,
    failed: AtomicBool,
    generation: u64,
}

/// A process that was made outside of the workers.
#[derive(Clone)]
pub(crate) struct Birth {
    pub(crate) number: u32,
    name: Option<Arc<str>>,
    site: &'static Location<'static>,
}

impl Birth {
    pub(crate) fn name(&self) -> String {
        self.name.as_ref().map_or_else(|| self.site.to_string(), |name| name.to_string())
    }
}

impl Session {
    pub(crate) fn new(plan: TracePlan) -> Session {
        Session {
            plan,
            file: None,
            control: Mutex::default(),
            changed: Condvar::new(),
            births: Mutex::default(),
            outside: Outside::new(),
            sites: Mutex::default(),
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

    /// That of a runtime.
    pub(crate) fn of(shared: &Shared) -> Option<&Session> {
        let recording: &dyn Any = shared.trace().recording()?;
        recording.downcast_ref()
    }

    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the rings, each in memory near its worker, by as many threads as there are workers.
    fn populate(&self, shared: &Shared, bind: &(dyn Fn(usize) + Sync)) {
        let each = (POPULATED_MAX / shared.workers().len().max(1)).min(POPULATED_EACH);
        let until = Instant::now() + POPULATED_WITHIN;
        let records = self.records();
        thread::scope(|scope| {
            for worker in shared.workers() {
                worker.tracer().make_rings(records);
                let populate = move || {
                    bind(worker.index);
                    worker.tracer().rings().inspect(|rings| rings.records.populate(each, until));
                };
                // Without a thread it is populated as records come.
                let _refused = thread::Builder::new().spawn_scoped(scope, passing(populate));
            }
        });
    }

    fn switch(&self, shared: &Shared, level: Level) {
        if level != Level::Off && shared.trace().note_begin() {
            shared.workers().iter().for_each(|worker| worker.tracer().make_rings(self.records()));
            self.start_helper(shared.hold());
        }
        if level >= Level::Sync {
            choice::turn_on();
        }
        if level != Level::Off {
            self.outside.make_ring(self.records());
        }
        shared.trace().look_outside(level != Level::Off);
        shared.workers().iter().for_each(|worker| worker.set_trace_level(level));
    }

    /// Whether all of the run is recorded, which has ended.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// How many records each ring keeps.
    fn records(&self) -> usize {
        self.plan.last_bytes / raddle_trace::Record::BYTES
    }

    /// What an engine has called the place of that number.
    pub(crate) fn site(&self, number: u32) -> String {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        (number as usize).checked_sub(1).and_then(|at| sites.get(at).cloned()).unwrap_or_default()
    }
}

impl Recording for Session {
    fn begin(&self, shared: &Arc<Shared>, bind: &(dyn Fn(usize) + Sync)) {
        if self.plan.level != Level::Off {
            self.populate(shared, bind);
            self.switch(shared, self.plan.level);
        }
    }

    fn set_level(&self, shared: &Shared, level: Level) {
        self.switched.store(true, Ordering::Relaxed);
        self.switch(shared, level);
    }

    fn dump(&self, shared: &Shared, path: &Path) -> io::Result<()> {
        if !shared.trace().has_begun() {
            return Err(io::Error::other("nothing has been recorded: set the level of the trace first"));
        }
        let mut control = self.control();
        control.seen.clock.push(Source::of_this_machine().read());
        self.dump_seen(shared, path, &mut control.seen)
    }

    fn note_birth(&self, number: u32, name: Option<&Arc<str>>, site: &'static Location<'static>) {
        let mut births = self.births.lock().unwrap_or_else(PoisonError::into_inner);
        if births.len() < KEPT_MAX {
            births.push(Birth { number, name: name.cloned(), site });
        }
    }

    fn note_outside(&self, event: Event, thread: u32, worker: u8) {
        self.outside.record(event, thread, worker);
    }

    fn number_of_site(&self, name: String) -> u32 {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.push(name);
        sites.len() as u32
    }

    fn note_failure(&self) {
        let wanted = self.file.is_some();
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

    fn finish(&self, shared: &Shared, have_ended: bool) {
        if self.generation != orphan::generation() {
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
        shared.trace().look_outside(false);
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
}
