//! Owns: `Process`, by which anybody can unpark one, and `JoinHandle`, by which one can wait for its end.
//! May use: `block`, `describe::held`, `orphan`, `wait::child`, `wait::park`, `worker`, `raddle-context`,
//! `raddle-protocol`.
//! Never: a process's stack.

use crate::block::Block;
use crate::block::pool;
use crate::describe::Held;
use crate::orphan;
use crate::wait::{child, park};
use crate::worker::choice::{self, point, point_at, settle};
use crate::worker::{self, Here, current_header, rooms};
use raddle_context::tls::TlsBlock;
use raddle_protocol::header::{AS_IS, FOREIGN, Header, Kind, OWN_TLS};
use raddle_protocol::protocol::token::{Generation, Notified};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::thread::Result;
use std::time::{Duration, Instant};

/// A number that no other process of this program has, had, or will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(u64);

impl ProcessId {
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A handle to a process: its name, its number, and [`unpark`](Process::unpark). Cheap to clone; may outlive it.
#[derive(Clone)]
pub struct Process {
    block: &'static Block,
    life: Generation,
    id: ProcessId,
    name: Option<Arc<str>>,
}

impl Process {
    /// By which its process is known while it lives.
    pub(crate) fn address(&self) -> *const () {
        self.block.as_header().cast_const().cast()
    }

    /// What it waits for, in words. For the tests of those words.
    ///
    /// # Safety
    /// It does not run meanwhile, or is the caller, on its worker.
    #[doc(hidden)]
    pub unsafe fn waits_for(&self) -> Option<String> {
        let wait = if current_header() == self.block.as_header() {
            // SAFETY: it is the caller.
            unsafe { self.block.shows() }
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.block.waits_for() }
        };
        wait.map(|wait| wait.to_string())
    }

    /// # Safety
    /// The process is alive: the caller is it, or holds its join handle.
    pub(crate) unsafe fn of(block: &'static Block) -> Process {
        // SAFETY: passed on to the caller.
        let name = unsafe { block.name() }.cloned();
        Process { block, life: block.token.generation(), id: ProcessId(block.id.get()), name }
    }

    /// Ends the process's current or next [`park`](crate::process::park). Does nothing if it has ended.
    ///
    /// May be called from anywhere: a process, a task, an OS thread.
    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        point("unpark");
        if self.block.token.notify(self.life) == Notified::Wake {
            // SAFETY: the token says that it waits and that this call ended the wait, so the right to queue it is here.
            unsafe { worker::wake(self.block.as_header()) };
            settle("unpark");
        }
    }

    /// The name it was given by [`Builder::name`](crate::spawn::Builder::name).
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its number.
    pub fn id(&self) -> ProcessId {
        self.id
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("id", &self.id.0).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The process that calls. `None` on an OS thread and in a task.
///
/// ```
/// use raddle::csp;
/// let named = csp::Builder::new().name("weaver").spawn(|| csp::current().unwrap().name().map(String::from));
/// assert_eq!(named?.join().unwrap().as_deref(), Some("weaver"));
/// assert!(csp::current().is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn current() -> Option<Process> {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() }?;
    if running.kind != Kind::Process {
        return None;
    }
    // SAFETY: the kind says that it is a block.
    let block = unsafe { Block::of_header(header) };
    // SAFETY: it is the caller.
    Some(unsafe { Process::of(block) })
}

/// Whether a handle, or its end, holds the block. Shared by the plain and the scoped handle.
pub struct Joiner<T> {
    block: &'static Block,
    result: PhantomData<T>,
}

// SAFETY: the handle gives access to the result, once, and to the token.
unsafe impl<T: Send> Send for Joiner<T> {}
// SAFETY: a shared handle gives access to the token and to `is_finished` only.
unsafe impl<T> Sync for Joiner<T> {}

/// Whether the storage of the one who runs is one that `fresh` could have found.
fn storage_serves(runs: &Header, fresh: &Header) -> bool {
    match fresh.flags.get() & (OWN_TLS | AS_IS) {
        OWN_TLS => false,
        flags => flags & OWN_TLS == 0 || runs.is(OWN_TLS),
    }
}

