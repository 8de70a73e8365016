//! Owns: `Alternation`, the word by which the peers of one who waits for several agree on one of them.
//! May use: `order`, `loom`.
//! Never: a channel's word, a queue; whoever is told to wake, wakes.
//!
//! An alternation shows itself at every guard (a channel's word, an alarm) and then waits. A peer that takes hold of a
//! guard copies its value to the guard's own place in the alternation's frame, and then, in one step, *chooses* the
//! guard and lets go of it. If another guard was chosen first the copy counts for nothing, and the peer goes on as if
//! it had met nobody. The word counts who may still look at the frame: the owner waits at the end until all have let
//! go.
//!
//! | bits | meaning |
//! |---|---|
//! | 0..31 `HOLDS` | guards that are shown, or held by a peer; and one for the owner |
//! | 31 `WAITS` | the owner leaves its stack: wake it when a guard is chosen, or, after that, when nobody holds |
//! | 32.. | the guard that was chosen, plus one; zero while none is |
//!
//! | step | by | from | to |
//! |---|---|---|---|
//! | `open` | owner | anything of its own | `guards + 1` holds, none chosen |
//! | `choose` | a holder | none chosen | one hold less, chosen; wakes if `WAITS`, which goes |
//! | `choose` | a holder | chosen | one hold less; wakes if `WAITS` and no hold is left |
//! | `choose_own` | owner | none chosen | chosen; the holds stay, `WAITS` goes |
//! | `wait` | owner | none chosen | `WAITS` |
//! | `leave` | owner | chosen | its hold and those of the guards that it withdrew are gone; `WAITS` if any is left |

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicU64, Ordering};

const HOLD: u64 = 1;
const HOLDS: u64 = (1 << 31) - 1;
const WAITS: u64 = 1 << 31;
const CHOSEN: u32 = 32;

/// What a peer that chose, or came too late to choose, must do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Choice {
    /// This guard was chosen: what was copied is handed over.
    pub won: bool,
    /// The owner waits for this step: queue it. If not, its frame may be gone.
    pub wake: bool,
}

/// The word.
#[derive(Debug)]
pub struct Alternation(AtomicU64);

impl Alternation {
    /// The word of an owner that waits for nothing.
    #[inline]
    pub fn new() -> Self {
        Alternation(AtomicU64::new(0))
    }

    /// Begins a round with so many guards. Nobody knows the word yet, or any more.
    #[inline]
    pub fn open(&self, guards: u32) {
        // Relaxed: each guard is shown by a step that publishes.
        self.0.store(u64::from(guards) + HOLD, Ordering::Relaxed);
    }

    /// A peer that holds `guard` chooses it if none is chosen, and lets go of it.
    #[inline]
    pub fn choose(&self, guard: u32) -> Choice {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let won = now >> CHOSEN == 0;
            let (to, wake) = if won {
                ((now - HOLD) & !WAITS | (u64::from(guard) + 1) << CHOSEN, now & WAITS != 0)
            } else {
                (now - HOLD, now & WAITS != 0 && now & HOLDS == HOLD)
            };
            match self.0.compare_exchange_weak(now, to, order::ALTERNATION_CHOOSE(), Ordering::Relaxed) {
                Ok(_) => return Choice { won, wake },
                Err(other) => now = other,
            }
        }
    }

    /// The owner, which runs, chooses a guard that it found ready itself. False if a peer was first, which then wakes
    /// it if it has said that it waits.
    #[inline]
    #[must_use]
    pub fn choose_own(&self, guard: u32) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        while now >> CHOSEN == 0 {
            let to = now & !WAITS | (u64::from(guard) + 1) << CHOSEN;
            // Relaxed: the owner sees what others did when it leaves, and shows them nothing.
            match self.0.compare_exchange_weak(now, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// The owner waits: its context is saved, or who wakes it asks for that. False if a guard is chosen already.
    #[must_use]
    #[inline]
    pub fn wait(&self) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        while now >> CHOSEN == 0 {
            let release = order::ALTERNATION_WAIT();
            match self.0.compare_exchange_weak(now, now | WAITS, release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// The guard that was chosen, once nobody else holds the frame: the owner has withdrawn all but `held` of its
    /// guards. `None` if somebody has not let go yet.
    #[inline]
    pub fn left(&self, withdrawn: u32) -> Option<u32> {
        let now = self.0.load(order::ALTERNATION_LEFT());
        let left = now & HOLDS == u64::from(withdrawn) + HOLD;
        left.then(|| chosen(now))
    }

    /// As [`wait`](Self::wait), until all have let go. False if they have.
    #[must_use]
    #[inline]
    pub fn leave(&self, withdrawn: u32) -> bool {
        let mut now = self.0.load(order::ALTERNATION_LEFT());
        while now & HOLDS != u64::from(withdrawn) + HOLD {
            let to = (now - u64::from(withdrawn) - HOLD) | WAITS;
            let (release, acquire) = (order::ALTERNATION_WAIT(), order::ALTERNATION_LEFT());
            match self.0.compare_exchange_weak(now, to, release, acquire) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// The guard that was chosen; the owner has waited until all have let go.
    #[inline]
    pub fn result(&self) -> u32 {
        chosen(self.0.load(Ordering::Relaxed))
    }
}

#[inline]
fn chosen(word: u64) -> u32 {
    // 32 bits are left of 64, and a guard was chosen before anybody left.
    (word >> CHOSEN) as u32 - 1
}
