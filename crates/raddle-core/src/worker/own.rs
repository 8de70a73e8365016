//! Owns: `Turns` and `Own`, the half of a worker that only its own OS thread touches, in groups.
//! May use: `block::pool`, `ids`, `observe::seed`, `tracer`, `raddle-context`, `raddle-protocol`.
//! Never: a word for another thread, but those that say that they are made for glances.

use super::boundary::Pace;
use super::enter::After;
use super::gates::Gates;
use super::jobs::{Chunks, Slots};
use super::nested::wait::Innermost;
use super::promote::Heart;
use super::room::Rooms;
use super::search::StealState;
use super::wake_to::{First, Hunger, WakeTo};
use crate::block::pool::BlockPool;
use crate::ids::Ids;
use crate::observe::Seeded;
use crate::tracer::StopNotes;
use raddle_context::tls::TlsPool;
use raddle_context::{Context, ControlWords, CurrentSlot, StackPool};
use raddle_protocol::fifo::Fifo;
use raddle_protocol::header::{Header, Kind, Runnable};
use std::cell::{Cell, UnsafeCell};

/// Who runs on the OS thread, and who has the next turns. With the words that are everybody's, on one line.
#[repr(C)]
pub(super) struct Turns {
    /// PERF: at the worker's own address, which saves an instruction in each push; bench `yield2`.
    pub(super) batch: Fifo,
    /// The OS thread's `current` word.
    pub(super) current: Cell<CurrentSlot>,
}

/// What else only the worker's own OS thread touches. What each wait touches comes first.
#[repr(C)]
pub(super) struct Own {
    /// What the next context does for the one that has just left.
    pub(super) after: Cell<Option<After>>,
    /// What was taken out of a queue and cannot be entered from where it was: it is next.
    pub(super) handoff: Cell<Option<Runnable>>,
    /// Where who is woken goes: within a call of `LocalWorker::waking`.
    pub(super) wakes_to: Cell<WakeTo>,
    /// The batch has been found empty since the last boundary: it has no slack.
    pub(super) ran_dry: Cell<bool>,
    /// Some have begun before others that had been spawned earlier, since those were last let in.
    pub(super) out_of_turn: Cell<bool>,
    /// It has slept in the den since it was busy.
    pub(super) has_polled: Cell<bool>,
    /// In whose wait its loop runs.
    pub(super) nested: Innermost,
    /// It has heard that storage is to retire.
    pub(super) retires: Cell<bool>,
    /// The control words that a thread of C has replaced, while it runs.
    pub(super) controls: Cell<ControlWords>,
    pub(super) home: Home,
    pub(super) stores: Stores,
    pub(super) pace: Pace,
    pub(super) steal: StealState,
    pub(super) heart: Heart,
    /// When a [count](super::slice) was last used up.
    pub(super) looked_ns: Cell<u64>,
    pub(super) gates: Gates,
    pub(super) first: First,
    pub(super) hunger: Hunger,
    /// Why the running one will stop.
    pub(super) stop: StopNotes,
    /// How many operations the running one has begun since its turn began, if a seed is followed.
    pub(super) operations: Cell<u32>,
    /// What this worker goes by, if it follows a seed.
    pub(super) seeded: Option<Seeded>,
}

/// The worker's own stack, as a context among the others.
pub(super) struct Home {
    /// The OS thread's own storage.
    pub(super) storage: Cell<usize>,
    pub(super) context: UnsafeCell<Context>,
    /// The context in which its loop runs: that one, or that of a job: see `nested`.
    pub(super) place: Cell<*mut Context>,
    pub(super) header: Header,
}

/// What it has put by, to be used again.
pub(super) struct Stores {
    pub(super) stacks: UnsafeCell<StackPool>,
    pub(super) storages: UnsafeCell<TlsPool>,
    pub(super) blocks: BlockPool,
    pub(super) ids: Ids,
    pub(super) chunks: Chunks,
    pub(super) slots: Slots,
    pub(super) rooms: Box<Rooms>,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { batch: Fifo::new(), current: Cell::new(CurrentSlot::NOWHERE) }
    }
}

impl Own {
    pub(super) fn new(index: usize, stacks: StackPool, storages: TlsPool) -> Own {
        Own {
            after: Cell::new(None),
            handoff: Cell::new(None),
            wakes_to: Cell::new(WakeTo::Here),
            ran_dry: Cell::new(false),
            out_of_turn: Cell::new(false),
            has_polled: Cell::new(false),
            nested: Innermost::none(),
            retires: Cell::new(false),
            controls: Cell::new(ControlWords::here()),
            home: Home {
                storage: Cell::new(0),
                context: UnsafeCell::new(Context::empty()),
                place: Cell::new(std::ptr::null_mut()),
                header: Header::new(Kind::Worker, 0),
            },
            stores: Stores {
                stacks: UnsafeCell::new(stacks),
                storages: UnsafeCell::new(storages),
                blocks: BlockPool::new(),
                ids: Ids::new(),
                chunks: Chunks::new(),
                slots: Slots::new(),
                rooms: Rooms::new(),
            },
            pace: Pace::new(),
            steal: StealState::new(index),
            heart: Heart::new(),
            looked_ns: Cell::new(0),
            gates: Gates::new(),
            first: First::new(),
            hunger: Hunger::new(),
            stop: StopNotes::new(),
            operations: Cell::new(0),
            seeded: None,
        }
    }
}
