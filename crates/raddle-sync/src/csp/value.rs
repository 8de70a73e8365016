//! Owns: `Value`, what a waiter hands over or wants; and `Hot`, one who looks out with its value beside it.
//! May use: nothing.
//! Never: the type of the value: it is a place, a size and a function that copies.
//!
//! A value goes from frame to frame. Where the two run on two workers each line of either frame that the other touches
//! moves there and back, so a waiter that looks out keeps a small value in the line that its peer writes anyway: the
//! one with its [`Answer`](raddle_protocol::protocol::rendezvous::Answer).

use super::meet::ChanWaiter;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// So many bytes lie in the line of a hot waiter beside it.
const NEAR_BYTES: usize = 40;

/// Copies between the caller's place, the first, and its peer's. It may run more than once for one exchange; what the
/// last run did counts, and only if `Ok` is returned.
pub(crate) type Copy = unsafe fn(*mut (), *mut ());

/// How values of a type are handed over.
pub(crate) struct Copying {
    copy: Copy,
    /// 0 if a value cannot lie in the line of a hot waiter.
    near_bytes: usize,
}

impl Copying {
    /// By `copy`, which copies a `T`.
    pub(super) const fn of<T>(copy: Copy) -> Copying {
        let is_near = size_of::<T>() <= NEAR_BYTES && align_of::<T>() <= align_of::<u64>();
        Copying { copy, near_bytes: if is_near { size_of::<T>() } else { 0 } }
    }
}

/// What a waiter hands over, or where it wants it: the place, and how to copy between it and the peer's.
///
/// PERF: two words go from call to call in registers. Three would be written into each caller's frame for calls that
/// are seldom made: three of an exchange's stores; bench `commstime`.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    pub(super) data: *mut (),
    copying: &'static Copying,
}

impl Value {
    /// # Safety
    /// A `T` lies at `data`, or there is room for one; and `copying` is of `T`.
    #[inline(always)]
    pub(super) unsafe fn at(data: *mut (), copying: &'static Copying) -> Value {
        Value { data, copying }
    }

    /// How to copy between its place and the peer's.
    #[inline(always)]
    pub(super) fn copy(self) -> Copy {
        self.copying.copy
    }
}

/// A hot waiter, and its value if that is small: one cache line.
///
/// PERF: a value in a line of its own costs two more moves of a line from worker to worker; bench `pingpong`, two
/// workers: 234 -> 133 ns a round trip, the best of 105 samples under load.
#[repr(C, align(64))]
pub(super) struct Hot {
    pub(super) waiter: ChanWaiter,
    near: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES]>,
}

const _: () = assert!(size_of::<Hot>() == 64);

impl Hot {
    #[inline(always)]
    pub(super) fn new(value: Value) -> Hot {
        let near = UnsafeCell::new([const { MaybeUninit::uninit() }; NEAR_BYTES]);
        Hot { waiter: ChanWaiter::new(value.data), near }
    }

    /// The waiter as the peer finds it, which writes beside it, too; with a copy of what lies at the value's place, or
    /// of what lies there by chance if that is room for one.
    #[inline(always)]
    pub(super) fn lay_out(&self, value: Value) -> *mut ChanWaiter {
        let near_bytes = value.copying.near_bytes;
        if near_bytes > 0 {
            let near: *mut u8 = self.near.get().cast();
            // SAFETY: so large is a value, and it fits; what is uninitialised may be copied, too.
            unsafe { near.copy_from_nonoverlapping(value.data.cast(), near_bytes) };
            self.waiter.data.set(near.cast());
        }
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Puts what has come into the value's place. Of what was sent, a copy, which nobody drops.
    #[inline(always)]
    pub(super) fn take_in(&self, value: Value) {
        let near: *const u8 = self.near.get().cast_const().cast();
        // SAFETY: as in `lay_out`; and the peer is done.
        unsafe { value.data.cast::<u8>().copy_from_nonoverlapping(near, value.copying.near_bytes) };
    }
}
