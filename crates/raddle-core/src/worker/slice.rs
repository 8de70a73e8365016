//! Owns: when a time slice is over, how a loop that never waits notices, and how long who waits may spin in it.
//! May use: `block::control`, `block::current`, `policy`, `raddle-context`, `raddle-protocol`.
//! Never: a switch but of who asks for it: who runs gives way by itself.
//!
//! # Loops that never wait
//!
//! `while sender.send(1).is_ok() {}` on an unbounded channel, `while receiver.try_recv().is_err() {}`: nothing in them
//! waits, and so nobody else would run on their worker, nor would an alarm ring there. So each such operation
//! [counts](count), down a word in the storage of who runs. By the time that this is used up, after at most 256
//! operations, they look at the clock; and if the slice has lasted a tick, and somebody waits, they give way.
//!
//! What else was considered:
//!
//! - *A word that says "give way", which somebody else sets.* It costs nothing, since the operations test such a word
//!   already. But while the only worker never gives way there is nobody to set it, but an OS thread that wakes a
//!   hundred times a second. Go has one (`sysmon`); here nobody may depend on one.
//! - *The worker's budget of dispatches.* Seven instructions: who runs, whether that is on a worker, which. And it is
//!   as small as 2 where slices are long, so that each operation would look at the clock.
//! - *A `thread_local!`.* A call of `__tls_get_addr`, or six instructions: no option of stable rustc gives better ones.
//! - *The processor's clock, each time.* 7 to 20 ns, more than a lock.
//! - *A signal.* It interrupts whatever runs, also where light processes share storage: see `door::tick`.
//! - *So many units a turn*, as Erlang's reductions and tokio's `coop`. The same instructions; but whoever has used
//!   them up gives way after a microsecond, and though nobody waits.
//!
//! *What it costs while nobody waits*: three instructions, of which the first loads a constant, and one in 256 times a
//! look at the clock. Before and after, instructions and ns of an operation, profile `user`: `Mutex::lock` with its
//! unlock 44 and 49, 4.74 and 5.00; `try_lock` 58 and 62, 5.1 and 4.9; `RwLock::read` 49 and 53, 5.2 and 5.4;
//! `Receiver::try_recv` in vain 32 and 36, 6.9 and 7.3; a send and a receive 206 and 216, 11.9 and 11.9.
//!
//! *How often the clock is read.* About once in `LOOK_NS`, by how long the operations before took: at each operation
//! where these are rare. So a slice is longer than a tick by little, whatever else the loop does.
//!
//! *Who does not give way.* An OS thread, for which the kernel sees to that. A task, which has no stack to leave. A
//! light process that unwinds, since panics are counted for the OS thread. A job that holds its OS thread, as in Rayon.
//! Who follows a seed does so at the points where the seed chooses: there operations are counted, and no clock is read
//! (`seeded`).

use super::{Here, LocalWorker, current_header};
use crate::block::Block;
use crate::policy::QUANTUM_NS;
use raddle_context::current::{COUNT_MAX, count_down, count_given, set_count};
use raddle_protocol::header::{Header, Kind, OWN_TLS};

/// Nobody spins for longer at one time, ns: alarms, and whoever sends to this worker, wait so long at most.
pub(crate) const SPIN_MAX_NS: u64 = 1_000_000;

/// About so often the operations of a loop look at the clock.
const LOOK_NS: u64 = QUANTUM_NS;

/// An operation that does not wait counts against the slice of whoever runs. If that is over, others have a turn
/// before this returns: the caller holds nothing of ours, and no [proof](Here) of where it runs.
#[inline(always)]
pub fn count() {
    if count_down() {
        look_up();
    }
}

/// As [`count`], for a caller that cannot give way just now: it calls `count` once more, as soon as it can, if this is
/// true.
#[inline(always)]
pub fn is_used_up() -> bool {
    count_down()
}

/// The count is used up: sets it anew, and gives way if it is time.
#[cold]
#[inline(never)]
fn look_up() {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() };
    let may_leave = |running: &&Header| running.is_process_on_worker() && !running.holds_thread();
    let Some(running) = running.filter(may_leave) else {
        return set_count(COUNT_MAX);
    };
    // SAFETY: it runs on its worker, and leaves its stack by giving the proof away.
    let worker = unsafe { Here::of(running) };
    if worker.is_over_by_count() && (running.is(OWN_TLS) || !std::thread::panicking()) {
        // SAFETY: only processes are said to be so.
        let block = unsafe { Block::of_header(header) };
        // SAFETY: it is what runs here.
        unsafe { worker.yield_slice(block) };
    }
}

