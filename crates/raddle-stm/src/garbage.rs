//! Owns: `Garbage`, something that will be freed; `Heap`, where it waits until nobody can read it.
//! May use: nothing.
//! Never: knowing who reads.

use std::collections::VecDeque;

/// Something that will be freed.
#[derive(Debug)]
pub(crate) struct Garbage {
    what: *mut (),
    free: unsafe fn(*mut ()),
    /// Who begins at this time or later does not find it.
    out_of_reach: u64,
}

// SAFETY: values and variables are `Send`, and whoever has this is the only one that frees it.
unsafe impl Send for Garbage {}

impl Garbage {
    /// # Safety
    /// `free` frees `what`, which nobody finds who begins a transaction at `out_of_reach` or later; and it is dropped
    /// when all who have begun earlier have ended.
    #[inline(always)]
    pub(crate) const unsafe fn new(what: *mut (), free: unsafe fn(*mut ()), out_of_reach: u64) -> Garbage {
        Garbage { what, free, out_of_reach }
    }
}

impl Drop for Garbage {
    fn drop(&mut self) {
        // SAFETY: the maker says so.
        unsafe { (self.free)(self.what) };
    }
}

/// Garbage that waits for its time. Of what goes into it each is out of reach at the same time as the one before, or
/// later: a slot has one owner at a time, and the clock goes one way.
#[derive(Debug)]
pub(crate) struct Heap {
    waiting: VecDeque<Garbage>,
    /// So much waits before anybody looks whether the time has come.
    enough: usize,
}

/// So much more is to wait before the next look: that reads the cache lines of all slots.
const ENOUGH: usize = 64;

/// Memory for more than this is given back when nothing waits.
const KEPT_MAX: usize = 1 << 12;

impl Heap {
    pub(crate) const fn new() -> Heap {
        Heap { waiting: VecDeque::new(), enough: ENOUGH }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, garbage: Garbage) {
        self.waiting.push_back(garbage);
    }

    /// Whether it is time for [`ripe`](Self::ripe).
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= self.enough
    }

    /// Whether something waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out what is out of reach of all who have begun at `oldest` or later, and they are all that run.
    #[cold]
    pub(crate) fn ripe(&mut self, oldest: u64) -> Vec<Garbage> {
        let ripe = self.waiting.iter().take_while(|garbage| garbage.out_of_reach <= oldest).count();
        let ripe = self.waiting.drain(..ripe).collect();
        self.enough = self.waiting.len() + ENOUGH;
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT_MAX {
            self.waiting = VecDeque::new();
        }
        ripe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_for_long_is_taken_out_soon_after() {
        let mut heap = Heap::new();
        let add = |heap: &mut Heap, time| {
            // SAFETY: it frees nothing.
            heap.add(unsafe { Garbage::new(std::ptr::null_mut(), |_| (), time) });
        };
        for time in 1..=10_000 {
            add(&mut heap, time);
            if heap.is_full() {
                assert!(heap.ripe(0).is_empty());
            }
        }
        for time in 10_001..=10_000 + ENOUGH as u64 {
            add(&mut heap, time);
        }
        assert!(heap.is_full());
        assert_eq!(heap.ripe(9_000).len(), 9_000);
        assert!(!heap.is_full());
        assert_eq!(heap.ripe(u64::MAX).len(), 1_000 + ENOUGH);
        assert!(heap.is_empty());
    }
}
