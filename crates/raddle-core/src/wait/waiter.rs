//! Owns: `Waiter`: one wait of whoever runs, ended by the first to select it or by a deadline.
//! May use: `block::control`, `region`, `worker`, `raddle-protocol`.
//! Never: the queue that it stands in; that belongs to the lock or the channel.
//!
//! How it is used, with `queue` under a short lock of its own:
//!
//! ```text
//!     the one who waits                            the one who wakes
//!     let waiter = Waiter::new(LOCK.call());       queue.lock();
//!     queue.lock();                                let right = first.try_select(0);
//!     look once more; put &waiter into the queue   take it out of the queue
//!     queue.unlock();                              queue.unlock();
//!     match waiter.wait(deadline) { ... }          if let Some(right) = right { right.wake() }
//!     take &waiter out if it is still in
//! ```
//!
//! The waiter lies in the frame of the one who waits. Whoever selects looks at it under the lock that it was queued
//! under, and it leaves every queue under that lock before its frame goes: so nobody looks at a frame that is gone.
//! After the unlock only the [`WakeRight`] is used, which holds the one thing that stays: the sleeper, which cannot run
//! before it is woken.

use crate::block::{Block, EXPIRED};
use crate::region::{self, Node, Ring};
use crate::wait::external::External;
use crate::wait::park::{Caller, caller};
use crate::worker::choice::now;
use crate::worker::timer::Alarm;
use crate::worker::{self, Callback, Here, WakeTo};
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::{Header, Runnable};
use raddle_protocol::protocol::fifo::Fifo;
use raddle_protocol::protocol::selection::{Selected, Selection, WaitNumber};
use raddle_protocol::protocol::sleeper::RowSleeper;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Instant;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Somebody selected this number.
    Selected(u32),
    /// The deadline passed first. Nobody will select this wait any more.
    Expired,
}

/// One wait. See the module for who may touch it when: others than its maker [select](Waiter::try_select) it, by its
/// address, and touch the selection and, by the right to wake, the parker.
///
/// ```compile_fail,E0277
/// fn goes<T: Send>(_: T) {}
/// fn elsewhere(waiter: raddle_core::wait::Waiter) { goes(waiter) }
/// ```
///
/// ```compile_fail,E0277
/// fn goes<T: Send>(_: T) {}
/// fn elsewhere(waiter: &raddle_core::wait::Waiter) { goes(waiter) }
/// ```
pub struct Waiter {
    /// The process that waits; none for an OS thread (or a process that unwinds, and so blocks its worker).
    process: Option<&'static Block>,
    number: WaitNumber,
    /// An OS thread's own word, and its parker.
    own: Selection,
    parker: External,
    /// It is its maker who waits. Others reach it by the address that stands in a queue.
    maker: PhantomData<*mut ()>,
}

/// The right, and the duty, to queue one who waits. Empty if it had not parked.
#[derive(Debug)]
#[must_use = "whoever was selected sleeps until it is woken"]
pub struct WakeRight(Option<NonNull<Header>>);

// SAFETY: the right to wake something is a right that any thread may use.
unsafe impl Send for WakeRight {}

impl WakeRight {
    /// The right to wake one that waits by [`wait_registered`](crate::wait::park::wait_registered).
    ///
    /// # Safety
    /// The caller has just taken the one right to queue what begins with `header`, which waits.
    #[inline]
    pub unsafe fn of(header: *mut Header) -> WakeRight {
        WakeRight(NonNull::new(header))
    }

    /// Queues the one who waits, if it waits.
    #[inline]
    pub fn wake(self) {
        if let Some(header) = self.0 {
            // SAFETY: the selection said that it waits and that we ended its wait.
            unsafe { worker::wake(header.as_ptr()) };
        }
    }

    /// As [`wake`](Self::wake), and it waits behind all others, also where who is woken has the next turn.
    #[inline(never)]
    pub(super) fn wake_behind(self) {
        // SAFETY: to wake somebody is not to wait: nothing here leaves the OS thread.
        match unsafe { Here::current() } {
            Some(worker) => worker.waking(WakeTo::Here, || self.wake()),
            None => self.wake(),
        }
    }
}

impl Waiter {
    /// Opens a wait of the caller in that call, which has no other under way.
    #[inline]
    #[track_caller]
    pub fn new(call: &'static WaitCall) -> Waiter {
        let process = match caller(call.name()) {
            Caller::Process(block) => Some(block),
            Caller::Thread => None,
        };
        if let Some(block) = process {
            // SAFETY: `block` is what runs here; the proof is gone at once.
            unsafe { Here::of(&block.header) }.note_stop(call, 0);
        }
        let own = Selection::new();
        let number = process.map_or(&own, |block| &block.selection).begin();
        Waiter { process, number, own, parker: External::new(), maker: PhantomData }
    }

    #[inline]
    fn word(&self) -> &Selection {
        self.process.map_or(&self.own, |block| &block.selection)
    }

    /// Who waits: the same for all waits of one process, and never null.
    pub(crate) fn header(&self) -> *mut Header {
        self.process.map_or(self.parker.header(), Block::as_header)
    }

    /// Ends the wait with `outcome`, if nobody was first. Under the lock of the queue in which it stands; the right is
    /// used after the unlock.
    #[inline]
    pub fn try_select(&self, outcome: u32) -> Option<WakeRight> {
        match self.word().select(self.number, outcome) {
            Selected::Lost => None,
            Selected::Running => Some(WakeRight(None)),
            Selected::Parked => Some(WakeRight(NonNull::new(self.header()))),
        }
    }

