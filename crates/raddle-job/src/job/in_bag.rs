//! Owns: how the closure of a fork lies in its flow's bag.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: running a fork; who asks for it, or takes its job, does.
//!
//! A private fork is its word and its closure, in 16 bytes, 32, or elsewhere. Promoted, its closure moves into a slot,
//! the *record*, in which job and handle meet from then on; the word tells the handle where that is. If it was promoted
//! for a flow that stands still, its closure stays in its place, of which the record knows: to move it may take memory.

use super::fork::{act, run};
use raddle_core::worker::LocalWorker;
use raddle_core::worker::jobs::{self, PlaceAct, Slot, What};
use raddle_core::worker::rooms::{put_into_room, take_out_of_room};
use raddle_protocol::protocol::bag::{Chunk, Place};
use raddle_protocol::protocol::jobs::{Forks, How, Node};
use std::ptr::NonNull;

/// The words that a closure takes in its place.
const fn words<F>() -> usize {
    let fits = size_of::<F>() <= 3 * size_of::<usize>() && align_of::<F>() <= align_of::<usize>();
    if fits { size_of::<F>().div_ceil(size_of::<usize>()) } else { FAR }
}

/// A pointer: a word, too.
const FAR: usize = 4;

/// Puts a closure into a place of the running flow's bag.
#[inline(always)]
pub(super) fn put<F: FnOnce() -> T, T>(
    worker: &LocalWorker,
    forks: &Forks,
    home: *const (),
    f: F,
) -> *mut Place {
    let act: PlaceAct = act_in_place::<F, T>;
    if words::<F>() == FAR {
        // First: who asks for memory may stand in the kernel, and then somebody may look into the bag.
        let far = put_into_room(f);
        put_value(worker, forks, home, act, 1, far)
    } else {
        put_value(worker, forks, home, act, words::<F>(), f)
    }
}

/// As [`put`], of a value that takes so many words.
#[inline(always)]
fn put_value<V>(
    worker: &LocalWorker,
    forks: &Forks,
    home: *const (),
    act: PlaceAct,
    words: usize,
    value: V,
) -> *mut Place {
    let place = forks.bag.place(words, home, || worker.chunks().take());
    // SAFETY: just handed out, and ours.
    unsafe { &(*place).promise }.make(act as *mut ());
    // SAFETY: as above; there is room for so many words.
    unsafe { Place::room(place).cast::<V>().write(value) };
    place
}

/// # Safety
/// An `F` was put at `place` and has not been taken.
#[inline(always)]
unsafe fn take<F>(place: *mut Place) -> F {
    if words::<F>() == FAR {
        // SAFETY: passed on to the caller.
        let far = unsafe { Place::room(place).cast::<NonNull<F>>().read() };
        // SAFETY: as above: it was put there.
        return unsafe { take_out_of_room(far) };
    }
    // SAFETY: passed on to the caller.
    unsafe { Place::room(place).cast::<F>().read() }
}

/// # Safety
/// An `F` was put at `place`, in the running flow's bag, and has not been taken; where `what` points there is room.
unsafe fn act_in_place<F: FnOnce() -> T, T>(place: *mut Place, what: What) {
    match what {
        What::Here(out) => {
            // SAFETY: passed on to the caller.
            let f = unsafe { take::<F>(place) };
            // SAFETY: as above.
            unsafe { out.cast::<T>().write(f()) };
        }
        What::Promote(out) => {
            // SAFETY: passed on to the caller.
            let f = unsafe { take::<F>(place) };
            // SAFETY: as above: it is in use.
            let record = make_record(unsafe { Chunk::home(place) }, f);
            // SAFETY: as above.
            unsafe { out.write(record) };
        }
        What::PromoteInto(record) => {
            // SAFETY: passed on to the caller: it is in use.
            let home = unsafe { Chunk::home(place) };
            // SAFETY: as above: the record begins a free slot.
            unsafe { Slot::fill(record, home, act_on_far::<F, T>, place) };
            // SAFETY: just made.
            unsafe { Node::renew_join(record) };
        }
    }
}

/// # Safety
/// `node` begins a slot of a fork made of an `F`, which lies where the slot says, and `how` is as the lists promise.
unsafe fn act_on_far<F: FnOnce() -> T, T>(node: *mut Node, how: How) {
    if let How::Promote(_) = how {
        return;
    }
    // SAFETY: passed on to the caller: put there by `act_in_place`.
    let place = unsafe { Slot::take::<*mut Place>(node) };
    // SAFETY: as above: in use while the job has not let it go.
    let f = unsafe { take::<F>(place) };
    // SAFETY: the job's own share.
    unsafe { jobs::let_go(place) };
    // SAFETY: passed on to the caller: the closure was taken out, and is the caller's.
    unsafe { run(node, how, f) };
}

#[cold]
#[inline(never)]
fn make_record<F: FnOnce() -> T, T>(home: *const (), f: F) -> *mut Node {
    let record = Slot::make(home, act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(record) };
    record
}
