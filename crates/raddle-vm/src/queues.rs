//! Owns: who queues for the locks of shared channel ends.
//! May use: nothing.
//! Never: a lock's word; the protocol in `lock` has it.

use alloc::collections::{BTreeMap, VecDeque};

/// Numbers of processes, by the address of the lock that they queue for: first come, first served. No queue is empty.
#[derive(Debug, Default)]
pub(crate) struct LockQueues(BTreeMap<u32, VecDeque<u32>>);

impl LockQueues {
    pub(crate) fn push(&mut self, lock: u32, process: u32) {
        self.0.entry(lock).or_default().push_back(process);
    }

    /// Who queues first, and leaves; and whether that was the only one. `None` if nobody queues.
    pub(crate) fn pop(&mut self, lock: u32) -> Option<(u32, bool)> {
        let queue = self.0.get_mut(&lock)?;
        let first = queue.pop_front()?;
        let only = queue.is_empty();
        if only {
            self.0.remove(&lock);
        }
        Some((first, only))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_lock_has_a_queue_of_its_own() {
        let mut queues = LockQueues::default();
        [(64, 1), (72, 2), (64, 3)].into_iter().for_each(|(lock, process)| queues.push(lock, process));
        assert_eq!([64, 64, 64].map(|lock| queues.pop(lock)), [Some((1, false)), Some((3, true)), None]);
        assert_eq!([72, 72].map(|lock| queues.pop(lock)), [Some((2, true)), None]);
    }
}
