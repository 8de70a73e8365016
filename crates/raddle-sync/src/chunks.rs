//! Owns: `ChunkedQueue`, first in, first out, whose memory goes as it empties.
//! May use: nothing.
//! Never: a message moved once more because the queue grows or shrinks.
//!
//! A queue of chunks: messages are taken from the first and put into the last. A chunk that has been emptied is kept
//! for the next that is needed, and the one after that is given back: so a queue keeps the memory for two chunks,
//! however large it was.
//!
//! Alternatives: one ring that grows and shrinks (bench `flow`, a million messages: 10 to 20 % slower, since each cycle
//! moves messages and has the system map the memory anew; and to move a million inside a lock takes a millisecond); a
//! list of small blocks, as `crossbeam-channel` has (an allocation for each 31 messages).

use std::collections::VecDeque;

/// See the module.
pub(crate) struct ChunkedQueue<T> {
    /// Empty only if all are. Grows up to a chunk, and by what is put before it.
    first: VecDeque<T>,
    /// In order; only the last may have room.
    rest: VecDeque<VecDeque<T>>,
    spare: Option<VecDeque<T>>,
    len: usize,
}

impl<T> ChunkedQueue<T> {
    /// So many messages to a chunk: two pages, or 16.
    const CHUNK: usize = {
        let bytes = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        if 8192 / bytes < 16 { 16 } else { 8192 / bytes }
    };

    pub(crate) const fn new() -> Self {
        ChunkedQueue { first: VecDeque::new(), rest: VecDeque::new(), spare: None, len: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push_back(&mut self, message: T) {
        self.len += 1;
        if self.rest.is_empty() && self.first.len() < Self::CHUNK {
            self.first.push_back(message);
        } else {
            self.push_behind_first(message);
        }
    }

    /// Puts a message before all others.
    pub(crate) fn push_front(&mut self, message: T) {
        self.len += 1;
        self.first.push_front(message);
    }

    #[inline(never)]
    fn push_behind_first(&mut self, message: T) {
        match self.rest.back_mut() {
            Some(last) if last.len() < Self::CHUNK => last.push_back(message),
            _ => {
                let mut chunk = self.spare.take().unwrap_or_else(|| VecDeque::with_capacity(Self::CHUNK));
                chunk.push_back(message);
                self.rest.push_back(chunk);
            }
        }
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let message = self.first.pop_front()?;
        self.len -= 1;
        if self.first.is_empty() && self.len > 0 {
            self.go_on_to_next();
        }
        Some(message)
    }

    #[inline(never)]
    fn go_on_to_next(&mut self) {
        if let Some(next) = self.rest.pop_front() {
            self.spare = Some(std::mem::replace(&mut self.first, next));
        }
        if self.rest.is_empty() {
            // The list of chunks has grown, too.
            self.rest = VecDeque::new();
        }
    }

    /// The messages for which it has memory.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        let chunks = self.rest.iter().chain(&self.spare).chain([&self.first]);
        chunks.map(VecDeque::capacity).sum()
    }
}

/// A message whose drop panics is the last that is dropped: the others are leaked, as by `crossbeam-channel`. A second
/// panic would abort.
impl<T> Drop for ChunkedQueue<T> {
    fn drop(&mut self) {
        struct LeaksRest<'q, T>(&'q mut ChunkedQueue<T>);

        impl<T> Drop for LeaksRest<'_, T> {
            fn drop(&mut self) {
                std::mem::forget(std::mem::take(self.0));
            }
        }

        if std::mem::needs_drop::<T>() {
            let rest = LeaksRest(self);
            while let Some(message) = rest.0.pop_front() {
                drop(message);
            }
            std::mem::forget(rest);
        }
    }
}

impl<T> Default for ChunkedQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way through it, beside a queue of which nobody doubts anything.
    #[test]
    fn it_does_what_a_deque_does() {
        let mut random = 7_u64;
        let mut next = move |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for _ in 0..20 {
            let (mut ours, mut deque) = (ChunkedQueue::new(), VecDeque::new());
            for n in 0..40 {
                let grows = next(2) == 0;
                for k in 0..next(3000) {
                    if next(50) == 0 {
                        ours.push_front((n, k));
                        deque.push_front((n, k));
                    } else if next(8) < if grows { 6 } else { 2 } {
                        ours.push_back((n, k));
                        deque.push_back((n, k));
                    } else {
                        assert_eq!(ours.pop_front(), deque.pop_front());
                    }
                    assert_eq!((ours.len(), ours.is_empty()), (deque.len(), deque.is_empty()));
                }
            }
            while let Some(message) = deque.pop_front() {
                assert_eq!(ours.pop_front(), Some(message));
            }
            assert_eq!(ours.pop_front(), None);
        }
    }

    #[test]
    fn what_was_large_keeps_two_chunks() {
        let mut queue = ChunkedQueue::new();
        for round in 1..4 {
            (0..round * 100_000).for_each(|n: u64| queue.push_back(n));
            (0..round * 100_000).for_each(|n| assert_eq!(queue.pop_front(), Some(n)));
            let two = 2 * ChunkedQueue::<u64>::CHUNK;
            assert!(queue.capacity() <= two, "room for {} of {two}", queue.capacity());
        }
    }

    #[test]
    fn messages_without_a_size_and_large_ones() {
        let mut nothing = ChunkedQueue::new();
        (0..100_000).for_each(|_| nothing.push_back(()));
        assert_eq!(std::iter::from_fn(|| nothing.pop_front()).count(), 100_000);
        let mut large = ChunkedQueue::new();
        (0..100_u8).for_each(|n| large.push_back([n; 2000]));
        (0..100).for_each(|n| assert_eq!(large.pop_front(), Some([n; 2000])));
    }
}
