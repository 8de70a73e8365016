//! Owns: `future` and `Future`: a value that is computed at the latest when it is asked for.
//! May use: `job::flow`, `job::slab`, `process::wait`.
//! Never: a future run on the stack of another flow than the one that made it and now asks for it.

use super::flow::{self, Flow};
use super::slab::Slot;
use crate::header::Header;
use crate::process::wait;
use crate::protocol::jobs::{How, Node, Reclaimed};
use crate::protocol::join::{Finished, JoinWord, Registered};
use crate::worker::{self, Worker};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::Result;

/// A value that is being computed, or will be when it is asked for; see [`future`].
///
/// Dropping it does not stop the computation: it runs when a worker is idle, or when its maker waits or ends.
pub struct Future<T> {
    node: *mut Node,
    value: PhantomData<T>,
}

// SAFETY: the handle is the right to the value, and to nothing else.
unsafe impl<T: Send> Send for Future<T> {}
// SAFETY: a shared handle only looks at the join word.
unsafe impl<T> Sync for Future<T> {}

/// Promises the value of `f`, which an idle worker may compute meanwhile; nothing is started for it.
///
/// If nobody has taken it, [`get`](Future::get) calls `f` like a function; so a million futures cost a few nanoseconds
/// each. It also becomes everybody's when its maker waits, or ends. What was taken runs as a light process.
///
/// # Panics
/// On an OS thread, if the default runtime cannot be started.
///
/// ```
/// let squares: Vec<_> = (0..100_u64).map(|n| raddle_core::future(move || n * n)).collect();
/// assert_eq!(squares.into_iter().map(|square| square.get()).sum::<u64>(), 328_350);
/// ```
#[inline]
pub fn future<F, T>(f: F) -> Future<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Flow::current() {
        Some(flow) => make(Some(flow), f),
        None => make_without_list(f),
    }
}

#[cold]
#[inline(never)]
fn make_without_list<F: FnOnce() -> T, T>(f: F) -> Future<T> {
    make(flow::with_own_list(), f)
}

#[inline(always)]
fn make<F: FnOnce() -> T, T>(flow: Option<Flow<'_>>, f: F) -> Future<T> {
    let (worker, home) = match flow {
        Some(flow) => (Some(flow.worker()), flow.home()),
        None => (Worker::current(), std::ptr::null()),
    };
    let node = Slot::make(worker, home, act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(node) };
    // SAFETY: as above; the slot stays until the future has been run and its handle is gone.
    unsafe { flow::place(flow, node) };
    Future { node, value: PhantomData }
}

/// # Safety
/// `node` begins a slot of a future made of an `F`, and `how` is as the lists promise.
unsafe fn act<F: FnOnce() -> T, T>(node: *mut Node, how: How) {
    match how {
        How::Promote => {}
        How::Here(out) => {
            // SAFETY: the closure has not run, and is the caller's.
            let f = unsafe { Slot::take::<F>(node) };
            // SAFETY: the caller has room for a `T`.
            unsafe { out.cast::<T>().write(f()) };
        }
        // SAFETY: passed on to the caller.
        How::Taken => unsafe { run_taken::<F, T>(node) },
    }
}

/// Out of line, so that a call here saves no registers for it.
///
/// # Safety
/// As [`act`]: it has been taken.
#[cold]
#[inline(never)]
unsafe fn run_taken<F: FnOnce() -> T, T>(node: *mut Node) {
    // SAFETY: the closure has not run, and is the taker's.
    let f = unsafe { Slot::take::<F>(node) };
    let result: Result<T> = catch_unwind(AssertUnwindSafe(f));
    // SAFETY: the room is empty, and nobody else looks before the end is published.
    unsafe { Slot::put(node, result) };
    // SAFETY: the slot is in use until the second of taker and handle has let it go.
    match unsafe { &(*node).join }.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: it registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { worker::wake(joiner) },
        // SAFETY: the handle is gone.
        Finished::Free => drop(unsafe { take_result::<T>(node) }),
    }
}

/// # Safety
/// `node` begins the slot of a future that was taken and has ended; this is the last look at it.
unsafe fn take_result<T>(node: *mut Node) -> Result<T> {
    // SAFETY: passed on to the caller.
    let result = unsafe { Slot::take::<Result<T>>(node) };
    // SAFETY: as above.
    unsafe { Slot::free(Worker::current(), node) };
    result
}

impl<T> Future<T> {
    /// The value: computed here if nobody has taken the future, else waited for. A process that waits leaves its
    /// worker.
    ///
    /// # Panics
    /// As the closure; and inside a cell, which must not wait, if there is something to wait for.
    #[inline]
    pub fn get(self) -> T {
        let node = self.node;
        std::mem::forget(self);
        if let Some(flow) = Flow::current() {
            // SAFETY: the slot is in use: the handle was ours.
            let is_ours = unsafe { Slot::home(node) } == flow.home();
            // SAFETY: as above; what is ours is in our list, or was promoted by us.
            if is_ours && unsafe { &*node }.is_private() {
                // SAFETY: private and ours: in our list.
                unsafe { flow.forks().unlink(node) };
                // SAFETY: just reclaimed.
                return unsafe { Self::run_here(flow, node) };
            }
        }
        // SAFETY: the handle was ours.
        unsafe { Self::get_elsewhere(node) }
    }

    /// # Safety
    /// The calling flow has made the future and has it back; the handle is used up.
    #[inline(always)]
    unsafe fn run_here(flow: Flow<'_>, node: *mut Node) -> T {
        struct Free<'a>(Flow<'a>, *mut Node);
        impl Drop for Free<'_> {
            fn drop(&mut self) {
                // SAFETY: run, or unwinding out of its closure; the handle is used up, and the slot is in no list.
                unsafe { Slot::free(Some(self.0.worker()), self.1) };
            }
        }
        let _free = Free(flow, node);
        let mut out = MaybeUninit::<T>::uninit();
        // SAFETY: passed on to the caller.
        unsafe { Node::run_here(node, out.as_mut_ptr().cast()) };
        // SAFETY: `run_here` has written it, or has not returned.
        unsafe { out.assume_init() }
    }

    /// It was promoted, or another flow has made it.
    ///
    /// # Safety
    /// The handle of `node` is used up by this call.
    #[cold]
    #[inline(never)]
    unsafe fn get_elsewhere(node: *mut Node) -> T {
        // SAFETY: the slot is in use until the end of this.
        if let Some(flow) = flow::at_home(unsafe { Slot::home(node) })
            // SAFETY: ours, and not private: promoted.
            && unsafe { Node::reclaim_promoted(node) } == Reclaimed::Ours
        {
            // SAFETY: as it says.
            return unsafe { Self::run_here(flow, node) };
        }
        // SAFETY: as above.
        let word: &JoinWord<Header> = unsafe { &(*node).join };
        if !word.is_done() {
            wait::wait_registered("get", |getter| word.register(getter) == Registered::Waits);
        }
        // SAFETY: it has ended, and the handle was the last to look.
        unsafe { take_result(node) }.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Whether somebody else has computed the value, so that [`get`](Self::get) neither waits nor computes.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the slot is in use while the handle lives.
        unsafe { &(*self.node).join }.is_done()
    }
}

impl<T> Drop for Future<T> {
    fn drop(&mut self) {
        // SAFETY: the slot is in use while the handle lives.
        if unsafe { &(*self.node).join }.detach() {
            // SAFETY: it has ended, and the handle is the last to look.
            drop(unsafe { take_result::<T>(self.node) });
        }
    }
}

impl<T> fmt::Debug for Future<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Future").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
