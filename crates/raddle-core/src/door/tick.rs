//! Owns: ticks: whether the caller's time slice is over, and yielding then.
//! May use: `block::current`, `observe::interruption`, `wait::park`, `worker::choice`, `worker::here`,
//! `raddle-protocol`.
//! Never: a clock read while nobody else wants to run; a signal, but for an adaptor that has asked for it.
//!
//! The scheduler by itself takes nobody off a worker: a process or thread runs until it waits, or calls an operation of
//! Raddle's own when its slice is over. Code of others spins on a flag, polls a lock, computes. An adaptor lets it
//! yield at the calls that it exports and that do not wait: a try-lock, a look at a clock, an allocation.
//!
//! ```
//! use raddle_core::door::tick;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::sync::Arc;
//!
//! raddle::Runtime::builder().workers(1).build().unwrap().run(|| {
//!     let flag = Arc::new(AtomicBool::new(false));
//!     let other = flag.clone();
//!     let sets = raddle::csp::spawn(move || other.store(true, Ordering::Release));
//!     // A loop that would keep the only worker for ever.
//!     while !flag.load(Ordering::Acquire) {
//!         tick::yield_if_due();
//!     }
//!     sets.join().unwrap();
//! });
//! ```
//!
//! *When.* A time slice is over when it has lasted a tick (10 ms, `RADDLE_TICK`) and somebody waits for its worker:
//! another runnable, an alarm that is due, a poller with something outstanding. It is reckoned from the worker's last
//! boundary, at most some tens of microseconds before its own begin. By a seed each call yields, since time stands
//! still there.
//!
//! *What it costs.* While nobody waits: a dozen loads. While somebody does, a look at the clock, 20 ns.
//!
//! # A tick at any instruction
//! Code that makes no call keeps its worker, unless its adaptor has said where it may be taken off ([`Interruption`]).
//! Then whoever watches for hangs sends a signal to a worker whose slice is over, and its handler does what
//! [`yield_if_due`] does, between any two instructions of the program's:
//!
//! 1. Only while somebody waits for the worker, and only if what runs has used a processor since the last look. While
//!    that is so look after look, they come more often, up to each millisecond: who spins may spin for one who waits.
//! 2. Threads with storage of their own, nobody else: what a light process or a task has in the storage of its worker's
//!    OS thread must not be seen by others.
//! 3. Not inside of the runtime, nor of an adaptor, nor of what these call: their locks are held for nanoseconds, and
//!    who waits for one need not leave its worker. The adaptor answers for an instruction's address. It is a library of
//!    its own, which only libraries of the system stand below; so all addresses are the program's but theirs, the
//!    allocator's among them.
//! 4. Not in the midst of another signal's handler, whose mask is its OS thread's.
//! 5. Whoever is interrupted keeps `errno` and all registers; wherever it goes on, it has that worker's mask and
//!    alternate stack.
//!
//! A count in the control block, of how deep one is in the runtime, was considered: it would know more than an address
//! does, and cost each call of the adaptor's two additions. So was an extra worker (`worker::extra`) beside the one
//! that spins: then a program with more spinners than extra workers hangs, and the kernel has to divide the processors.
//!
//! A request that the handler only notes, and that is looked at here, was considered, and would be less than this: the
//! same calls, later by a signal, which interrupts system calls that nobody restarts.

pub use crate::observe::Interruption;

use crate::block::current_header;
use crate::wait::park::{self, Caller, caller};
use crate::worker::{Here, choice};
use raddle_protocol::header::OWN_TLS;

/// As [`yield_if_due`], if the caller has storage of its own: by the handler of a tick.
pub fn yield_if_interrupted() -> bool {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() };
    running.is_some_and(|running| running.is(OWN_TLS)) && yield_if_due()
}

/// Whether the caller's time slice is over. False on an OS thread of the program's, where the kernel sees to that.
///
/// A Rust future may ask as well, and let others run by `yield_now().await`.
pub fn due() -> bool {
    // SAFETY: nothing here leaves the OS thread.
    unsafe { Here::current() }.is_some_and(|worker| worker.is_slice_over())
}

/// If the caller's time slice is over, lets others run; true if it has. In a Rust future, in a poller's call and on
/// an OS thread of the program's it does nothing. No cancellation ends it, so that frames of C may stand below.
pub fn yield_if_due() -> bool {
    if !park::may_wait() {
        return false;
    }
    // SAFETY: nothing here leaves the OS thread but by giving it away.
    let Some(worker) = (unsafe { Here::current() }) else { return false };
    if !worker.follows_seed() && !worker.is_slice_over() {
        return false;
    }
    let Caller::Process(block) = caller("tick::yield_if_due") else { return false };
    if worker.follows_seed() {
        choice::yields();
        // SAFETY: it is what runs here.
        unsafe { worker.yield_process(block) };
    } else {
        // SAFETY: as above.
        unsafe { worker.yield_slice(block) };
    }
    true
}

/// Calls `f` where it is, if the caller is one whom [`blocking`](crate::blocking()) would carry away: for a call of the
/// kernel that is told not to wait, before the same one in `blocking`. None if `f` was not called, or says so.
///
/// Lets others run first if the caller's slice is over, since it may go on so for long. By a seed `f` is not called:
/// what the kernel has at hand follows none.
///
/// ```
/// use raddle_core::blocking;
/// use raddle_core::door::tick::at_once;
///
/// let read = || raddle::csp::spawn(|| at_once(|| Some(7)).unwrap_or_else(|| blocking(|| 8))).join().unwrap();
/// assert_eq!(read(), 7);
/// assert_eq!(at_once(|| Some(7)), None, "an OS thread may wait");
/// ```
pub fn at_once<T>(f: impl FnOnce() -> Option<T>) -> Option<T> {
    // SAFETY: nothing here leaves the OS thread.
    let follows_seed = || unsafe { Here::current() }.map(|worker| worker.follows_seed());
    if !park::may_wait() || follows_seed() != Some(false) {
        return None;
    }
    yield_if_due();
    f()
}
