//! Owns: `Payload`, the room in a block for the closure before it runs and for the result after.
//! May use: nothing.
//! Never: knowing which of the two is inside; the join word's protocol says that.
//!
//! Most closures and results are small: 56 bytes are inline. What is larger, or aligned more strictly than a word, lies
//! where the caller puts it, and the payload has its address. While a process runs, neither is there, and the payload
//! holds what `cancel::region` puts.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

const WORDS: usize = 7;

/// Inline room for one value of a type that only the user of the room knows.
#[derive(Debug)]
pub(crate) struct Payload(UnsafeCell<[MaybeUninit<usize>; WORDS]>);

const fn fits<T>() -> bool {
    size_of::<T>() <= WORDS * size_of::<usize>() && align_of::<T>() <= align_of::<usize>()
}

impl Payload {
    pub(crate) const fn new() -> Self {
        Payload(UnsafeCell::new([MaybeUninit::uninit(); WORDS]))
    }

    /// Puts a value in; what was there is forgotten. If it is too large, `far` puts it elsewhere, and says where.
    ///
    /// # Safety
    /// Nobody else touches the payload now.
    #[inline(always)]
    pub(crate) unsafe fn put<T>(&self, value: T, far: impl FnOnce(T) -> NonNull<T>) {
        if fits::<T>() {
            // SAFETY: the room is large and aligned enough, and the caller is its only user.
            unsafe { self.0.get().cast::<T>().write(value) };
        } else {
            let there = far(value);
            // SAFETY: a pointer fits; the caller is the room's only user.
            unsafe { self.0.get().cast::<NonNull<T>>().write(there) };
        }
    }

    /// Puts a small value in; what was there is forgotten.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub(crate) unsafe fn put_here<T: Copy>(&self, value: T) {
        const { assert!(fits::<T>(), "it is too large") };
        // SAFETY: the room is large and aligned enough; the rest is passed on to the caller.
        unsafe { self.0.get().cast::<T>().write(value) };
    }

    /// A copy of a small value, which stays.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub(crate) unsafe fn peek<T: Copy>(&self) -> T {
        const { assert!(fits::<T>(), "it is too large") };
        // SAFETY: passed on to the caller.
        unsafe { self.0.get().cast::<T>().read() }
    }

    /// Takes the value out; if it is large, `far` does, from where it is.
    ///
    /// # Safety
    /// The last `put` was of this very type, nothing was taken since, and nobody else touches the payload now.
    #[inline(always)]
    pub(crate) unsafe fn take<T>(&self, far: impl FnOnce(NonNull<T>) -> T) -> T {
        if fits::<T>() {
            // SAFETY: the caller vouches that a `T` is there.
            unsafe { self.0.get().cast::<T>().read() }
        } else {
            // SAFETY: the caller vouches that `put` left there where it is.
            far(unsafe { self.0.get().cast::<NonNull<T>>().read() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn check<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let payload = Payload::new();
        // SAFETY: the payload is ours alone.
        unsafe { payload.put(value.clone(), |far| NonNull::from(Box::leak(Box::new(far)))) };
        // SAFETY: where a `T` was put, if it was large.
        let far = |far: NonNull<T>| *unsafe { Box::from_raw(far.as_ptr()) };
        // SAFETY: the payload is ours alone, and a `T` was put.
        assert_eq!(unsafe { payload.take::<T>(far) }, value);
    }

    #[test]
    fn small_and_large_values_come_back() {
        check(());
        check(7_u8);
        check([1_usize; WORDS]);
        check([2_u64; 100]);
        check(String::from("text"));
        check(u128::MAX);
    }

    #[test]
    fn nothing_is_dropped_twice() {
        let counted = Rc::new(());
        check(counted.clone());
        check([const { None::<Rc<()>> }; 50]);
        assert_eq!(Rc::strong_count(&counted), 1);
    }
}
