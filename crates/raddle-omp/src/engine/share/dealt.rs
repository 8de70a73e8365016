//! Owns: `DealtShare`, the iterations that one member of a team has of a loop, and of which others take half.
//! May use: `loom`.
//! Never: an iteration that two members have; a chunk that is cut, but for the loop's last.
//!
//! With one counter for all, each chunk is a turn of its line of the cache from core to core. Where the order of chunks
//! is nobody's business (`nonmonotonic`), each member begins with a share of its own, in a word on a line of its own:
//!
//! ```text
//! first that nobody has | where the share ends << 32
//! ```
//!
//! Its member adds a chunk to the first: what it read says whether that was there. Who has none left takes the upper
//! half of another's share, in whole chunks, by an exchange of the word that it has read: so either sees what the other
//! did. The word says all, so it does not matter whether it was another one in between. What is taken from another is
//! in no word for a moment, and then in the thief's: who looks there meanwhile finds less to do, and no harm is done.
//!
//! The loop's last chunk is dealt to nobody: it goes to the first who finds no other, and takes nothing after it.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// So many iterations at most, in chunks of at most half of that: the first may come to lie a chunk behind the end.
pub(crate) struct DealtShare(AtomicU64);

const fn parts(word: u64) -> (u64, u64) {
    (word & u32::MAX as u64, word >> 32)
}

impl DealtShare {
    pub(crate) fn new() -> DealtShare {
        DealtShare(AtomicU64::new(0))
    }

    /// The member who `at` is, of so many, has its part of the loop; before any of them begins.
    pub(crate) fn deal(&self, trip: u64, chunk: u64, (at, members): (u64, u64)) {
        let chunks = trip.div_ceil(chunk);
        let begin = |at: u64| (chunks * at / members * chunk).min(trip);
        self.set(begin(at), begin(at + 1));
    }

    /// By its member: it has the loop's last chunk, and takes no other.
    pub(crate) fn end(&self, trip: u64) {
        self.set(trip, trip);
    }

    /// By its member, who has none left: whether it had the loop's last chunk.
    pub(crate) fn is_over(&self, trip: u64) -> bool {
        parts(self.0.load(Ordering::Relaxed)).1 == trip
    }

    fn set(&self, from: u64, to: u64) {
        // What an iteration reads is ordered by the loop's begin and end; here, the word is all there is.
        self.0.store(to << 32 | from, Ordering::Relaxed);
    }

    /// By its member: its next chunk.
    #[inline]
    pub(crate) fn next(&self, chunk: u64) -> Option<(u64, u64)> {
        let (from, to) = parts(self.0.load(Ordering::Relaxed));
        if from >= to {
            return None;
        }
        // Somebody may have taken it since; then the first lies behind the end, once.
        let (from, to) = parts(self.0.fetch_add(chunk, Ordering::Relaxed));
        (from < to).then(|| (from, to.min(from + chunk)))
    }

    /// By another, who has none left in `own`: half of what is here goes there, and the first chunk of it is the next.
    pub(crate) fn half(&self, own: &DealtShare, chunk: u64) -> Option<(u64, u64)> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (from, to) = parts(word);
            if from >= to {
                return None;
            }
            let kept = (to - from).div_ceil(chunk) / 2 * chunk;
            let middle = from + kept;
            let left = middle << 32 | from;
            match self.0.compare_exchange_weak(word, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let next = to.min(middle + chunk);
                    own.set(next, to);
                    return Some((middle, next));
                }
                Err(now) => word = now,
            }
        }
    }
}
