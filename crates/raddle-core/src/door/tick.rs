//! Owns: ticks: whether the caller's time slice is over, and yielding then.
//! May use: `wait::park`, `worker`.
//! Never: a signal; a clock read while nobody else wants to run.
//!
//! The scheduler takes nobody off a worker: a process or thread runs until it waits, or calls an operation of Raddle's
//! own when its slice is over. Code of others spins on a flag, polls a lock, computes. An adaptor lets it yield at the
//! calls that it exports and that do not wait: a try-lock, a look at a clock, an allocation.
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
//! is what this prepares and does not do: code that makes no call keeps its worker. The body comes with the adaptor for
//! POSIX threads; what it will have to keep to, so that adaptors can be written for it now:
//!
//! 1. A timer for each worker whose handler is a signal's, armed only while [`due`] would ask the clock. It takes
//!    threads with storage of their own off their worker, nobody else: what a light process or a task has in the
//!    storage of its worker's OS thread must not be seen by others.
//! 2. Not inside of the runtime, and not inside of an adaptor: their locks are held for nanoseconds, and nobody who
//!    waits for one leaves its worker. Where the instruction lies does not tell, since they call the allocator; a count
//!    in the control block does, and an adaptor has its own part in it.
//! 3. Whoever is interrupted keeps `errno`, all registers, and the mask that a handler of its own would find.
//!
//! A request that the handler only notes, and that is looked at here, was considered, and would be less than this: the
//! same calls, later by a signal, which interrupts system calls that nobody restarts.

use crate::wait::park::{self, Caller, caller};
use crate::worker::{Here, choice};

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
