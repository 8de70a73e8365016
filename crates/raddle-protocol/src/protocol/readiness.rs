//! Owns: `Readiness`: one direction of a descriptor, of which the kernel tells only that it has become ready.
//! May use: `loom`.
//! Never: the call that tries; who waits, who does so at the word as at a futex.
//!
//! The kernel tells an edge once, to whichever worker looks. Who wants to read says so ([`want`](Readiness::want)),
//! and gets the number of edges so far; then it tries, and if nothing is there waits as long as that number stands.
//! An edge counts first and then looks whether anybody has ever wanted: if not there is nobody to wake.
//!
//! | word | values | who changes it |
//! |---|---|---|
//! | `edges` | how often something was told, and wraps | who looks for the kernel |
//! | `wanted` | whether anybody has wanted it since it was made | who wants |
//!
//! *No edge is lost.* An edge that comes before the number was read was there before the try, which sees its readiness.
//! One that comes later has changed the number; and of `wanted` it sees that it is set, by the fences: of the one that
//! wants, between the mark and the number, and of the edge, between the number and the mark, one is first.

use crate::prim::{AtomicBool, AtomicU32, Ordering, fence};

/// One direction of a descriptor.
#[derive(Debug)]
#[cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]
pub struct Readiness {
    edges: AtomicU32,
    wanted: AtomicBool,
}

impl Default for Readiness {
    fn default() -> Readiness {
        Readiness { edges: AtomicU32::new(0), wanted: AtomicBool::new(false) }
    }
}

impl Readiness {
    /// The caller wants it, and is about to try: the number with which to wait if that fails.
    #[inline]
    pub fn want(&self) -> u32 {
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with the one in `tell`
        }
        // Acquire pairs with the release in `tell`: the try sees what was ready before that edge.
        self.edges.load(Ordering::Acquire)
    }

    /// An edge. True if those who wait at the [word](Self::word) are to be woken.
    #[inline]
    pub fn tell(&self) -> bool {
        // Release pairs with the acquire in `want`.
        self.edges.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst); // pairs with the one in `want`
        self.wanted.load(Ordering::Relaxed)
    }

    /// What one waits at, as long as it has the number.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.edges
    }

    /// It is another descriptor's from now on.
    #[inline]
    pub fn reset(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}
