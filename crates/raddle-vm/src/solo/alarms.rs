//! Owns: who is to be signalled when.
//! May use: nothing.
//! Never: the clock.
//!
//! A few have room from the beginning, so that a machine on a board takes no block of the heap for a wait; where there
//! are more, the others are in a tree, if the machine is one for many (feature `large`).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

const LARGE: bool = cfg!(feature = "large");

/// So many have room.
const NEAR: usize = 16;

/// Times of the world's clock, each with the number of a process.
#[derive(Debug)]
pub(crate) struct Alarms {
    /// In no order.
    near: Vec<(u64, u32)>,
    far: BTreeSet<(u64, u32)>,
}

impl Default for Alarms {
    fn default() -> Self {
        Alarms { near: Vec::with_capacity(NEAR), far: BTreeSet::new() }
    }
}

impl Alarms {
    pub(crate) fn insert(&mut self, alarm: (u64, u32)) {
        let is_there = self.near.contains(&alarm) || LARGE && self.far.contains(&alarm);
        if !is_there && (!LARGE || self.near.len() < NEAR) {
            self.near.push(alarm);
        } else if LARGE && !is_there {
            self.far.insert(alarm);
        }
    }

    pub(crate) fn remove(&mut self, alarm: (u64, u32)) {
        if let Some(place) = self.near.iter().position(|&other| other == alarm) {
            // Not `swap_remove`, which moves by a function that is larger than all of this.
            let last = self.near.pop();
            if let (Some(last), Some(hole)) = (last, self.near.get_mut(place)) {
                *hole = last;
            }
        } else if LARGE {
            self.far.remove(&alarm);
        }
    }

    /// The next one.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.near.iter().chain(self.far.first().filter(|_| LARGE)).min().copied()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        self.near.iter().chain(&self.far).copied()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn they_are_as_in_one_tree() {
        let (mut alarms, mut want, mut random) = (Alarms::default(), BTreeSet::new(), 1_u64);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let alarm = (random >> 40 & 63, (random >> 50) as u32 & 1);
            if random >> 33 & 1 == 0 {
                alarms.insert(alarm);
                want.insert(alarm);
            } else {
                alarms.remove(alarm);
                want.remove(&alarm);
            }
            assert_eq!(alarms.first(), want.first().copied());
            assert_eq!(alarms.iter().collect::<BTreeSet<_>>(), want);
            assert_eq!(alarms.iter().count(), want.len());
        }
    }
}
