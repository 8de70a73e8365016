//! Owns: the way of a thread with storage of its own to a spare OS thread and back.
//! May use: `block::control`, `worker`, `raddle-context`, `raddle-protocol`.
//! Never: a light process, whose thread-locals are its worker's.
//!
//! The thread itself goes: it leaves its worker, as for any wait; the next context hands it to a spare, which enters it
//! like a worker would; it makes its call there and transfers back to the spare, which queues it again. So its function
//! sees its own thread-locals, `errno` included, and the call may keep what it likes on the stack.
//!
//! ```text
//!   worker            leave_workers ── next context: set_out ── others run ...            resumed, by whatever worker
//!   spare                                   host: transfer ─┐              ┌─ clear AWAY, wake ──┘
//!   the thread                                              └─ the call ───┘ come_back
//! ```
//!
//! While it is away its header says so, and keeps the worker that it came from: for its runtime, and to be woken to.

use super::pool;
use super::spare::BlockingCall;
use crate::block::Block;
use crate::worker::{self, Here};
use raddle_context::{Context, ControlWords, current, tls, transfer_with};
use raddle_protocol::header::{AWAY, FOREIGN};
use std::cell::{Cell, UnsafeCell};

/// A thread's way there and back; in its own frame.
pub(super) struct Trip {
    block: &'static Block,
    host: Cell<*const HostContext>,
}

/// The spare OS thread's own flow of control; in its own frame.
struct HostContext {
    context: UnsafeCell<Context>,
    storage: usize,
}

impl Trip {
    /// A trip of the thread that runs here.
    pub(super) fn new(block: &'static Block) -> Trip {
        Trip { block, host: Cell::new(std::ptr::null()) }
    }

    /// Leaves the worker. True if the caller then runs on a spare OS thread, from which it must come back; false if
    /// the system refused one, and it is still on a worker.
    #[inline(never)]
    pub(super) fn leave(&self) -> bool {
        let data = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the block is what runs here, and leaves its stack by this only.
        let worker = unsafe { Here::of(&self.block.header) };
        worker.note_stop(super::BLOCKING.call(), 0);
        // SAFETY: as above; the trip lies in the frame of one who waits.
        unsafe { worker.leave_workers(self.block, set_out, data) };
        // SAFETY: null, or in the frame of the spare, which waits for the way back.
        let host = unsafe { self.host.get().as_ref() };
        if host.is_none() {
            // SAFETY: a worker has resumed it.
            unsafe { Here::of(&self.block.header) }.arrive();
        }
        host.is_some()
    }

    /// Back to a worker.
    #[inline(never)]
    pub(super) fn come_back(&self) {
        // SAFETY: the spare waits, in its frame, for this transfer.
        let host = unsafe { &*self.host.get() };
        let own = self.block.header.is(FOREIGN).then(ControlWords::here);
        // SAFETY: the host's context was suspended by the transfer that came here, with that storage.
        unsafe { transfer_with(self.block.context.get(), host.context.get(), host.storage) };
        if let Some(own) = own {
            self.block.take_up_controls(own);
        }
        // SAFETY: a worker has resumed it.
        unsafe { Here::of(&self.block.header) }.arrive();
    }
}

/// Runs on the next context: the thread is saved, and may go on elsewhere.
///
/// # Safety
/// `trip` points to the `Trip` in the frame of the one who has just left.
unsafe fn set_out(trip: *mut ()) {
    // SAFETY: the frame is there until its owner goes on.
    let block = unsafe { &*trip.cast::<Trip>() }.block;
    // SAFETY: it left its stack on this worker, and nobody else holds it yet.
    let worker = unsafe { Here::of(&block.header) };
    let runtime = worker.shared();
    // SAFETY: the owner does not go on before `host` lets it.
    let job = unsafe { BlockingCall::borrowed(block, runtime, trip, host) };
    if pool::submit(job, runtime).is_err() {
        // SAFETY: nobody else will queue it.
        worker.push_local(unsafe { block.as_runnable() });
    }
}

/// On a spare OS thread: lets the thread run here until it transfers back, and queues it.
///
/// # Safety
/// `trip` points to the `Trip` of a thread that has left its stack, and this is the one to hold it.
unsafe fn host(trip: *mut ()) {
    let host = HostContext { context: UnsafeCell::new(Context::empty()), storage: tls::base() };
    // SAFETY: the frame is there until its owner goes on, and its owner is held by this.
    let trip = unsafe { &*trip.cast::<Trip>() };
    let block = trip.block;
    trip.host.set(&raw const host);
    let flags = &block.header.flags;
    flags.set(flags.get() | AWAY);
    // It has let go of its forks; a join of the call is an OS thread's.
    let forks = block.header.forks.replace(std::ptr::null());
    // Its own storage has a word of its own; the twin carries this one over.
    // SAFETY: it runs here next, until it transfers back.
    unsafe { current::set(block.as_header().cast()) };
    let controls = block.header.is(FOREIGN).then(ControlWords::here);
    // SAFETY: the thread is saved, and held by this; it comes back here before it goes anywhere else.
    unsafe { transfer_with(host.context.get(), block.context.get(), block.storage_base()) };
    if let Some(controls) = controls {
        controls.exchange();
    }
    // SAFETY: nothing of ours runs on a spare OS thread but such a guest.
    unsafe { current::set(std::ptr::null_mut()) };
    block.header.forks.set(forks);
    flags.set(flags.get() & !AWAY);
    // SAFETY: it has left its stack again, and only this may queue it.
    unsafe { worker::wake(block.as_header()) };
}
