//! Owns: what happens when a fork in a flow's bag becomes a job.
//! May use: `tracer`, `worker`, `raddle-protocol`, `raddle-trace`.
//! Never: running a fork; who asks for it, or takes its job, does.

use super::chunks;
use super::slab::SpareSlot;
use crate::tracer::number_of_job;
use crate::worker::LocalWorker;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::bag::{Chunk, Place};
use raddle_protocol::protocol::jobs::{Forks, JobQueue, Node};
use raddle_protocol::protocol::promise::Interest;
use raddle_trace::Event;
use std::ptr::{null, null_mut};

/// What is done with a place, by its flow.
pub type PlaceAct = unsafe fn(*mut Place, What);

/// What a [`PlaceAct`] is to do.
#[derive(Clone, Copy)]
pub enum What {
    /// Run it, and write what it returns here.
    Here(*mut ()),
    /// Move it into a record, and write that here.
    Promote(*mut *mut Node),
    /// Leave it where it is, and make this the record, the first bytes of a free slot.
    PromoteInto(*mut Node),
}

/// What is to be done with the fork whose word is `act`.
///
/// # Safety
/// It was put into a place of a bag, and came from the word of that place.
#[inline(always)]
pub unsafe fn as_act(act: *mut ()) -> PlaceAct {
    // SAFETY: passed on to the caller: it was made of a function of this type.
    unsafe { std::mem::transmute::<*mut (), PlaceAct>(act) }
}

/// Promotes the oldest fork of a flow that runs on `worker`, or has just left it. False if there is none.
pub fn promote_oldest(worker: &LocalWorker, forks: &Forks) -> bool {
    let Some((place, act)) = forks.bag.oldest::<Header>() else { return false };
    let mut record: *mut Node = null_mut();
    // SAFETY: it came from the word of a private fork.
    let act = unsafe { as_act(act) };
    // SAFETY: private, and so not taken; it is in the bag of the flow that calls.
    unsafe { act(place, What::Promote(&raw mut record)) };
    // SAFETY: made of this place.
    unsafe { pass_on(forks, place, record) };
    worker.trace_job(Event::Promoted, number_of_job(record), 0);
    // SAFETY: in no list, and it stays until it has been run and nobody looks at it any more.
    unsafe { worker.jobs.promote(record, null()) };
    true
}

/// As [`promote_oldest`], to `queue`, in the place of the flow, which stands still, and where no memory may be asked
/// for: the closure stays where it is, and the record is the slot.
pub(in crate::worker) fn promote_oldest_into(slot: SpareSlot, forks: &Forks, queue: &JobQueue) {
    let Some((place, act)) = forks.bag.oldest::<Header>() else { return };
    let record = slot.into_node();
    // SAFETY: it came from the word of a private fork.
    let act = unsafe { as_act(act) };
    // SAFETY: private, and so not taken; it is in the bag of the flow in whose place this is done.
    unsafe { act(place, What::PromoteInto(record)) };
    // The job's own, until it has its closure.
    // SAFETY: in this bag.
    unsafe { forks.bag.share(place) };
    // SAFETY: made of this place.
    unsafe { pass_on(forks, place, record) };
    // SAFETY: in no list, and it stays until it has been run and nobody looks at it any more.
    unsafe { queue.promote(record, null()) };
}

/// From now on the fork is its record.
///
/// # Safety
/// `place` is in this bag, and its fork is private; `record` was made of it.
unsafe fn pass_on(forks: &Forks, place: *mut Place, record: *mut Node) {
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
        unsafe { let_go(place) };
    }
    // SAFETY: in this bag, and private no more.
    if unsafe { !forks.bag.leave(place) } {
        // SAFETY: as above.
        unsafe { forks.bag.clear(place) }.into_iter().for_each(chunks::give);
    }
}

/// Who had the handle to the promoted fork at `place` will not look there again.
///
/// # Safety
/// The caller has had the handle, or has just promoted what nobody has a handle to; and it says so once.
pub unsafe fn let_go(place: *mut Place) {
    // SAFETY: passed on to the caller.
    unsafe { Chunk::let_go(place) }.into_iter().for_each(chunks::give);
}
