//! Owns: who queues for the locks of shared channel ends, on a machine where they are few.
//! May use: nothing.
//! Never: a lock's word; the protocol in `lock` has it.

use alloc::vec::Vec;

/// Who waits for which lock, and since when: a number that grows.
#[derive(Debug, Default)]
pub(crate) struct LockQueues {
    waiting: Vec<(u32, u32, u64)>,
    next: u64,
}

impl LockQueues {
    pub(crate) fn push(&mut self, lock: u32, process: u32) {
        self.waiting.push((lock, process, self.next));
        self.next += 1;
    }

    /// Who queues first, and leaves; and whether that was the only one. `None` if nobody queues.
    pub(crate) fn pop(&mut self, lock: u32) -> Option<(u32, bool)> {
        let of_lock = |waiting: &[(u32, u32, u64)]| {
            let all = (0..waiting.len()).filter(|&at| waiting[at].0 == lock);
            all.min_by_key(|&at| waiting[at].2)
        };
        let place = of_lock(&self.waiting)?;
        // Not `swap_remove`, which moves by a function that is larger than all of this.
        let last = self.waiting.pop()?;
        let first = self.waiting.get_mut(place).map_or(last, |hole| core::mem::replace(hole, last));
        Some((first.1, of_lock(&self.waiting).is_none()))
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
