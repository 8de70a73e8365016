//! Owns: `Payload`, the room in a block for the closure before it runs and for the result after.
//! May use: nothing.
//! Never: knowing which of the two is inside; the join word's protocol says that.
//!
//! Most closures and results are small: 56 bytes are inline, and a spawn then allocates nothing. What is larger, or
//! aligned more strictly than a word, is boxed. While a process runs, neither is there,
//! and the room holds what `cancel::region` puts.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

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

    /// Puts a value in; what was there is forgotten.
    ///
    /// # Safety
    /// Nobody else touches the payload now.
    #[inline(always)]
    pub(crate) unsafe fn put<T>(&self, value: T) {
        if fits::<T>() {
            // SAFETY: the room is large and aligned enough, and the caller is its only user.
            unsafe { self.0.get().cast::<T>().write(value) };
        } else {
            let boxed = Box::into_raw(Box::new(value));
            // SAFETY: a pointer fits; the caller is the room's only user.
            unsafe { self.0.get().cast::<*mut T>().write(boxed) };
        }
    }

    /// A copy of the value, which stays.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub(crate) unsafe fn peek<T: Copy>(&self) -> T {
        const { assert!(fits::<T>(), "it would be taken out of its box") };
        // SAFETY: passed on to the caller.
        unsafe { self.take::<T>() }
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// The last `put` was of this very type, nothing was taken since, and nobody else touches the payload now.
    #[inline(always)]
    pub(crate) unsafe fn take<T>(&self) -> T {
        if fits::<T>() {
            // SAFETY: the caller vouches that a `T` is there.
            unsafe { self.0.get().cast::<T>().read() }
        } else {
            // SAFETY: the caller vouches that `put` left a boxed `T`'s pointer there.
            let raw = unsafe { self.0.get().cast::<*mut T>().read() };
            // SAFETY: it came from `Box::into_raw` and is taken once.
            *unsafe { Box::from_raw(raw) }
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
        unsafe { payload.put(value.clone()) };
        // SAFETY: as above, and a `T` was put.
        assert_eq!(unsafe { payload.take::<T>() }, value);
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
