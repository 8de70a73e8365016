//! Owns: the queue of the scheduler for one thread, by priority.
//! May use: `process`.
//! Never: is asked before somebody has chosen a priority.
//!
//! Whoever can run comes into the ring, as always, and from there to the others of his priority when the next one is
//! asked for. So a process runs as soon as the one before it gives way, if nobody who goes first can.

use super::ring::Ring;
use crate::process::Process;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::cell::RefCell;

/// Who can run, by priority; no queue is empty.
pub(super) struct Levels<'m, L>(RefCell<BTreeMap<u32, VecDeque<&'m Process<L>>>>);

impl<L> Default for Levels<'_, L> {
    fn default() -> Self {
        Levels(RefCell::default())
    }
}

impl<'m, L> Levels<'m, L> {
    /// Who is next; among those who may be, the one that the seed says, if it is not 0.
    #[cold]
    pub(super) fn next(&self, ring: &Ring<'m, L>, seed: u64) -> Option<&'m Process<L>> {
        let mut levels = self.0.borrow_mut();
        while let Some(process) = ring.pop() {
            levels.entry(process.level()).or_default().push_back(process);
        }
        let mut first = levels.first_entry()?;
        let queue = first.get_mut();
        if seed != 0 {
            queue.swap(0, (seed >> 33) as usize % queue.len());
        }
        let next = queue.pop_front();
        if queue.is_empty() {
            first.remove();
        }
        next
    }

    pub(super) fn len(&self) -> usize {
        self.0.borrow().values().map(VecDeque::len).sum()
    }

    /// All of them; none is left.
    pub(super) fn take(&self) -> Vec<&'m Process<L>> {
        self.0.take().into_values().flatten().collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_goes_first_and_equals_in_order() {
        let processes: Vec<Process<()>> = (0..6).map(|_| Process::default()).collect();
        for (process, level) in processes.iter().zip([16, 3, 31, 3, 16, 0]) {
            process.set_level(level);
        }
        let (ring, levels) = (Ring::new(1, 8), Levels::default());
        processes.iter().take(5).for_each(|process| ring.push(process));
        let mut order = Vec::new();
        order.extend(levels.next(&ring, 0));
        assert_eq!(levels.len(), 4);
        ring.push(&processes[5]);
        order.extend(core::iter::from_fn(|| levels.next(&ring, 0)));
        let place = |process: &Process<()>| processes.iter().position(|it| core::ptr::eq(it, process));
        let places: Vec<_> = order.into_iter().filter_map(place).collect();
        assert_eq!(places, [1, 5, 3, 0, 4, 2]);
    }
}
