//! Owns: `Cart`: ranks as a grid, and which part of an array each has.
//! May use: `error`, `net`.
//! Never: a message.

use crate::error::NetError;
use crate::net::Net;
use std::ops::Range;
use std::sync::Arc;

/// The ranks as a grid of three axes, without wrapping round; the first axis varies fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    ranks: [usize; 3],
    at: [usize; 3],
    /// How much each place along each axis gets, of the largest number for the fastest; none if all get as much.
    shares: Option<Arc<[Vec<u64>; 3]>>,
}

/// The share of the fastest.
const WHOLE: f64 = (1_u64 << 20) as f64;

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
        // Checked: a product that wraps may be any number.
        if ranks.iter().try_fold(1_usize, |all, ranks| all.checked_mul(*ranks)) != Some(size) {
            return Err(NetError::Misuse(format!("a grid of {ranks:?} ranks, and there are {size}")));
        }
        let at = Cart::place(rank, ranks);
        Ok(Cart { ranks, at, shares: None })
    }

    /// The same grid, whose ranks get as much of an axis as they are fast: `speeds` has the speed of each rank, in any
    /// unit, the same on all of them ([`Net::speeds`] collects what each has measured). Parts stay boxes: so places
    /// along an axis whose ranks differ get as much as the slowest of them can take.
    ///
    /// ```no_run
    /// # use raddle_mpi::{Cart, DistArray, Net, NetConfig, NetError};
    /// # fn cells_a_second() -> f64 { 1.0 }
    /// # fn main() -> Result<(), NetError> {
    /// let net = Net::start(NetConfig::default())?;
    /// let cart = Cart::new(&net, [1, 1, net.size()])?.by_speeds(&net.speeds(cells_a_second())?)?;
    /// let u = DistArray::<f64>::new("u", &cart, [512, 512, 128])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NetError::Misuse`] if those are not as many as there are ranks, or one is no number above zero.
    pub fn by_speeds(&self, speeds: &[f64]) -> Result<Cart, NetError> {
        let count = self.ranks.iter().product::<usize>();
        if speeds.len() != count || !speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0) {
            let text = format!("speeds {speeds:?} of {count} ranks: a number above zero for each is needed");
            return Err(NetError::Misuse(text));
        }
        let shares = [0, 1, 2].map(|axis| {
            let slowest = |place: usize| {
                let there = (0..count).filter(|rank| Cart::place(*rank, self.ranks)[axis] == place);
                there.map(|rank| speeds[rank]).fold(f64::INFINITY, f64::min)
            };
            let slowest: Vec<f64> = (0..self.ranks[axis]).map(slowest).collect();
            let fastest = slowest.iter().copied().fold(0.0, f64::max);
            // Whole numbers: so all ranks cut at the same cells, and nobody gets nothing.
            slowest.into_iter().map(|speed| ((speed / fastest * WHOLE) as u64).max(1)).collect()
        });
        Ok(Cart { shares: Some(Arc::new(shares)), ..self.clone() })
    }

    fn place(rank: usize, ranks: [usize; 3]) -> [usize; 3] {
        [rank % ranks[0], rank / ranks[0] % ranks[1], rank / (ranks[0] * ranks[1])]
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

    /// The caller's part of `size` cells along an axis; parts differ by at most one cell, unless they go by speeds.
    pub fn part(&self, axis: usize, size: usize) -> Range<usize> {
        if let Some(shares) = &self.shares
            && size >= self.ranks[axis]
        {
            let cuts = cuts(&shares[axis], size);
            return cuts[self.at[axis]]..cuts[self.at[axis] + 1];
        }
        let (at, ranks) = (self.at[axis], self.ranks[axis]);
        let start = |at: usize| at * (size / ranks) + at.min(size % ranks);
        start(at)..start(at + 1)
    }
}

/// Where parts of that many cells begin, and where the last one ends; each has a cell at least.
fn cuts(shares: &[u64], size: usize) -> Vec<usize> {
    let (count, total) = (shares.len(), shares.iter().map(|share| u128::from(*share)).sum::<u128>());
    let (mut cuts, mut sum) = (vec![0], 0_u128);
    for (place, share) in shares.iter().enumerate() {
        sum += u128::from(*share);
        // Rounded; the product is below 2^128, since no axis has 2^64 ranks of 2^20.
        let cut = usize::try_from((size as u128 * sum + total / 2) / total).unwrap_or(size);
        let rest = count - 1 - place;
        cuts.push(cut.max(cuts[place] + 1).min(size - rest));
    }
    cuts
}

pub(crate) fn fitting(count: usize, size: [usize; 3]) -> Option<[usize; 3]> {
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
        // Their product wraps to 1.
        assert!(matches!(Cart::of(0, 1, [3, usize::MAX / 3 * 2 + 1, 1]), Err(NetError::Misuse(_))));
    }

    #[test]
    fn parts_go_by_speeds_cover_and_are_never_empty() {
        let of = |rank| Cart::of(rank, 4, [1, 1, 4]).expect("a grid");
        let lengths = |speeds: &[f64], size: usize| -> Vec<usize> {
            let part = |rank| of(rank).by_speeds(speeds).expect("speeds").part(2, size);
            (0..4).fold(0, |end, rank| {
                assert_eq!(part(rank).start, end);
                part(rank).end
            });
            assert_eq!(part(3).end, size);
            (0..4).map(|rank| part(rank).len()).collect()
        };
        assert_eq!(lengths(&[1.0, 1.0, 1.0, 1.0], 40), [10, 10, 10, 10]);
        assert_eq!(lengths(&[3.0, 1.0, 2.0, 2.0], 40), [15, 5, 10, 10]);
        assert_eq!(lengths(&[1e9, 1e-9, 1e-9, 1e9], 4), [1, 1, 1, 1]);
        assert_eq!(lengths(&[1e-9, 1e-9, 1e-9, 1.0], 100), [1, 1, 1, 97]);
        assert_eq!(lengths(&[1.0, 1e-9, 1e-9, 1e-9], 100), [97, 1, 1, 1]);
        for bad in [&[1.0; 3][..], &[0.0; 4], &[f64::NAN; 4], &[-1.0; 4], &[f64::INFINITY; 4]] {
            assert!(matches!(of(0).by_speeds(bad), Err(NetError::Misuse(_))), "{bad:?}");
        }
        // Of a plane of ranks the slowest counts.
        let cart =
            Cart::of(3, 4, [2, 2, 1]).expect("a grid").by_speeds(&[4.0, 2.0, 2.0, 4.0]).expect("speeds");
        assert_eq!((cart.part(0, 8), cart.part(1, 8)), (4..8, 4..8));
        let cart =
            Cart::of(3, 4, [2, 2, 1]).expect("a grid").by_speeds(&[3.0, 1.0, 3.0, 1.0]).expect("speeds");
        assert_eq!((cart.part(0, 8), cart.part(1, 8)), (6..8, 4..8));
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
