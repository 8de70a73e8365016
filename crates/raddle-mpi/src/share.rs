//! Owns: `Share`: which cells of an array are a rank's, and which of them no neighbour is concerned with.
//! May use: `cart`, `error`.
//! Never: the cells themselves, nor a message: a simulation has shares of thousands of ranks.

use crate::cart::Cart;
use crate::error::NetError;
use std::ops::Range;

/// A rank's share of an array, without the cells.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) cart: Cart,
    pub(crate) size: [usize; 3],
    /// The cells of this rank.
    pub(crate) own: [Range<usize>; 3],
}

impl Share {
    /// The share of the rank that the grid is of.
    pub(crate) fn new(name: &str, cart: &Cart, size: [usize; 3]) -> Result<Share, NetError> {
        if (0..3).any(|axis| size[axis] < cart.ranks()[axis]) {
            let text = format!("`{name}`: {size:?} cells for {:?} ranks: some would have none", cart.ranks());
            return Err(NetError::Misuse(text));
        }
        let own = [0, 1, 2].map(|axis| cart.part(axis, size[axis]));
        Ok(Share { name: name.to_owned(), cart: cart.clone(), size, own })
    }

    /// The cells of this rank, counted from its ghost cells, which are at 0.
    pub(crate) fn inside(&self) -> [Range<usize>; 3] {
        [0, 1, 2].map(|axis| 1..self.own[axis].len() + 1)
    }

    /// Those of them that depend on no neighbour, and that no neighbour has a copy of.
    pub(crate) fn inner_box(&self) -> [Range<usize>; 3] {
        [0, 1, 2].map(|axis| {
            let before = usize::from(self.cart.neighbour(axis, false).is_some());
            let after = usize::from(self.cart.neighbour(axis, true).is_some());
            let start = 1 + before;
            start..(self.own[axis].len() + 1 - after).max(start)
        })
    }
}
