//! Owns: how a future lies in its flow's bag, and what happens when it becomes a job.
//! May use: `protocol::bag`, `protocol::promise`, `job::slab`, `job::chunks`.
//! Never: a future run; who asks for it, or takes its job, does.
//!
//! A private future is its word and its closure, in 16 bytes, 32, or a box. Promoted, its closure moves into a slot,
//! the *record*, in which job and handle meet from then on; the word tells the handle where that is.

use super::chunks;
use super::future::act;
use super::slab::Slot;
use crate::trace::number_of_job;
use crate::worker::Worker;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::bag::{Chunk, Place};
use raddle_protocol::protocol::jobs::{Forks, Node};
use raddle_protocol::protocol::promise::Interest;
use raddle_trace::Event;
use std::ptr::null_mut;

/// What is done with a place, by its flow.
pub(super) type PlaceAct = unsafe fn(*mut Place, What);

/// What a [`PlaceAct`] is to do.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// Run it, and write what it returns here.
    Here(*mut ()),
    /// Move it into a record, and write that here.
    Promote(*mut *mut Node),
}

/// The words that a closure takes in its place.
const fn words<F>() -> usize {
    let fits = size_of::<F>() <= 3 * size_of::<usize>() && align_of::<F>() <= align_of::<usize>();
    if fits { size_of::<F>().div_ceil(size_of::<usize>()) } else { BOXED }
}

/// A pointer: a word, too.
const BOXED: usize = 4;

/// Puts a closure into a place of the running flow's bag.
#[inline(always)]
pub(super) fn put<F: FnOnce() -> T, T>(worker: &Worker, forks: &Forks, home: *const (), f: F) -> *mut Place {
    let room = if words::<F>() == BOXED { 1 } else { words::<F>() };
    let place = forks.bag.place(room, home, || worker.chunks.take());
    let act: PlaceAct = act_in_place::<F, T>;
    // SAFETY: just handed out, and ours.
    unsafe { &(*place).promise }.make(act as *mut ());
    if words::<F>() == BOXED {
        // SAFETY: as above; there is room for a word.
        unsafe { Place::room(place).cast::<*mut F>().write(Box::into_raw(Box::new(f))) };
    } else {
        // SAFETY: as above; there is room for so many words.
        unsafe { Place::room(place).cast::<F>().write(f) };
    }
    place
}

/// # Safety
/// An `F` was put at `place` and has not been taken.
#[inline(always)]
unsafe fn take<F>(place: *mut Place) -> F {
    if words::<F>() == BOXED {
        // SAFETY: passed on to the caller.
        let boxed = unsafe { Place::room(place).cast::<*mut F>().read() };
        // SAFETY: as above: it came from `Box::into_raw`.
        return *unsafe { Box::from_raw(boxed) };
    }
    // SAFETY: passed on to the caller.
    unsafe { Place::room(place).cast::<F>().read() }
}

/// # Safety
/// An `F` was put at `place`, in the running flow's bag, and has not been taken; where `what` points there is room.
unsafe fn act_in_place<F: FnOnce() -> T, T>(place: *mut Place, what: What) {
    // SAFETY: passed on to the caller.
    let f = unsafe { take::<F>(place) };
    match what {
        // SAFETY: passed on to the caller.
        What::Here(out) => unsafe { out.cast::<T>().write(f()) },
        What::Promote(out) => {
            // SAFETY: as above: it is in use.
            let record = make_record(unsafe { Chunk::home(place) }, f);
            // SAFETY: as above.
            unsafe { out.write(record) };
        }
    }
}

#[cold]
#[inline(never)]
fn make_record<F: FnOnce() -> T, T>(home: *const (), f: F) -> *mut Node {
    let record = Slot::make(Worker::current(), home, act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(record) };
    record
}

/// What is to be done with the future whose word is `act`.
///
/// # Safety
/// It came from [`put`], by way of the word.
#[inline(always)]
pub(super) unsafe fn as_act(act: *mut ()) -> PlaceAct {
    // SAFETY: passed on to the caller: it was made of a function of this type.
    unsafe { std::mem::transmute::<*mut (), PlaceAct>(act) }
}

/// Promotes the oldest future of a flow that runs on `worker`, or has just left it. False if there is none.
pub(crate) fn promote_oldest(worker: &Worker, forks: &Forks) -> bool {
    let Some((place, act)) = forks.bag.oldest::<Header>() else { return false };
    let mut record: *mut Node = null_mut();
    // SAFETY: it came from the word of a private future.
    let act = unsafe { as_act(act) };
    // SAFETY: private, and so not taken; it is in the bag of the flow that calls.
    unsafe { act(place, What::Promote(&raw mut record)) };
    // SAFETY: in this bag.
    unsafe { forks.bag.share(place) };
    // SAFETY: as above.
    let promise = unsafe { &(*place).promise };
    let interest = promise.promote::<Header>(record.cast(), |interest| {
        // SAFETY: just made, and nobody else sees it before this has returned.
        let join = unsafe { &(*record).join };
        match interest {
            Interest::Handle => {}
            Interest::Nobody => assert!(!join.detach(), "it has not begun"),
            Interest::Waiter(waiter) => join.register_before_start(*waiter),
        }
    });
    if matches!(interest, Interest::Nobody) {
        // SAFETY: promoted, and its handle is gone.
        let_go(place);
    }
    // SAFETY: in this bag, and private no more.
    if unsafe { !forks.bag.leave(place) } {
        // SAFETY: as above.
        unsafe { forks.bag.clear(place) }.into_iter().for_each(chunks::give);
    }
    worker.trace_job(Event::Promoted, number_of_job(record), 0);
    // SAFETY: in no list, and it stays until it has been run and nobody looks at it any more.
    unsafe { worker.jobs.promote(record) };
    true
}

/// Who had the handle to the promoted future at `place` will not look there again.
pub(super) fn let_go(place: *mut Place) {
    // SAFETY: each caller has had the handle, or promotes what nobody has a handle to.
    unsafe { Chunk::let_go(place) }.into_iter().for_each(chunks::give);
}
