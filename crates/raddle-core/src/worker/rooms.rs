//! Owns: rooms for whoever runs: those of its worker, or the allocator's where there is none.
//! May use: `block::payload`.
//! Never: a room kept; the worker keeps it.

use super::here::{Here, LocalWorker};
use super::room;
use crate::block::payload::Payload;
use std::ptr::NonNull;

/// Memory for a `T`, with nothing in it.
#[inline]
pub fn take_room<T>() -> NonNull<T> {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    let here = unsafe { Here::current() };
    room::take_from(here.as_deref().map(LocalWorker::rooms))
}

/// Gives memory back that is from [`take_room`], wherever that was.
///
/// # Safety
/// It is from there, for this type, and the caller's; nothing lies in it that is to be dropped.
#[inline]
pub unsafe fn give_room<T>(room: NonNull<T>) {
    // SAFETY: as in `take_room`.
    let here = unsafe { Here::current() };
    // SAFETY: passed on to the caller.
    unsafe { room::give_to(here.as_deref().map(LocalWorker::rooms), room) };
}

/// Puts a value into a room.
#[inline]
pub fn put_into_room<T>(value: T) -> NonNull<T> {
    // SAFETY: as in `take_room`.
    let here = unsafe { Here::current() };
    room::put(here.as_deref().map(LocalWorker::rooms), value)
}

/// Takes the value out of a room, and gives that back.
///
/// # Safety
/// The room is from [`put_into_room`], for this type, and the caller's.
#[inline]
pub unsafe fn take_out_of_room<T>(room: NonNull<T>) -> T {
    // SAFETY: as in `take_room`.
    let here = unsafe { Here::current() };
    // SAFETY: passed on to the caller.
    unsafe { room::take_out(here.as_deref().map(LocalWorker::rooms), room) }
}

/// Puts a closure or a result into a block's payload, or into a room.
///
/// # Safety
/// As for [`Payload::put`].
#[inline(always)]
pub(crate) unsafe fn fill<T>(payload: &Payload, value: T) {
    // SAFETY: passed on to the caller.
    unsafe { payload.put(value, put_into_room) };
}

/// Takes it out.
///
/// # Safety
/// As for [`Payload::take`]; it was put by [`fill`].
#[inline(always)]
pub(crate) unsafe fn empty<T>(payload: &Payload) -> T {
    // SAFETY: whatever is not in the payload is in a room, says the caller.
    let far = |room| unsafe { take_out_of_room(room) };
    // SAFETY: passed on to the caller.
    unsafe { payload.take::<T>(far) }
}
