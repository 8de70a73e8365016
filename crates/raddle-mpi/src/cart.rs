//! Owns: `Cart`: ranks as a grid, and which part of an array each has.
//! May use: `error`, `net`.
//! Never: a message.

use crate::error::NetError;
use crate::net::Net;
use std::ops::Range;

/// The ranks as a grid of three axes, without wrapping round; the first axis varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cart {
    ranks: [usize; 3],
    at: [usize; 3],
}

impl Cart {
    /// A grid of so many ranks along each axis, all of the net's.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if those are not as many as there are.
    pub fn new(net: &Net, ranks: [usize; 3]) -> Result<Cart, NetError> {
        Cart::of(net.rank(), net.size(), ranks)
    }

    /// The grid whose parts of an array of that size have the smallest faces.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if there are more ranks than can have a part.
    pub fn fitting(net: &Net, size: [usize; 3]) -> Result<Cart, NetError> {
        let ranks = fitting(net.size(), size);
        let ranks = ranks
            .ok_or_else(|| NetError::Misuse(format!("{size:?} has no parts for {} ranks", net.size())))?;
        Cart::new(net, ranks)
    }

    pub(crate) fn of(rank: usize, size: usize, ranks: [usize; 3]) -> Result<Cart, NetError> {
        if ranks.iter().product::<usize>() != size {
            return Err(NetError::Misuse(format!("a grid of {ranks:?} ranks, and there are {size}")));
        }
        let at = [rank % ranks[0], rank / ranks[0] % ranks[1], rank / (ranks[0] * ranks[1])];
        Ok(Cart { ranks, at })
    }

    /// How many ranks there are along each axis.
    pub fn ranks(&self) -> [usize; 3] {
        self.ranks
    }

    /// The neighbour along an axis, if there is one: before the caller's rank, or after it.
    pub fn neighbour(&self, axis: usize, after: bool) -> Option<usize> {
        let mut at = self.at;
        at[axis] = if after { at[axis] + 1 } else { at[axis].checked_sub(1)? };
        let is_there = at[axis] < self.ranks[axis];
        is_there.then(|| self.rank_at(at))
    }

    /// The neighbour a step away along each axis that is not 0.
    pub(crate) fn beside(&self, side: [isize; 3]) -> Option<usize> {
        let mut at = [0; 3];
        for axis in 0..3 {
            at[axis] = self.at[axis].checked_add_signed(side[axis]).filter(|at| *at < self.ranks[axis])?;
        }
        Some(self.rank_at(at))
    }

    fn rank_at(&self, at: [usize; 3]) -> usize {
        at[0] + self.ranks[0] * (at[1] + self.ranks[1] * at[2])
    }

    /// Where the caller's rank is along each axis.
    pub fn at(&self) -> [usize; 3] {
        self.at
    }

    /// The ranks along an axis, through the caller's: a row of the grid, or a column.
    ///
    /// # Panics
    /// If the axis is none of 0, 1 and 2.
    pub fn line(&self, axis: usize) -> Vec<usize> {
        let mut at = self.at;
        (0..self.ranks[axis])
            .map(|place| {
                at[axis] = place;
                self.rank_at(at)
            })
            .collect()
    }

    /// The caller's part of `size` cells along an axis; parts differ by at most one cell.
    pub fn part(&self, axis: usize, size: usize) -> Range<usize> {
        let (at, ranks) = (self.at[axis], self.ranks[axis]);
        let start = |at: usize| at * (size / ranks) + at.min(size % ranks);
        start(at)..start(at + 1)
    }
}

fn fitting(count: usize, size: [usize; 3]) -> Option<[usize; 3]> {
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    let grids = divisors(count)
        .flat_map(|z| divisors(count / z).map(move |y| [count / z / y, y, z]))
        .filter(|ranks| ranks.iter().zip(&size).all(|(ranks, size)| ranks <= size));
    let cells = |axis: usize, ranks: [usize; 3]| size[axis].div_ceil(ranks[axis]);
    let faces = |ranks: &[usize; 3]| -> usize {
        let cut = (0..3).filter(|axis| ranks[*axis] > 1);
        // A rank in the middle has two neighbours.
        let both = |axis: usize| {
            cells((axis + 1) % 3, *ranks) * cells((axis + 2) % 3, *ranks) * (ranks[axis] - 1).min(2)
        };
        cut.map(both).sum()
    };
    // Of equals the one that cuts the last axis: its faces are whole planes.
    grids.min_by_key(|ranks| (faces(ranks), ranks[0], ranks[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_and_neighbours_agree() {
        let ranks = [3, 2, 2];
        for axis in 0..3 {
            let mut covered = 0;
            for rank in 0..12 {
                let cart = Cart::of(rank, 12, ranks).expect("a grid");
                assert!(cart.part(axis, 17).len().abs_diff(17 / ranks[axis]) <= 1);
                covered += cart.part(axis, 17).len();
                let after = cart.neighbour(axis, true).map(|peer| Cart::of(peer, 12, ranks).expect("a grid"));
                if let Some(after) = after {
                    assert_eq!(after.neighbour(axis, false), Some(rank));
                    assert_eq!(after.part(axis, 17).start, cart.part(axis, 17).end);
                }
            }
            assert_eq!(covered, 17 * 12 / ranks[axis]);
        }
        assert!(matches!(Cart::of(0, 11, ranks), Err(NetError::Misuse(_))));
    }

    #[test]
    fn a_fitting_grid_has_small_faces() {
        assert_eq!(fitting(2, [512, 512, 128]), Some([1, 2, 1]));
        assert_eq!(fitting(2, [64, 64, 64]), Some([1, 1, 2]));
        assert_eq!(fitting(8, [64, 64, 64]), Some([2, 2, 2]));
        assert_eq!(fitting(7, [2, 2, 9]), Some([1, 1, 7]));
        assert_eq!(fitting(7, [2, 2, 2]), None);
    }
}