/// The caller is in a loop in which nothing has come for a while, though nothing in it waits: others have a turn, if
/// there are any, whatever is left of the slice.
#[cold]
#[inline(never)]
pub fn give_way() {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() };
    let may_leave = |running: &&Header| running.is_process_on_worker() && !running.holds_thread();
    let Some(running) = running.filter(may_leave) else { return };
    // SAFETY: it runs on its worker, and leaves its stack by giving the proof away.
    let worker = unsafe { Here::of(running) };
    let may_switch = running.is(OWN_TLS) || !std::thread::panicking();
    if worker.seeded().is_none() && !worker.is_left_alone() && may_switch {
        // SAFETY: only processes are said to be so.
        let block = unsafe { Block::of_header(header) };
        // SAFETY: it is what runs here.
        unsafe { worker.yield_slice(block) };
    }
}

/// As [`count`], for a future that is ready at once; true if it is to be pending, and polled again, so that others run.
/// If it is a process that polls, others run before this returns.
pub fn count_in_task() -> bool {
    if !count_down() {
        return false;
    }
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() };
    let Some(home) = running.filter(|running| running.kind == Kind::Worker) else {
        look_up();
        return false;
    };
    // SAFETY: it is the worker's own header, and nothing here leaves the stack.
    let worker = unsafe { Here::of(home) };
    let is_over = worker.is_over_by_count() || worker.seeded().is_some();
    if is_over {
        worker.cut_budget();
    }
    is_over
}

/// Runs on the next context: a thread that has given way is saved.
///
/// # Safety
/// `block` points to the block that has just left its stack.
unsafe fn queue_behind(block: *mut ()) {
    // SAFETY: blocks are never freed.
    let block = unsafe { &*block.cast::<Block>() };
    // SAFETY: it left its stack on this very worker.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: it ran, so the right to queue it was its own, and is ours now.
    worker.turns().batch.push(unsafe { block.as_runnable() });
}

impl LocalWorker {
    /// Whether what runs here has had a tick to itself, as far as the last boundary tells, and keeps others, or an
    /// alarm, or a poller, from running.
    pub(crate) fn is_slice_over(&self) -> bool {
        self.is_over_by(|| self.shared().clock.now_ns())
    }

    fn is_over_by(&self, now: impl FnOnce() -> u64) -> bool {
        let shared = self.shared();
        // What lies in the window goes on here if nobody takes it.
        let here = !self.is_left_alone() || self.jobs.waiting() > 0 || self.window.filled() > 0;
        let others = here || shared.has_shared(self.index);
        if !others && self.timers().next_ns().is_none() && !shared.pollers.outstanding.any() {
            return false;
        }
        let now = now();
        let is_wanted = others || self.timers().is_due(now) || shared.pollers.outstanding.any();
        is_wanted && now.saturating_sub(self.boundary_ns.get()) >= shared.slice_ns()
    }

    /// The count of whoever runs is used up. Sets it anew, by how long the operations took that were counted, and says
    /// whether the slice is over.
    fn is_over_by_count(&self) -> bool {
        if self.seeded().is_some() {
            set_count(COUNT_MAX);
            return false;
        }
        let now = self.shared().clock.now_ns();
        self.note_operations(count_given());
        // Another's, if that has looked since: then it seems less, and the next look comes later, after 256 at most.
        let passed = now.saturating_sub(self.own().looked_ns.replace(now));
        let each = passed / u64::from(count_given());
        let fit = LOOK_NS.checked_div(each).unwrap_or(LOOK_NS).clamp(1, u64::from(COUNT_MAX));
        set_count(fit as u32);
        self.is_over_by(|| now)
    }

    /// What runs has nothing to do until `what` is true, which another worker brings about soon: spins until then, for
    /// so long, as long as nothing else is to be done here. False if it has not come.
    pub(crate) fn spin_for(&self, budget_ns: u64, what: impl Fn() -> bool) -> bool {
        if budget_ns == 0 || self.seeded().is_some() || !self.has_time_to_look_out() {
            return false;
        }
        let shared = self.shared();
        let until = shared.clock.now_ns().saturating_add(budget_ns.min(SPIN_MAX_NS));
        loop {
            if self.look_out(&what) {
                return true;
            }
            let now = shared.clock.now_ns();
            if now >= until || !self.is_left_alone() || self.timers().is_due(now) || shared.is_stopping() {
                return false;
            }
        }
    }
}

impl Here<'_> {
    /// What runs goes to the end of the batch, and the worker passes a boundary.
    ///
    /// A thread, too: among the ready ones it would join the batch at that boundary again, before all others.
    ///
    /// # Safety
    /// `block` is what runs on this OS thread.
    pub(crate) unsafe fn yield_slice(self, block: &'static Block) {
        self.cut_budget();
        if block.header.is(OWN_TLS) {
            // SAFETY: passed on to the caller; blocks are never freed.
            unsafe { self.leave_after(block, queue_behind, std::ptr::from_ref(block).cast_mut().cast()) };
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.yield_process(block) };
        }
    }
}
