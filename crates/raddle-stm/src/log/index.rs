//! Owns: `Index`: where in a long list of writes a variable stands.
//! May use: `variable`.
//! Never: the list.
//!
//! Open addressing with linear probing, at most half full; made when the list becomes long, since a short one is
//! searched faster.

use crate::variable::HeadRef;

/// See the module. It is in use if it has places.
#[derive(Debug)]
pub(super) struct Index {
    /// The number in the list, from 1 on; 0 is empty. A power of two of them.
    places: Vec<u32>,
    /// So many of the list are in it.
    known: usize,
    /// So many places are not empty: some may tell of what has left the list, or of a number that another has now. Who
    /// looks compares.
    used: usize,
}

const EMPTY: u32 = 0;

impl Index {
    /// A list of this length is worth an index.
    pub(super) const WORTH: usize = 16;

    pub(super) const fn new() -> Index {
        Index { places: Vec::new(), known: 0, used: 0 }
    }

    #[inline(always)]
    pub(super) const fn is_in_use(&self) -> bool {
        !self.places.is_empty()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Index::new();
    }

    /// The list has so many elements now.
    pub(super) fn truncate(&mut self, length: usize) {
        self.known = self.known.min(length);
    }

    /// The list, whose elements `head` tells, has `length` elements now.
    #[cold]
    pub(super) fn add(&mut self, length: usize, head: impl Fn(usize) -> HeadRef) {
        if 2 * (self.used + length - self.known) > self.places.len() {
            self.places = vec![EMPTY; (4 * length).next_power_of_two()];
            (self.known, self.used) = (0, 0);
        }
        for at in self.known..length {
            let place = self.probe(head(at), |_| false);
            self.places[place] = u32::try_from(at + 1).expect("a transaction that writes so much");
        }
        self.used += length - self.known;
        self.known = length;
    }

    /// Where the variable stands in the list.
    pub(super) fn find(&self, wanted: HeadRef, head: impl Fn(usize) -> Option<HeadRef>) -> Option<usize> {
        let place = self.probe(wanted, |at| head(at) == Some(wanted));
        (self.places[place] as usize).checked_sub(1)
    }

    /// The first place, from the variable's own on, that is empty or whose element is wanted.
    fn probe(&self, from: HeadRef, is_wanted: impl Fn(usize) -> bool) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (from.addr().get() as u64).wrapping_mul(GOLDEN) >> 32;
        let mask = self.places.len() - 1;
        let mut place = mixed as usize & mask;
        while self.places[place] != EMPTY && !is_wanted(self.places[place] as usize - 1) {
            place = (place + 1) & mask;
        }
        place
    }
}
