//! Owns: whose turn it is in a ring, for runtimes whose `park` may return early.
//! May use: atomics.
//! Never: waiting; parking and unparking are the runtime's.

use std::sync::atomic::{AtomicBool, Ordering};

/// One flag for each place of the ring, each in a cache line of its own.
pub struct Turns(Box<[Flag]>);

#[repr(align(64))]
struct Flag(AtomicBool);

impl Turns {
    /// A ring of `places` in which it is nobody's turn.
    pub fn new(places: usize) -> Self {
        Turns((0..places).map(|_| Flag(AtomicBool::new(false))).collect())
    }

    /// Takes the turn of `place` if it has come; only that place asks.
    pub fn take(&self, place: usize) -> bool {
        let come = self.0[place].0.load(Ordering::Acquire);
        if come {
            self.0[place].0.store(false, Ordering::Relaxed);
        }
        come
    }

    /// Gives the turn to `place`, which must then be woken.
    pub fn give(&self, place: usize) {
        self.0[place].0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_taken_once_and_by_its_place_only() {
        let turns = Turns::new(2);
        turns.give(1);
        assert_eq!([turns.take(0), turns.take(1), turns.take(1)], [false, true, false]);
    }
}
