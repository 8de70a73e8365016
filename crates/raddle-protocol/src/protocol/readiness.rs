//! Owns: `Readiness`: one direction of a descriptor, of which the kernel tells only that it has become ready.
//! May use: `loom`.
//! Never: the call that tries; who waits, who does so at the word as at a futex.
//!
//! The kernel tells an edge once, to whichever worker looks. Who wants to read says so ([`want`](Readiness::want)),
//! and gets the word so far; then it tries, and if nothing is there waits as long as no [edge](is_same_edge) has come.
//!
//! | part of the word | values | who changes it |
//! |---|---|---|
//! | above | how often something was told, and wraps | who looks for the kernel |
//! | `LEFT` | whether anybody has left a waker, in a table beside the word, since it was made | who leaves it |
//! | `WANTED` | whether anybody has wanted it since it was made: if not there is nobody to wake | who wants |
//!
//! *No edge is lost.* All of it is one word, whose changes have one order. An edge that finds no mark comes before the
//! mark, and so before the word was read that says it, and before the try, which sees its readiness. One that comes
//! later has changed the word, and sees the mark.
//!
//! *Nor does a waker wait in vain.* Who leaves one marks that, puts it into the table, under the table's lock, and then
//! looks whether an edge has come. An edge that finds the mark looks into the table, under the lock: before the waker
//! came, so that its leaver sees the edge, or after. One that does not find it is seen by the leaver, in the same word.

use crate::prim::{AtomicU32, Ordering};

/// Somebody has wanted it.
const WANTED: u32 = 1;
/// Somebody has left a waker.
const LEFT: u32 = 2;
const MARKS: u32 = WANTED | LEFT;
const EDGE: u32 = 4;

/// One direction of a descriptor.
#[derive(Debug)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub struct Readiness {
    word: AtomicU32,
}

/// Whom an edge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeTold {
    /// Those who wait at the word are to be woken.
    pub waiters: bool,
    /// Those who have left a waker are, too: they are in the table, if they wait.
    pub left: bool,
}

/// Whether no edge has come between two reads of the word.
#[inline]
pub fn is_same_edge(one: u32, other: u32) -> bool {
    (one ^ other) & !MARKS == 0
}

impl Default for Readiness {
    fn default() -> Readiness {
        Readiness { word: AtomicU32::new(0) }
    }
}

impl Readiness {
    /// The caller wants it, and is about to try: the word with which to wait if that fails.
    #[inline]
    pub fn want(&self) -> u32 {
        // Acquire pairs with the release in `tell`: the try sees what was ready before that edge.
        let word = self.word.load(Ordering::Acquire);
        if word & WANTED != 0 { word } else { self.word.fetch_or(WANTED, Ordering::Acquire) | WANTED }
    }

    /// An edge.
    #[inline]
    pub fn tell(&self) -> EdgeTold {
        // Release pairs with the acquire in `want`.
        let before = self.word.fetch_add(EDGE, Ordering::Release);
        EdgeTold { waiters: before & WANTED != 0, left: before & LEFT != 0 }
    }

    /// The caller is about to put a waker into the table.
    #[inline]
    pub fn note_left(&self) {
        if self.word.load(Ordering::Relaxed) & LEFT == 0 {
            // Relaxed: what is told is ordered by the table's lock.
            self.word.fetch_or(LEFT, Ordering::Relaxed);
        }
    }

    /// What one waits at, as long as it has the number.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// It is another descriptor's from now on.
    #[inline]
    pub fn reset(&self) {
        self.word.store(0, Ordering::Relaxed);
    }
}
