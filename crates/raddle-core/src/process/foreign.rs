//! Owns: threads of C: how one is made, what runs at the base of its stack, what it keeps until it is joined.
//! May use: `block::control`, `block::pool`, `ids`, `message`, `worker`, `raddle-context`, `raddle-protocol`.
//! Never: catching what unwinds; the record that an adaptor keeps of a thread.
//!
//! What differs from a thread of Rust's:
//!
//! | | of Rust | of C ([`FOREIGN`]) |
//! |---|---|---|
//! | storage | from its start to its end | from its spawn until it is joined or detached and over |
//! | its `pthread_t` | known to itself | known to its maker, and nobody else's until then |
//! | a panic | is its result | is not caught: an abort |
//! | forced unwinding | aborts | goes to the base, where [`leave`] ends the thread |
//! | rounding mode, exception flags | the worker's | its own, at first its maker's |
//! | stack | the runtime's | perhaps memory of the program's |
//!
//! The base of the stack is always the runtime's: on memory of the program's runs the thread's function, with the
//! destructors behind it, and nothing else. So that memory is free as soon as the thread has ended, where a stack of
//! the runtime's is given back while its last instructions run on it.
//!
//! It uses `make` to fill a block, `entry`'s table, `worker` for storages, `raddle-context` for the call.

use crate::block::{Block, Body, pool};
use crate::choice::point_at;
use crate::message;
use crate::process::entry::body_of;
use crate::process::handle::Joiner;
use crate::process::make::fill_rest;
use crate::worker::{Here, Shared, rooms};
use raddle_context::foreign::{self, Start};
use raddle_context::tls::{self, TlsBlock};
use raddle_context::{ControlWords, SizeClass};
use raddle_protocol::header::{FOREIGN, MOVABLE, OWN_TLS};
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::Location;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::thread::Result;

/// What a thread of C returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultWord(pub(crate) *mut c_void);

// SAFETY: an address; what lies there is the affair of those who pass it on.
unsafe impl Send for ResultWord {}

/// What a thread of C is to run; in its payload from its spawn to its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) start: Start,
    pub(crate) argument: *mut c_void,
    /// Memory of the program's for its stack: its lowest byte and its size; null if it has one of the runtime's.
    pub(crate) memory: (*mut u8, usize),
    pub(crate) controls: ControlWords,
}

/// Stands for a closure of no size in the payload's place: where nothing is run, nothing is to be dropped.
fn no_closure() -> ResultWord {
    ResultWord(null_mut())
}

const fn body_like<F: FnOnce() -> ResultWord>(_closure: &F) -> &'static Body {
    const { assert!(size_of::<F>() == 0, "a call would be read as a closure") };
    body_of::<F, ResultWord>()
}

static BODY: Body = Body { run, ..*body_like(&no_closure) };

/// What else is known of a thread of C.
#[derive(Debug)]
pub(crate) struct ForeignSettings {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) class: Option<SizeClass>,
    pub(crate) worker: Option<usize>,
    pub(crate) site: &'static Location<'static>,
}

/// Spawns a thread of C on a worker's runtime, by what runs there. `None` if there is no memory for its storage.
///
/// # Safety
/// `call.start` may be called with its argument on any OS thread, and its memory is nobody else's until it has ended.
pub(crate) unsafe fn spawn_here(
    worker: Here<'_>,
    set: ForeignSettings,
    call: Call,
) -> Option<Joiner<ResultWord>> {
    let storage = worker.take_early_storage()?;
    let block = worker.take_block();
    fill(block, storage, call);
    let class = set.class.unwrap_or(worker.stack_class());
    let site = set.site;
    fill_rest(block, &BODY, set.name, class, null(), site, worker.next_id());
    mark(block);
    worker.submit(block, set.worker);
    point_at("spawn", site);
    // SAFETY: just made for a result of this type; this is its one handle.
    Some(unsafe { Joiner::new(block) })
}

/// As [`spawn_here`], by whoever is no worker.
///
/// # Safety
/// As there.
pub(crate) unsafe fn spawn_outside(
    runtime: &Shared,
    set: ForeignSettings,
    call: Call,
) -> Option<Joiner<ResultWord>> {
    let storage = TlsBlock::take_from_depot()?;
    let block = pool::take_from_depot();
    fill(block, storage, call);
    let class = set.class.unwrap_or(runtime.stack_class);
    fill_rest(block, &BODY, set.name, class, null(), set.site, crate::ids::one());
    mark(block);
    runtime.inject_process(block, set.worker);
    // SAFETY: as above.
    Some(unsafe { Joiner::new(block) })
}

fn fill(block: &Block, storage: TlsBlock, call: Call) {
    let (low, bytes) = call.memory;
    if !low.is_null() {
        storage.note_memory(low, bytes);
    }
    // SAFETY: the block is in no life and ours alone.
    unsafe { rooms::fill(&block.payload, call) };
    // SAFETY: as above.
    unsafe { *block.storage.get() = Some(storage) };
}

fn mark(block: &Block) {
    block.header.flags.set(MOVABLE | OWN_TLS | FOREIGN);
    block.pins.set(0);
}

thread_local! {
    /// Of a thread of C, in its own storage: its base, while its function runs. In all others 0.
    static BASE: Cell<usize> = const { Cell::new(0) };
}

/// Whether a thread of C runs here, in its function.
pub(crate) fn is_here() -> bool {
    BASE.get() != 0
}

/// Runs the thread's function, and its destructors; leaves the result in the payload.
fn run(block: &Block) {
    // SAFETY: spawn put a `Call`, and the thread is the payload's only user while it runs.
    let call = unsafe { rooms::empty::<Call>(&block.payload) };
    block.take_up_controls(call.controls);
    let data = (&raw const call).cast_mut().cast();
    let (low, bytes) = call.memory;
    let result = if low.is_null() {
        // SAFETY: `data` is a `Call`.
        unsafe { body(data) }
    } else {
        let (mut unused, top) = (0, low.wrapping_add(bytes));
        // SAFETY: `data` is a `Call`, and whoever spawned it vouched for the memory.
        unsafe { foreign::enter(body, data, &raw mut unused, top) }
    };
    // SAFETY: it has run on this worker since its last wait.
    unsafe { Here::of(&block.header) }.controls().exchange();
    let result: Result<ResultWord> = Ok(ResultWord(result));
    // SAFETY: as above; the call has been taken.
    unsafe { rooms::fill(&block.payload, result) };
}

/// On the thread's stack, whosever memory that is.
///
/// # Safety
/// `call` points to a [`Call`], and the thread's storage is loaded.
unsafe extern "C-unwind" fn body(call: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's.
    let call = unsafe { &*call.cast::<Call>() };
    // SAFETY: whoever spawned it vouched for the call; the word is this thread's own.
    let result = unsafe { foreign::enter(call.start, call.argument, BASE.with(Cell::as_ptr), null_mut()) };
    BASE.set(0);
    // SAFETY: this thread's storage, which nothing but its destructors uses any more.
    unsafe { tls::end() };
    result
}

/// Ends the running thread of C, which then has this result. Its destructors run; frames are left as they are.
///
/// # Safety
/// As [`foreign::leave`].
pub(crate) unsafe fn leave(result: *mut c_void) -> ! {
    let base = BASE.get();
    if base == 0 {
        message::fatal("a thread is to be left that is no thread of C, or whose function is over");
    }
    // SAFETY: stored by `body`, which has not gone on; the rest is the caller's.
    unsafe { foreign::leave(base, result) }
}
