//! Owns: `Link` and `Turn`, by which another crate runs things of its own on our workers.
//! May use: `block::current`, `raddle-protocol`, `raddle-trace`.
//! Never: knows what an engine's processes are.
//!
//! An engine - the machine that interprets occam - has processes of its own, without stacks: some words of state
//! each. Each begins with a [`Link`], and is queued like everything else: woken into its waker's batch, laid out for
//! thieves as surplus. When a worker takes one, it calls the engine with a [`Turn`], and the engine goes on with the
//! next of its own from the same batch ([`Turn::next`]) without coming back, as long as the batch's budget lasts.
//!
//! A link is a header and nothing more, 32 bytes: a million processes have as many. Whose it is stands where the list
//! of forks does of what can fork; while one of an engine's runs, it is the worker itself that forks for it.

mod queue;

use super::timer::{Alarm as Ring, AlarmId};
use super::{Here, LocalWorker, current_header};
use raddle_protocol::header::{Header, Kind, MOVABLE, Runnable};
use raddle_trace::StopReason;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// What a worker calls when it has taken one of the engine's.
///
/// # Safety
/// `run` treats the link as its own: nobody else has it until it is made ready again.
pub unsafe trait Engine: Sync {
    /// Runs what `link` begins.
    fn run(&self, turn: Turn<'_>, link: NonNull<Link>);

    /// What to call it in a trace. Asked once, by whoever has the link.
    fn name(&self, _link: NonNull<Link>) -> Option<Arc<str>> {
        None
    }
}

/// The place of an engine in memory, to which links point.
pub struct Handle(&'static dyn Engine);

impl Handle {
    /// # Safety
    /// The engine, and the handle that this gives, stay where they are until no worker has a link of it any more: at
    /// the latest when the runtime has ended.
    pub unsafe fn new(engine: &dyn Engine) -> Handle {
        // SAFETY: the caller vouches that it outlives every use.
        Handle(unsafe { std::mem::transmute::<&dyn Engine, &'static dyn Engine>(engine) })
    }
}

/// The first bytes of what an engine has queued.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    header: Header,
}

const _: () = assert!(size_of::<Link>() <= 4 * size_of::<u64>(), "a million of them are alive");

// SAFETY: header and pointer are touched by whoever holds the right to the link only, which passes on with it.
unsafe impl Sync for Link {}
// SAFETY: as above.
unsafe impl Send for Link {}

impl Default for Link {
    fn default() -> Link {
        Link { header: Header::new(Kind::Engine, MOVABLE) }
    }
}

impl Link {
    /// Says whose it is, before it is first made ready. Only its holder may.
    #[inline(always)]
    pub fn belongs_to(&self, handle: &Handle) {
        self.header.owner().set(std::ptr::from_ref(handle));
    }

    /// Whether it is of that engine. Asked by who has the right to the link.
    #[inline(always)]
    pub fn is_of(&self, handle: &Handle) -> bool {
        std::ptr::eq(self.header.owner().get(), handle)
    }

    /// It is of no worker any more, but still what it was in a trace: for one that was run without being queued.
    pub fn leave_worker(&self) {
        self.header.worker.set(std::ptr::null_mut());
    }

    /// It has never been anywhere: for one that begins anew.
    #[inline(always)]
    pub fn forget_worker(&self) {
        self.header.worker.set(std::ptr::null_mut());
        self.header.number.set(0);
    }
}

/// Takes the engine's part of what a worker has dequeued.
pub(crate) fn run(worker: &LocalWorker, next: Runnable) {
    let link: NonNull<Link> = NonNull::new(next.as_ptr().cast()).expect("a runnable is not null");
    // SAFETY: who made it ready vouched that it is a link, whose holder we are.
    let handle = unsafe { link.as_ref() }.header.owner::<Handle>().get();
    // SAFETY: handles live until the runtime has ended.
    unsafe { &*handle }.0.run(Turn { worker }, link);
}

/// What an engine calls what begins with this header.
///
/// # Safety
/// It is a link's, and the caller has it.
pub(crate) unsafe fn name_of(header: &Header) -> Option<Arc<str>> {
    let link: NonNull<Link> = NonNull::from(header).cast();
    // SAFETY: the caller vouches that it is a link.
    let handle = unsafe { link.as_ref() }.header.owner::<Handle>().get();
    // SAFETY: null, or a handle, which lives until the runtime has ended.
    unsafe { handle.as_ref() }?.0.name(link)
}

/// A worker, lent to an engine while it runs one of its own there.
#[derive(Clone, Copy)]
pub struct Turn<'w> {
    worker: &'w LocalWorker,
}

/// Whether the calling OS thread is free to become a worker: nothing of any runtime's runs on it, not even away from
/// its worker, in a call that may block.
pub fn is_outside() -> bool {
    current_header().is_null()
}

impl<'w> Turn<'w> {
    /// Lends the turn of whoever calls this on a worker of any runtime, out of an alarm for instance.
    ///
    /// # Safety
    /// `f` stays on this OS thread: it calls nothing that may wait.
    pub unsafe fn with_current<R>(f: impl FnOnce(Turn<'_>) -> R) -> Option<R> {
        // SAFETY: passed on to the caller.
        unsafe { Here::current() }.map(|here| f(Turn { worker: &here }))
    }

    /// Whether it is recorded what runs here: only then [`stops`](Turn::stops) means anything.
    #[inline(always)]
    pub fn is_recorded(self) -> bool {
        self.worker.traces()
    }

    /// A number by which to speak of a place in the engine's program. Asked once for each place.
    pub fn number_of_site(self, name: String) -> u32 {
        self.worker.shared().trace.number_of_site(name)
    }

    /// The running one is about to stop for that reason, at the place of that number; 0 if that is not known.
    pub fn stops(self, reason: StopReason, site: u32) {
        self.worker.note_engine_stop(reason, site);
    }

    /// Number of the worker, from 0.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.worker.index
    }

    /// Queues one that waited, or has just been made, here. True if nobody can run it before the caller asks for the
    /// [`next`](Turn::next), [lays out](Turn::lay_out), or returns.
    ///
    /// # Safety
    /// `link` begins something of an engine's, belongs to a handle, stays where it is, and the caller gives up the
    /// right to queue it.
    #[inline(always)]
    pub unsafe fn ready(self, link: NonNull<Link>) -> bool {
        // SAFETY: passed on to the caller.
        unsafe { self.worker.wake_engine(link.as_ptr().cast()) }
    }

    /// Queues here, as `handle`'s, one that begins anew: it has never been anywhere.
    ///
    /// # Safety
    /// As [`ready`](Turn::ready).
    #[inline(always)]
    pub unsafe fn begin(self, link: NonNull<Link>, handle: &Handle) {
        // SAFETY: the caller vouches that it is alive and theirs.
        let new = unsafe { link.as_ref() };
        new.belongs_to(handle);
        new.forget_worker();
        self.worker.adopt_new(&new.header);
        // SAFETY: passed on to the caller.
        unsafe { self.worker.wake_engine(link.as_ptr().cast()) };
    }

    /// Queues one that has just been made where thieves find it at once.
    ///
    /// # Safety
    /// As [`ready`](Turn::ready).
    pub unsafe fn fresh(self, link: NonNull<Link>) {
        // SAFETY: passed on to the caller.
        let runnable = unsafe { Runnable::from_raw(link.as_ptr().cast()) };
        self.worker.submit_engine(runnable.expect("it is not null"), false);
    }

    /// As [`fresh`](Turn::fresh), one that has begun already, but was never queued.
    ///
    /// # Safety
    /// As [`ready`](Turn::ready).
    pub unsafe fn come_over(self, link: NonNull<Link>) {
        // SAFETY: passed on to the caller.
        let runnable = unsafe { Runnable::from_raw(link.as_ptr().cast()) };
        self.worker.submit_engine(runnable.expect("it is not null"), true);
    }

    /// For an engine that runs its own one after the other in one turn, and queues them itself: records that this one
    /// has been made, and is `handle`'s. Only if [`is_recorded`](Turn::is_recorded).
    pub fn note_made(self, link: &Link, handle: &Handle) {
        link.belongs_to(handle);
        link.forget_worker();
        self.worker.trace_made(&link.header);
    }

    /// As [`note_made`](Turn::note_made): this one can run again.
    pub fn note_ready(self, link: &Link) {
        self.worker.count_engine_wake();
        self.worker.trace_wake(&link.header, self.worker.index);
    }

    /// As [`note_made`](Turn::note_made): this one runs now.
    pub fn note_runs(self, link: &Link) {
        self.worker.adopt_new(&link.header);
        self.worker.trace_switch_to(&link.header);
    }

    /// As [`note_made`](Turn::note_made): none of the engine's runs while this does, which may block the OS thread.
    pub fn rest<R>(self, wait: impl FnOnce() -> R) -> R {
        self.worker.trace_rest(wait)
    }

    /// How many wait here that were queued as [`fresh`](Turn::fresh), or by others as their like.
    pub fn fresh_waiting(self) -> usize {
        self.worker.fresh_waiting()
    }

    /// Whether nothing waits here, beside what runs: not what thieves have taken, either.
    pub fn is_alone(self) -> bool {
        self.worker.is_left_alone()
    }

    /// The next of this engine's own that this worker has to run, if that is what comes next.
    #[inline(always)]
    pub fn next(self, handle: &Handle) -> Option<NonNull<Link>> {
        let next: NonNull<Link> = NonNull::new(self.worker.next_engine()?.as_ptr().cast())?;
        // SAFETY: its kind says that it is a link, and it has just been dequeued: it is ours.
        if std::ptr::eq(unsafe { next.as_ref() }.header.owner::<Handle>().get(), handle) {
            return Some(next);
        }
        self.worker.put_back(next.cast());
        None
    }

    /// The workers may end: what `Runtime::stop` begins with, for who knows before the owner does that nothing is to
    /// run any more.
    pub fn stop(self) {
        self.worker.shared().stop_now();
    }

    /// No [`next`](Turn::next) is given any more before the engine has come back.
    pub fn end_batch(self) {
        self.worker.end_engine_batch();
    }

    /// Before the next is dispatched, the worker does what it does between two batches: alarms are rung, mail is read.
    pub fn cut_batch(self) {
        self.worker.cut_budget();
    }

    /// Before something that takes long on this OS thread: what waits here is laid out for whoever is idle. Nothing
    /// that was made [`ready`](Turn::ready) here need be here still.
    pub fn lay_out(self) {
        self.worker.lay_out();
    }

    /// Has `waker` called on a worker after that time.
    pub fn alarm(self, after: Duration, waker: Waker) -> Alarm {
        let id = self.worker.timers().set(self.worker.deadline(after), Ring::Waker(waker));
        Alarm { keeper: self.worker.index, id }
    }

    /// Takes an alarm back that was set on this runtime.
    pub fn cancel(self, alarm: Alarm) {
        self.worker.shared().cancel_alarm(alarm.keeper, alarm.id);
    }
}

/// Names an alarm.
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    pub(crate) keeper: usize,
    pub(crate) id: AlarmId,
}