impl<T> Joiner<T> {
    /// # Safety
    /// `block` was spawned with result `T`, and this is its one handle.
    pub(crate) unsafe fn new(block: &'static Block) -> Self {
        Joiner { block, result: PhantomData }
    }

    /// The block, which is to be made a handle again.
    pub(crate) fn into_block(self) -> &'static Block {
        let block = self.block;
        std::mem::forget(self);
        block
    }

    /// What `pthread_self` gives in a thread of C; 0 if it is none.
    pub(crate) fn pthread(&self) -> usize {
        let is_foreign = self.block.header.flags_now() & FOREIGN != 0;
        // SAFETY: a thread of C has its storage from its spawn until this handle is gone.
        is_foreign
            .then(|| unsafe { &*self.block.storage.get() })
            .and_then(Option::as_ref)
            .map_or(0, TlsBlock::pthread)
    }

    pub fn process(&self) -> Process {
        // SAFETY: this is the join handle.
        unsafe { Process::of(self.block) }
    }

    /// Whether it has ended. A no counts against the caller's slice, since it may ask until it is a yes.
    #[inline]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        choice::counted_look("is_finished", || self.has_ended())
    }

    /// As [`is_finished`](Self::is_finished), for an adaptor, which sees to slices by itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.block.join.is_done()
    }

    /// Waits for the end, which no cancellation of the caller comes before: the process may borrow from it.
    #[inline]
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.join_at(Location::caller())
    }

    /// As [`join`](Self::join), called at `site` in the program.
    #[inline]
    pub fn join_at(self, site: &'static Location<'static>) -> Result<T> {
        point_at("join", site);
        if !self.block.join.is_done() {
            child::wait_for_child(self.block, site);
        }
        self.take()
    }

    /// As [`join`](Self::join), for a handle, and with it a process, that nobody but the caller has seen: if nobody has
    /// started it yet, the caller may run it as a call, on its own stack and under its own name.
    ///
    /// PERF: neither a stack nor a switch nor a word that two agree over; bench `commstime_par`.
    #[inline]
    #[track_caller]
    pub fn join_or_run(self) -> Result<T> {
        if let Some(caller) = park::caller_outside_regions()
            && !self.block.join.is_done()
            // Of a thread the storage is its own; a process finds one as it is, as well the caller's, if that is no
            // worker's.
            && storage_serves(&caller.header, &self.block.header)
            && park::has_room_for_a_call(caller, self.block)
            // SAFETY: `caller` is what runs here; the proof is gone at once.
            && unsafe { Here::of(&caller.header) }.take_back(caller, self.block)
        {
            return self.run_here(caller);
        }
        self.join()
    }

    /// Runs what was taken back. No report tells of a process that has not begun, meanwhile.
    fn run_here(self, caller: &'static Block) -> Result<T> {
        self.block.leave_life();
        // SAFETY: the closure is there, since it has not been started, and the right to start it was the caller's.
        unsafe { (self.block.body.get().run)(self.block) };
        if orphan::is_orphan() {
            // Forked, by the branch: in the child nothing comes behind it, as behind a process.
            // SAFETY: the result is there, and nobody will ask for it.
            orphan::end_of_orphan(unsafe { (self.block.body.get().has_panicked)(self.block) });
        }
        // SAFETY: it runs, and its header says on which worker by now; the proof is gone at once.
        unsafe { Here::of(&caller.header) }.count_exit();
        self.take()
    }

    /// Waits for the end, or until the caller is cancelled.
    #[inline]
    #[track_caller]
    pub fn join_or_unwind(self) -> Result<T> {
        point("join");
        if !self.block.join.is_done() {
            child::wait_for_child_loosely(self.block, None);
        }
        self.take()
    }

    /// As [`join_or_unwind`](Self::join_or_unwind), until `deadline`, after which the joiner comes back.
    #[track_caller]
    pub fn join_until(self, deadline: Option<Instant>) -> std::result::Result<Result<T>, Self> {
        point("join");
        if self.block.join.is_done() || child::wait_for_child_loosely(self.block, deadline) {
            return Ok(self.take());
        }
        Err(self)
    }

    /// The result, after the end.
    #[inline]
    fn take(self) -> Result<T> {
        let block = self.block;
        std::mem::forget(self);
        // SAFETY: the end has come, and the result is the handle's.
        let result = unsafe { rooms::empty::<Result<T>>(&block.payload) };
        free(block);
        result
    }
}

