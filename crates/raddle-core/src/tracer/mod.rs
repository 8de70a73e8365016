//! Owns: `Tracer`, one worker's records and the names of what was spawned there.
//! May use: `block::control`, `ids`, `raddle-protocol`, `raddle-syscall`, `raddle-trace`.
//! Never: a wait of the worker, but for the lock of a list of names, which only the one who writes the file takes too.
//!
//! What a thread is called is not part of the ring, where the spawns of long ago are overwritten: where it was spawned
//! stands in a smaller ring of births, and a name that it was given in a list.

mod place;

pub use place::{Mark, mark_at, site_at, text_at};
pub(crate) use place::{place_of, place_of_mark, place_of_text};

use crate::block::Block;
use crate::ids;
use raddle_protocol::call::WaitReason;
use raddle_protocol::header::{Header, Kind};
use raddle_protocol::protocol::jobs::Node;
use raddle_trace::clock::Source;
use raddle_trace::event::pack;
use raddle_trace::{Event, Record, Ring, StopReason};
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// So many names are kept for each worker; threads beyond are known by their number.
const NAMES_MAX: usize = 1 << 20;
/// The ring of births has one place for so many of the ring of records.
const RECORDS_A_BIRTH: usize = 8;
const BIRTHS_MIN: usize = 1 << 12;
/// No reason noted down.
const NONE: u32 = u32::MAX;
/// The second word of a record of a place, in a ring: the first is a place of the program's, as `place_of` counts.
pub const PLACE_OF_SITE: u32 = 0;
/// The first is the number of one that an engine has named.
pub(crate) const SITE_OF_ENGINE: u32 = 1;

/// A name that a thread was given.
pub type Named = (u32, Arc<str>);

/// Why the one that runs on a worker is about to stop. Its OS thread's alone.
pub(crate) struct StopNotes {
    /// Packed as in the record.
    stop: Cell<u32>,
    /// Where in the program, as the words of a [`Event::Site`]; zeros if that is not known.
    site: Cell<(u32, u32)>,
}

/// What one worker records.
pub struct Tracer {
    source: Source,
    rings: OnceLock<Rings>,
    names: Mutex<Vec<Named>>,
    /// The kernel's number of the worker's OS thread; 0 before it runs.
    os_thread: AtomicI32,
}

/// Where it records.
pub struct Rings {
    /// What it does.
    pub records: Ring,
    /// Where what it spawns was spawned.
    pub births: Ring,
}

/// What traces call a runnable: the number of a process, else one that it gets when it is first asked for.
///
/// Only who holds the runnable asks.
pub(crate) fn number_of(header: &Header) -> u32 {
    match header.kind {
        Kind::Process => {
            let header = std::ptr::from_ref(header).cast_mut();
            // SAFETY: the kind says that it is a block.
            unsafe { Block::of_header(header) }.id.get() as u32
        }
        Kind::OsThread | Kind::Bell | Kind::Worker => 0,
        Kind::Task | Kind::Engine => {
            if header.number.get() == 0 {
                header.number.set(ids::one() as u32);
            }
            header.number.get()
        }
    }
}

/// The number of a job: of all that are open or run at one time, no two have the same, if they lie within 64 GiB.
pub fn number_of_job(node: *const Node) -> u32 {
    (node.addr() >> 4) as u32
}

/// What the trace format calls a wait for that reason.
fn stop_reason(reason: WaitReason) -> StopReason {
    match reason {
        WaitReason::Park => StopReason::Park,
        WaitReason::Sleep => StopReason::Sleep,
        WaitReason::Join => StopReason::Join,
        WaitReason::Fork => StopReason::Fork,
        WaitReason::Blocking => StopReason::Blocking,
        WaitReason::Send => StopReason::Send,
        WaitReason::Receive => StopReason::Receive,
        WaitReason::Select => StopReason::Select,
        WaitReason::MeetToSend => StopReason::MeetToSend,
        WaitReason::MeetToReceive => StopReason::MeetToReceive,
        WaitReason::MeetOne => StopReason::MeetOne,
        WaitReason::Barrier => StopReason::Barrier,
        WaitReason::Lock => StopReason::Lock,
        WaitReason::Descriptor => StopReason::Descriptor,
        WaitReason::Wait => StopReason::Wait,
    }
}