    /// Whether nobody has ended the wait yet. Under the lock of a queue in which it stands; those of others may end it
    /// at any time.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.word().is_open(self.number)
    }

    /// The outcome, if it stands already.
    #[inline]
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.word().outcome().map(|o| if o == EXPIRED { Outcome::Expired } else { Outcome::Selected(o) })
    }

    /// Waits for the outcome, at most until `deadline`, or until the caller is cancelled: it has *expired* then, too,
    /// and the caller, once it has left whatever it waited in, [checks](region::check).
    pub fn wait(&self, deadline: Option<Instant>) -> Outcome {
        if let Some(outcome) = self.outcome() {
            return outcome;
        }
        // SAFETY: the caller stays in its region until this returns.
        match unsafe { region::current() } {
            None => self.wait_firmly(deadline),
            Some(node) => self.wait_in_region(node, deadline),
        }
    }

    #[cold]
    fn wait_in_region(&self, node: &Node, deadline: Option<Instant>) -> Outcome {
        let ring = match self.process {
            Some(block) => Ring::Select(block, self.number),
            // SAFETY: it is called, or taken back, under the lock of the node, before this frame goes.
            None => Ring::Call(unsafe { Callback::new(std::ptr::from_ref(self).cast(), 0, expire) }),
        };
        if node.listen(ring) {
            let outcome = self.wait_firmly(deadline);
            node.unlisten();
            return outcome;
        }
        // Cancelled already. The caller runs: there is nobody to wake.
        let _right = self.try_select(EXPIRED);
        self.outcome().expect("one was selected")
    }

    /// As [`wait`](Self::wait), and no cancellation ends it.
    pub fn wait_firmly(&self, deadline: Option<Instant>) -> Outcome {
        if let Some(outcome) = self.outcome() {
            return outcome;
        }
        match self.process {
            Some(block) => self.wait_in_process(block, deadline),
            None => self.wait_in_thread(deadline),
        }
        self.outcome().expect("a wait ends with an outcome")
    }

    fn wait_in_process(&self, block: &'static Block, deadline: Option<Instant>) {
        // SAFETY: `block` is what runs here, and leaves its stack by this only.
        let worker = unsafe { Here::of(&block.header) };
        // The alarm may ring before the caller has parked: then it does not park.
        let alarm = deadline.map(|deadline| {
            let at_ns = worker.deadline(deadline.saturating_duration_since(now()));
            (worker.public(), worker.timers().set(at_ns, Alarm::Select(block, self.number)))
        });
        // SAFETY: `block` is what runs here, and blocks are never freed.
        unsafe { worker.leave_after(block, park_saved, std::ptr::from_ref(block).cast_mut().cast()) };
        if let Some((worker, alarm)) = alarm {
            // Perhaps another worker's by now: a worker lives as long as what runs in its runtime, and the alarms have
            // a lock.
            worker.timers().cancel(alarm);
        }
    }

    fn wait_in_thread(&self, deadline: Option<Instant>) {
        if !self.own.park() || self.parker.sleep(deadline) {
            return;
        }
        if self.own.select(self.number, EXPIRED) == Selected::Lost {
            // Selected at the last moment: the wake is on its way to this frame.
            let woken = self.parker.sleep(None);
            debug_assert!(woken, "there is no deadline to pass");
        }
    }
}

impl Waiter {
    /// Closes the wait: whoever tries to select it from now on comes too late. By its owner, once.
    pub fn end(&self) {
        self.word().end();
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.end();
    }
}

/// A cancellation ends the wait.
///
/// # Safety
/// `waiter` points to a [`Waiter`] that is there.
unsafe fn expire(waiter: *const (), _number: u32) {
    // SAFETY: passed on to the caller.
    let right = unsafe { &*waiter.cast::<Waiter>() }.try_select(EXPIRED);
    right.into_iter().for_each(WakeRight::wake);
}

/// Runs on the next context: the parked one's is saved.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn park_saved(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // Whose worker this is must be read before anybody can resume it elsewhere.
    // SAFETY: it left its stack on this very worker, and nobody else holds it yet.
    let worker = unsafe { Here::of(&block.header) };
    if !block.selection.park() {
        // SAFETY: the outcome came first, so nobody else will queue it.
        worker.push_local(unsafe { block.as_runnable() });
    }
}

/// Those who were selected, linked as they will be in the queues of their workers: who has the right to queue one has
/// its link.
pub struct SelectedRow(Fifo);

impl Default for SelectedRow {
    fn default() -> SelectedRow {
        SelectedRow(Fifo::new())
    }
}

impl RowSleeper for Waiter {
    type Row = SelectedRow;

    fn line_up(row: &mut SelectedRow, right: WakeRight) {
        // SAFETY: the selection said that it waits and that we ended its wait.
        let runnable = right.0.and_then(|header| unsafe { Runnable::from_raw(header.as_ptr()) });
        runnable.into_iter().for_each(|runnable| row.0.push(runnable));
    }

    fn wake_row(row: SelectedRow) {
        while let Some(runnable) = row.0.pop() {
            // SAFETY: it was lined up with the one right to wake it.
            unsafe { WakeRight::of(runnable.as_ptr()) }.wake();
        }
    }
}