impl<T> Drop for Joiner<T> {
    fn drop(&mut self) {
        if self.block.join.detach() {
            // SAFETY: the end has come, so the scope is there (it waits for its handles' lifetime) or null.
            let scope = unsafe { self.block.scope() };
            // SAFETY: the end has come first: the result is ours to drop.
            let panicked = unsafe { (self.block.body.get().drop_result)(self.block) };
            match (panicked, scope) {
                (true, Some(scope)) => scope.note_panic(),
                (true, None) => choice::unseen_panic(),
                _ => {}
            }
            free(self.block);
        }
    }
}

/// Gives a block back whose life is over, from wherever we are.
fn free(block: &'static Block) {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match unsafe { Here::current() } {
        Some(worker) => worker.free_block(block),
        None => pool::give_to_depot(block),
    }
}

/// The right to wait for a process's end and to have its result. Dropping it detaches the process.
pub struct JoinHandle<T>(pub(crate) Joiner<T>);

impl<T> JoinHandle<T> {
    /// Waits for the end. A process waits without holding its worker; an OS thread blocks.
    ///
    /// # Errors
    /// The payload of the process's panic, as [`std::thread::JoinHandle::join`].
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[inline]
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join_or_unwind()
    }

    /// As [`join`](Self::join), and gives up when `timeout` has passed.
    ///
    /// # Errors
    /// The handle, if the process has not ended by then; else as `join`.
    ///
    /// # Panics
    /// As `join`.
    ///
    /// ```
    /// use raddle::csp;
    /// use std::time::Duration;
    /// let waits = csp::spawn(|| csp::park());
    /// let waits = waits.join_timeout(Duration::from_millis(1)).expect_err("it waits");
    /// waits.process().unpark();
    /// waits.join().unwrap();
    /// ```
    #[track_caller]
    pub fn join_timeout(self, timeout: Duration) -> std::result::Result<Result<T>, JoinHandle<T>> {
        self.0.join_until(choice::now().checked_add(timeout)).map_err(JoinHandle)
    }

    /// Whether the process has ended, so that [`join`](Self::join) would not wait.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The process, to unpark it or to ask for its name.
    pub fn process(&self) -> Process {
        self.0.process()
    }

    /// Waits for the end until `deadline`, if there is one, or until the caller is cancelled, and keeps the handle:
    /// false if the deadline passed first.
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn wait_until(&self, deadline: Option<Instant>) -> bool {
        point("join");
        self.0.has_ended() || child::wait_for_child_loosely(self.0.block, deadline)
    }

    /// The handle as a word that C can keep: no memory of its own.
    #[doc(hidden)]
    #[inline]
    pub fn into_raw(self) -> *mut () {
        std::ptr::from_ref(self.0.into_block()).cast_mut().cast()
    }

    /// The handle again.
    ///
    /// # Safety
    /// The word came from [`into_raw`](Self::into_raw) of a handle for the same `T`, and one handle at a time is used
    /// or dropped.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn from_raw(word: *mut ()) -> Self {
        // SAFETY: the caller's word is the address of a block, and blocks are never freed.
        let block = unsafe { &*word.cast::<Block>() };
        // SAFETY: and stands for its one handle.
        JoinHandle(unsafe { Joiner::new(block) })
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("process", &self.process()).finish_non_exhaustive()
    }
}

impl Held {
    /// Whether this process holds it. True of one that came after it in the same control block, too.
    pub fn by(&self, process: &Process) -> bool {
        process.address() == self.who()
    }
}
