//! Owns: `Slots` and `Filled`: the parts of a vector's memory, and the values in them until the vector has them all.
//! May use: nothing.
//! Never: a value that is dropped twice, or not at all, whoever panics.
//!
//! Who fills a part has a reference to its slots and to nothing else. What drops values that nobody will have has a
//! pointer into the whole of the memory instead, beside which no such reference is alive: parts come together again,
//! and a reference to one of them gives no right to another.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Adds `count` elements to a vector. `fill` fills the slots that it is given, all of them.
pub(super) fn fill<'a, R>(
    values: &'a mut Vec<R>,
    count: usize,
    fill: impl FnOnce(Slots<'a, R>) -> Filled<'a, R>,
) {
    values.reserve_exact(count);
    let length = values.len() + count;
    let start: NonNull<R> = NonNull::from(&mut values.spare_capacity_mut()[..count]).cast();
    // What is filled, and what was filled by who panicked, is gone before the vector is used again.
    let filled = fill(Slots { start, count, part: PhantomData });
    assert!(filled.start == start && filled.count == count, "all of them");
    std::mem::forget(filled);
    // SAFETY: so many are values, since the slots hold values, which nobody else has any more.
    unsafe { values.set_len(length) };
}

/// Slots that hold no values yet, for who fills them.
pub(super) struct Slots<'a, R> {
    /// Into the whole of the memory.
    start: NonNull<R>,
    count: usize,
    part: PhantomData<&'a mut [R]>,
}

// SAFETY: whoever has it writes values, and nobody else has these slots.
unsafe impl<R: Send> Send for Slots<'_, R> {}

impl<'a, R> Slots<'a, R> {
    /// The first `count` of them, and the others.
    pub(super) fn split_at(self, count: usize) -> (Self, Self) {
        assert!(count <= self.count, "there are as many");
        // SAFETY: within the slots, or behind the last.
        let rest = unsafe { self.start.add(count) };
        let others = Slots { start: rest, count: self.count - count, part: PhantomData };
        (Slots { count, ..self }, others)
    }

    /// Has them filled by `run`, which is to call [`write()`] with what it is given.
    #[inline]
    pub(super) fn fill(self, run: impl FnOnce(&mut [MaybeUninit<R>]) -> AllWritten) -> Filled<'a, R> {
        let slots = NonNull::slice_from_raw_parts(self.start.cast(), self.count);
        // SAFETY: they are this one's only, and the reference is gone before anything else comes to them.
        let AllWritten(count) = run(unsafe { &mut *slots.as_ptr() });
        assert_eq!(count, self.count, "a value for each slot");
        Filled { start: self.start, count, part: PhantomData }
    }
}

/// So many slots, all that there were, hold values.
pub(super) struct AllWritten(usize);

/// Fills all slots, one after the other, with what `values` yields; there must be as many.
#[inline]
pub(super) fn write<R>(slots: &mut [MaybeUninit<R>], values: impl Iterator<Item = R>) -> AllWritten {
    let length = slots.len();
    // From here on the slots are reached through this one only: it drops what is there, should `values` panic.
    let mut written = Filled::<R> { start: NonNull::from(slots).cast(), count: 0, part: PhantomData };
    for value in values.take(length) {
        // SAFETY: there are more slots than have been written, since no more values are taken.
        let slot = unsafe { written.start.add(written.count) };
        // SAFETY: the slot is one of them, and holds no value.
        unsafe { slot.write(value) };
        written.count += 1;
    }
    assert_eq!(written.count, length, "a value for each slot");
    std::mem::forget(written);
    AllWritten(length)
}

/// As [`write()`], with the values of `f`, which need no drop: so nobody need know how many there are when `f` panics.
///
/// PERF: bench `loops`, a million values, of Rayon: one worker 1.21 -> 0.63, two 1.44 -> 0.86.
#[inline]
pub(super) fn write_plain<T, R>(
    slots: &mut [MaybeUninit<R>],
    items: &[T],
    f: impl Fn(&T) -> R,
) -> AllWritten {
    debug_assert!(!std::mem::needs_drop::<R>(), "what has been written would not be dropped");
    assert_eq!(slots.len(), items.len(), "a value for each slot");
    for (slot, item) in slots.iter_mut().zip(items) {
        slot.write(f(item));
    }
    AllWritten(slots.len())
}

/// The first slots of a part, in the end all of them, hold values, which are dropped with this.
#[derive(Debug)]
pub(super) struct Filled<'a, R> {
    /// Into the whole of the memory; while they are written, into the part.
    start: NonNull<R>,
    count: usize,
    part: PhantomData<&'a mut [R]>,
}

// SAFETY: it owns the values, as a vector does.
unsafe impl<R: Send> Send for Filled<'_, R> {}

impl<R> Filled<'_, R> {
    /// These and those which follow them.
    #[inline]
    pub(super) fn and(mut self, others: Self) -> Self {
        // SAFETY: the slots are of one piece of memory, or end with it.
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
