//! Owns: `Value`, what a party hands over or wants; and `Hot`, one who looks out with its value beside it.
//! May use: `csp::meet`, for the party.
//! Never: the type of the value: it is a place, a size and a function that copies.
//!
//! A value goes from frame to frame. Where the two run on two workers each line of either frame that the other touches
//! moves there and back, so a party that looks out keeps a small value in the line that its peer writes anyway: the one
//! with its [`Answer`](crate::protocol::rendezvous::Answer).

use super::meet::Party;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// So many bytes lie in the line of a hot party beside it.
const NEAR_BYTES: usize = 40;

/// Copies between the caller's place, the first, and its peer's. It may run more than once for one exchange; what the
/// last run did counts, and only if `Ok` is returned.
pub(crate) type Copy = unsafe fn(*mut (), *mut ());

/// What a party hands over, or where it wants it: the place, how to copy between it and the peer's, and its size.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    pub(super) data: *mut (),
    pub(super) copy: Copy,
    /// 0 if it cannot lie in the line of a hot party.
    near_bytes: usize,
}

impl Value {
    /// # Safety
    /// A `T` lies at `data`, or there is room for one; and `copy` copies one.
    #[inline(always)]
    pub(super) unsafe fn of<T>(data: *mut (), copy: Copy) -> Value {
        let is_near = size_of::<T>() <= NEAR_BYTES && align_of::<T>() <= align_of::<u64>();
        Value { data, copy, near_bytes: if is_near { size_of::<T>() } else { 0 } }
    }
}

/// A hot party, and its value if that is small: one cache line.
///
/// PERF: a value in a line of its own costs two more moves of a line from worker to worker; bench `pingpong`, two
/// workers: 234 -> 133 ns a round trip, the best of 105 samples under load.
#[repr(C, align(64))]
pub(super) struct Hot {
    pub(super) party: Party,
    near: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES]>,
}

const _: () = assert!(size_of::<Hot>() == 64);

impl Hot {
    #[inline(always)]
    pub(super) fn new(value: Value) -> Hot {
        let near = UnsafeCell::new([const { MaybeUninit::uninit() }; NEAR_BYTES]);
        Hot { party: Party::new(value.data), near }
    }

    /// The party as the peer finds it, which writes beside it, too; with a copy of what lies at the value's place, or
    /// of what lies there by chance if that is room for one.
    #[inline(always)]
    pub(super) fn lay_out(&self, value: Value) -> *mut Party {
        if value.near_bytes > 0 {
            let near: *mut u8 = self.near.get().cast();
            // SAFETY: `Value::of` was told of as many bytes, which fit; what is uninitialised may be copied, too.
            unsafe { near.copy_from_nonoverlapping(value.data.cast(), value.near_bytes) };
            self.party.data.set(near.cast());
        }
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Puts what has come into the value's place. Of what was sent, a copy, which nobody drops.
    #[inline(always)]
    pub(super) fn take_in(&self, value: Value) {
        let near: *const u8 = self.near.get().cast_const().cast();
        // SAFETY: as in `lay_out`; and the peer is done.
        unsafe { value.data.cast::<u8>().copy_from_nonoverlapping(near, value.near_bytes) };
    }
}
