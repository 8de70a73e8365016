//! Owns: how the closure of a fork lies in its flow's bag.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: running a fork; who asks for it, or takes its job, does.
//!
//! A private fork is its word and its closure, in 16 bytes, 32, or a box. Promoted, its closure moves into a slot,
//! the *record*, in which job and handle meet from then on; the word tells the handle where that is.

use super::fork::act;
use raddle_core::worker::LocalWorker;
use raddle_core::worker::jobs::{PlaceAct, Slot, What};
use raddle_protocol::protocol::bag::{Chunk, Place};
use raddle_protocol::protocol::jobs::{Forks, Node};

/// The words that a closure takes in its place.
const fn words<F>() -> usize {
    let fits = size_of::<F>() <= 3 * size_of::<usize>() && align_of::<F>() <= align_of::<usize>();
    if fits { size_of::<F>().div_ceil(size_of::<usize>()) } else { BOXED }
}

/// A pointer: a word, too.
const BOXED: usize = 4;

/// Puts a closure into a place of the running flow's bag.
#[inline(always)]
pub(super) fn put<F: FnOnce() -> T, T>(
    worker: &LocalWorker,
    forks: &Forks,
    home: *const (),
    f: F,
) -> *mut Place {
    let room = if words::<F>() == BOXED { 1 } else { words::<F>() };
    let place = forks.bag.place(room, home, || worker.chunks().take());
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
    let record = Slot::make(home, act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(record) };
    record
}
