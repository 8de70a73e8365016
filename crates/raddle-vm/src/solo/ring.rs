//! Owns: the queue of the scheduler for one thread.
//! May use: `process`.
//! Never: decides who is next.
//!
//! A ring whose places compiled code may use by itself (feature `native`): hence the fixed layout, and numbers that
//! only grow, of which the low bits are the place.
//!
//! *Proof.* `places` points to the `mask + 1` places of `all`, which only `put` changes, and both with it; a number's
//! low bits name one of them. The ring is used by one thread (a `Cell` is not `Sync`), and no place is lent.

use crate::process::Process;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

/// A place of the ring.
type RingPlace<'m, L> = Cell<Option<&'m Process<L>>>;

/// Who can run, in order.
#[repr(C)]
pub(crate) struct Ring<'m, L> {
    /// Where the places lie.
    pub(crate) places: Cell<*const RingPlace<'m, L>>,
    /// One less than how many they are, a power of two.
    pub(crate) mask: Cell<u32>,
    /// The number of the first in the queue.
    pub(crate) head: Cell<u32>,
    /// Behind that of the last one.
    pub(crate) tail: Cell<u32>,
    /// Dispatches until the next look at the world.
    pub(crate) until_poll: Cell<u32>,
    /// The fewest who were left in the queue since the last look.
    pub(crate) left: Cell<u32>,
    all: RefCell<Vec<RingPlace<'m, L>>>,
    /// So many places it has at least.
    least: Cell<u32>,
}

/// How far behind the beginning of the ring its fields lie.
#[cfg(feature = "native")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the field of that name in the ring")]
pub struct RingLayout {
    pub places: usize,
    pub mask: usize,
    pub head: usize,
    pub tail: usize,
    pub until_poll: usize,
    pub left: usize,
}

/// The ring, as compiled code has it. It is the same whatever a process has of its scheduler.
#[cfg(feature = "native")]
pub const RING: RingLayout = RingLayout {
    places: core::mem::offset_of!(Ring<'static, ()>, places),
    mask: core::mem::offset_of!(Ring<'static, ()>, mask),
    head: core::mem::offset_of!(Ring<'static, ()>, head),
    tail: core::mem::offset_of!(Ring<'static, ()>, tail),
    until_poll: core::mem::offset_of!(Ring<'static, ()>, until_poll),
    left: core::mem::offset_of!(Ring<'static, ()>, left),
};

/// Room for the program, and for who is the keyboard.
const PLACES_MIN: u32 = 4;
/// More places than this are not made before they are needed.
const PLACES_MAX: u32 = 1 << 16;

impl<'m, L> Ring<'m, L> {
    /// With room for so many at least.
    pub(crate) fn new(until_poll: u32, room: u32) -> Self {
        let ring = Ring {
            places: Cell::new(core::ptr::null()),
            mask: Cell::new(0),
            head: Cell::new(0),
            tail: Cell::new(0),
            until_poll: Cell::new(until_poll),
            left: Cell::new(0),
            all: RefCell::default(),
            least: Cell::new(room.clamp(PLACES_MIN, PLACES_MAX).next_power_of_two()),
        };
        ring.put(Vec::new());
        ring
    }

    /// These are in the queue from now on.
    fn put(&self, queue: Vec<&'m Process<L>>) {
        let count = queue.len() as u32;
        let places = (count + 1).next_power_of_two().max(self.least.get());
        let mut all = self.all.borrow_mut();
        all.clear();
        all.extend(queue.into_iter().map(|process| Cell::new(Some(process))));
        all.resize_with(places as usize, Cell::default);
        self.places.set(all.as_ptr());
        self.mask.set(places - 1);
        self.head.set(0);
        self.tail.set(count);
    }

    pub(crate) fn len(&self) -> usize {
        self.tail.get().wrapping_sub(self.head.get()) as usize
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn push(&self, process: &'m Process<L>) {
        if cfg!(feature = "native") {
            // A process is in the queue once at most. With a place for each number that was ever here there is always
            // one free, for compiled code, too: it queues none that was not queued by this when it began.
            if process.id() > self.mask.get() {
                self.least.set(process.id().saturating_add(1).next_power_of_two());
                self.grow();
            }
        } else if self.len() > self.mask.get() as usize {
            self.grow();
        }
        let tail = self.tail.get();
        self.place(tail).set(Some(process));
        self.tail.set(tail.wrapping_add(1));
    }

    /// The place of that number.
    #[cfg_attr(feature = "large", inline(always))]
    fn place(&self, number: u32) -> &RingPlace<'m, L> {
        // SAFETY: see the module: it is within.
        let place = unsafe { self.places.get().add((number & self.mask.get()) as usize) };
        // SAFETY: it stays until `put`, which nothing calls while a place is used.
        unsafe { &*place }
    }

    #[cold]
    fn grow(&self) {
        let queue = self.take();
        self.put(queue);
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn pop(&self) -> Option<&'m Process<L>> {
        let head = self.head.get();
        if head == self.tail.get() {
            return None;
        }
        self.head.set(head.wrapping_add(1));
        self.place(head).get()
    }

    /// All of them; none is left.
    pub(crate) fn take(&self) -> Vec<&'m Process<L>> {
        core::iter::from_fn(|| self.pop()).collect()
    }

    pub(crate) fn clear(&self) {
        self.head.set(self.tail.get());
    }

    /// The last one is the first from now on.
    pub(crate) fn reverse(&self) {
        let mut queue = self.take();
        queue.reverse();
        self.put(queue);
    }

    /// The first one and another, so many places behind it, change places.
    pub(crate) fn swap_first(&self, other: usize) {
        let place = |number: u32| self.place(self.head.get().wrapping_add(number));
        place(0).swap(place(other as u32));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    #[test]
    fn it_grows_and_keeps_the_order() {
        let processes: Vec<Process<()>> = (0..500).map(|_| Process::default()).collect();
        (1..).zip(&processes).for_each(|(number, process)| process.id.set(number));
        let ring = Ring::new(1, 64);
        let mut want = VecDeque::new();
        for (number, process) in processes.iter().enumerate() {
            ring.push(process);
            want.push_back(process);
            if number % 3 == 0 {
                let (one, other) = (ring.pop().unwrap(), want.pop_front().unwrap());
                assert!(core::ptr::eq(one, other));
            }
        }
        ring.reverse();
        want.make_contiguous().reverse();
        ring.swap_first(2);
        want.swap(0, 2);
        let all = ring.take();
        assert!(
            all.len() == want.len() && all.iter().zip(&want).all(|(one, other)| core::ptr::eq(*one, *other))
        );
        assert!(ring.pop().is_none());
    }
}
