//! Owns: `Filled`: values in a part of a vector's memory, until the vector has them all.
//! May use: nothing.
//! Never: a value that is dropped twice, or not at all, whoever panics.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Adds `count` elements to a vector. `fill` fills the slots that it is given, all of them.
pub(super) fn fill<'a, R>(
    values: &'a mut Vec<R>,
    count: usize,
    fill: impl FnOnce(&'a mut [MaybeUninit<R>]) -> Filled<'a, R>,
) {
    values.reserve_exact(count);
    let length = values.len() + count;
    let values = &raw mut *values;
    // SAFETY: borrowed for `'a`.
    let slots = &mut unsafe { &mut *values }.spare_capacity_mut()[..count];
    let start = NonNull::from(&mut *slots).cast();
    let filled = fill(slots);
    assert!(filled.start == start && filled.count == count, "all of them");
    std::mem::forget(filled);
    // SAFETY: the slots were given up for what filled them, and that is gone.
    let values = unsafe { &mut *values };
    // SAFETY: so many are values, since the slots hold values, which nobody else has any more.
    unsafe { values.set_len(length) };
}

/// The first slots of a part of a slice hold values, which are dropped with this.
#[derive(Debug)]
pub(super) struct Filled<'a, R> {
    start: NonNull<R>,
    count: usize,
    /// The slots.
    part: PhantomData<&'a mut [R]>,
}

// SAFETY: it owns the values, as a vector does.
unsafe impl<R: Send> Send for Filled<'_, R> {}

impl<'a, R> Filled<'a, R> {
    /// Fills all slots, one after the other, with what `values` yields; there must be as many.
    #[inline]
    pub(super) fn with(slots: &'a mut [MaybeUninit<R>], values: impl Iterator<Item = R>) -> Self {
        let mut filled = Filled { start: NonNull::from(&mut *slots).cast(), count: 0, part: PhantomData };
        for (slot, value) in slots.iter_mut().zip(values) {
            slot.write(value);
            filled.count += 1;
        }
        assert_eq!(filled.count, slots.len(), "a value for each slot");
        filled
    }

    /// These and those which follow them.
    #[inline]
    pub(super) fn and(mut self, others: Self) -> Self {
        // SAFETY: the slots are of one slice, or follow its last.
        let end = unsafe { self.start.add(self.count) };
        // Else they are dropped, each by its own.
        assert_eq!(end, others.start, "one part follows the other");
        self.count += others.count;
        std::mem::forget(others);
        self
    }
}

impl<R> Drop for Filled<'_, R> {
    fn drop(&mut self) {
        let values = NonNull::slice_from_raw_parts(self.start, self.count);
        // SAFETY: they are values, and nobody else has them.
        unsafe { values.drop_in_place() };
    }
}
