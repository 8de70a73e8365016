//! Owns: `Stamp`, when somebody began to wait, and the word that it is copied from.
//! May use: nothing.
//! Never: a clock, read by who waits: 20 ns, as much as the whole communication that it waits for.
//!
//! An observer that looks at a clock now and then writes into the word what time it is; who begins to wait copies the
//! word into its frame: one load of what all share and nobody changes, one store. What the number means is the
//! observer's; 0 says that there is none. A worker's own clock, which it reads at its boundaries, costs the same and
//! would be finer, but stands still during a slice: who waits after an hour's work would have waited for that hour.
//!
//! It uses one atomic word.

use std::sync::atomic::{AtomicU64, Ordering};

/// A line of its own: all read it, and it changes ten times a second.
#[repr(align(128))]
struct PaddedStamp(AtomicU64);

static NOW: PaddedStamp = PaddedStamp(AtomicU64::new(0));

/// When somebody began to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// Now.
    #[inline(always)]
    pub fn now() -> Stamp {
        Stamp(NOW.0.load(Ordering::Relaxed))
    }

    /// As a word.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Of what [`to_bits`](Self::to_bits) has given.
    pub fn from_bits(word: u64) -> Stamp {
        Stamp(word)
    }

    /// From now on this is what time it is. By the one observer that looks at a clock.
    pub fn set_now(self) {
        NOW.0.store(self.0, Ordering::Relaxed);
    }
}