impl StopNotes {
    pub(crate) fn new() -> StopNotes {
        StopNotes { stop: Cell::new(NONE), site: Cell::new((0, 0)) }
    }

    /// See [`LocalWorker::note_stop`](crate::worker::LocalWorker::note_stop).
    #[cold]
    pub(crate) fn note_stop(
        &self,
        reason: WaitReason,
        object: usize,
        site: Option<&'static Location<'static>>,
    ) {
        let site = site.map_or(0, place_of);
        // What waits does not lie closer together than this, most often.
        self.note_reason(stop_reason(reason), (object >> 4) as u32, (site, PLACE_OF_SITE));
    }

    /// What runs is about to stop for that reason; `site` are the words of a record of the place, of zeros if none.
    pub(crate) fn note_reason(&self, reason: StopReason, object: u32, site: (u32, u32)) {
        self.stop.set(pack(reason as u8, object));
        self.site.set(site);
    }
}

impl Tracer {
    pub(crate) fn new() -> Tracer {
        Tracer {
            source: Source::of_this_machine(),
            rings: OnceLock::new(),
            names: Mutex::default(),
            os_thread: AtomicI32::new(0),
        }
    }

    /// The worker runs here.
    pub(crate) fn begin_on_this_thread(&self) {
        self.os_thread.store(raddle_syscall::thread_number(), Ordering::Relaxed);
    }

    /// The kernel's number of its OS thread; 0 before it runs.
    pub fn os_thread(&self) -> i32 {
        self.os_thread.load(Ordering::Relaxed)
    }

    /// Makes the rings, if they are not there: for so many records.
    pub fn make_rings(&self, records: usize) {
        let births = (records / RECORDS_A_BIRTH).max(BIRTHS_MIN);
        self.rings.get_or_init(|| Rings { records: Ring::new(records), births: Ring::new(births) });
    }

    /// Where it records, once the rings are made.
    pub fn rings(&self) -> Option<&Rings> {
        self.rings.get()
    }

    /// The names from this place in the list on.
    pub fn names_from(&self, from: usize) -> Vec<Named> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(from..).unwrap_or(&[]).to_vec()
    }

    /// Writes a record. Called on the worker's OS thread.
    #[inline(always)]
    pub(crate) fn record(&self, event: Event, a: u32, b: u32) {
        if let Some(rings) = self.rings.get() {
            rings.records.push(Record::new(self.source.ticks(), event, a, b));
        }
    }

    /// The worker goes to `next`; what ran has stopped for the reason noted down, or else for `unsaid`.
    pub(crate) fn switch(&self, next: u32, notes: &StopNotes, unsaid: StopReason) {
        let noted = notes.stop.replace(NONE);
        let (site, kind) = notes.site.replace((0, 0));
        let Some(rings) = self.rings.get() else { return };
        // One reading of the clock for both.
        let ticks = self.source.ticks();
        if site != 0 {
            rings.records.push(Record::new(ticks, Event::Site, site, kind));
        }
        let stop = if noted == NONE { pack(unsaid as u8, 0) } else { noted };
        rings.records.push(Record::new(ticks, Event::Switch, next, stop));
    }

    /// A process is spawned: keeps what it is called.
    pub(crate) fn name(&self, number: u32, block: &Block) {
        if let Some(rings) = self.rings.get() {
            rings.births.push(Record::new(
                self.source.ticks(),
                Event::Spawn,
                number,
                place_of(block.site.get()),
            ));
        }
        // SAFETY: its maker calls, who still holds it.
        if let Some(name) = unsafe { block.name() } {
            self.keep_name(number, name);
        }
    }

    /// Keeps the name of a thread.
    pub(crate) fn keep_name(&self, number: u32, name: &Arc<str>) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < NAMES_MAX {
            names.push((number, name.clone()));
        }
    }
}
