//! Owns: `DistArray`: a rank's part of an array of three axes, with one layer of ghost cells around it.
//! May use: `cart`, `error`, `huge`, `share`, `sweep`.
//! Never: a message.

use crate::cart::Cart;
use crate::error::NetError;
use crate::huge::advise;
use crate::share::Share;
use crate::sweep::{CellBlock, Colour, ColourPlane, Element, Seven, planes};
use std::ops::Range;

/// A rank's part of an array that all ranks share, one layer of ghost cells around it: what it knows of its neighbours'
/// parts, and at the ends of the array the values beyond, which begin as zero.
pub struct DistArray<T> {
    share: Share,
    cells: Vec<T>,
}

impl<T: Element> DistArray<T> {
    /// This rank's part of an array of `size` cells, all zero.
    ///
    /// # Errors
    /// [`NetError::Misuse`] if a rank would have no cells, or more than can be counted.
    pub fn new(name: &str, cart: &Cart, size: [usize; 3]) -> Result<DistArray<T>, NetError> {
        let share = Share::new(name, cart, size)?;
        // All else here computes with the lengths of the axes, whose product must be a number: places would wrap.
        let count = share
            .own
            .iter()
            .try_fold(size_of::<T>(), |bytes, range| bytes.checked_mul(range.len().checked_add(2)?))
            .filter(|bytes| isize::try_from(*bytes).is_ok());
        let Some(bytes) = count else {
            return Err(NetError::Misuse(format!(
                "`{name}`: {size:?} cells are more than memory could hold"
            )));
        };
        let count = bytes / size_of::<T>();
        // Zeros from the kernel are not touched before they are used: so they are not written here. What there is no
        // memory for would end the program.
        let mut trial = Vec::<T>::new();
        let is_refused = trial.try_reserve_exact(count).is_err();
        // Or the compiler would take an allocation away that nobody uses, and say that it was there.
        drop(std::hint::black_box(trial));
        if is_refused {
            return Err(NetError::Misuse(format!("`{name}`: there is no memory for {bytes} bytes")));
        }
        let cells = vec![T::default(); count];
        advise(&cells);
        Ok(DistArray { share, cells })
    }

    /// What plans call it.
    pub fn name(&self) -> &str {
        &self.share.name
    }

    /// The cells of the whole array along each axis.
    pub fn size(&self) -> [usize; 3] {
        self.share.size
    }

    /// Which of them are this rank's.
    pub fn own(&self) -> [Range<usize>; 3] {
        self.share.own.clone()
    }

    /// The ranks among which it is shared.
    pub fn cart(&self) -> &Cart {
        &self.share.cart
    }

    /// One of this rank's cells, by its place in the whole array.
    ///
    /// # Panics
    /// If it is another rank's.
    pub fn get(&self, at: [usize; 3]) -> T {
        self.cells[self.place(at)]
    }

    /// One of this rank's cells, or of the ghosts around them, by its place in the whole array; those before its first
    /// cell are at -1.
    ///
    /// # Panics
    /// If it is neither.
    pub fn get_with_ghosts(&self, at: [isize; 3]) -> T {
        let own = &self.share.own;
        let inside = [0, 1, 2].map(|axis| {
            let from = at[axis].checked_add(1).and_then(|at| at.checked_sub_unsigned(own[axis].start));
            from.and_then(|from| usize::try_from(from).ok()).filter(|from| *from < own[axis].len() + 2)
        });
        let [Some(x), Some(y), Some(z)] = inside else {
            panic!("`{}`: cell {at:?} is neither of this rank nor beside it: {own:?}", self.name())
        };
        self.cells[self.linear([x, y, z])]
    }

    /// Sets one of this rank's cells.
    ///
    /// # Panics
    /// If it is another rank's.
    pub fn set(&mut self, at: [usize; 3], value: T) {
        let place = self.place(at);
        self.cells[place] = value;
    }

    fn place(&self, at: [usize; 3]) -> usize {
        let own = &self.share.own;
        let is_own = (0..3).all(|axis| own[axis].contains(&at[axis]));
        assert!(is_own, "`{}`: cell {at:?} is not of this rank, which has {own:?}", self.name());
        self.linear([0, 1, 2].map(|axis| at[axis] - own[axis].start + 1))
    }

    /// All cells of one colour, a plane of the last axis at a time.
    pub fn all(&mut self, colour: Colour) -> Vec<ColourPlane<'_, T>> {
        let whole = self.share.inside();
        planes(self.block(), colour, &[whole])
    }

    /// Those that depend on a neighbour's cells, or that a neighbour has a copy of.
    pub fn annulus(&mut self, colour: Colour) -> Vec<ColourPlane<'_, T>> {
        let [whole, inner] = [self.share.inside(), self.share.inner_box()];
        // Along the last axis first: whole planes; then whole rows of what is left; then what is left of rows.
        let mut boxes = Vec::new();
        let mut rest = whole;
        for axis in [2, 1, 0] {
            for cut in [rest[axis].start..inner[axis].start, inner[axis].end..rest[axis].end] {
                let mut slab = rest.clone();
                slab[axis] = cut;
                boxes.push(slab);
            }
            rest[axis] = inner[axis].clone();
        }
        planes(self.block(), colour, &boxes)
    }

    /// Those that depend on no neighbour, and that no neighbour has a copy of.
    pub(crate) fn inner(&mut self, colour: Colour) -> Vec<ColourPlane<'_, T>> {
        let inner = self.share.inner_box();
        planes(self.block(), colour, &[inner])
    }

    /// Goes over all cells of this rank in order, each with its neighbours.
    pub fn fold<A>(&self, first: A, mut step: impl FnMut(A, Seven<T>) -> A) -> A {
        let [x, y, z] = self.share.inside();
        let mut value = first;
        for z in z {
            for y in y.clone() {
                for x in x.clone() {
                    value = step(value, self.seven([x, y, z]));
                }
            }
        }
        value
    }

    /// A cell of this rank with its neighbours, counted from its ghosts.
    #[inline]
    fn seven(&self, at: [usize; 3]) -> Seven<T> {
        let (cells, place, own) = (&self.cells, self.linear(at), &self.share.own);
        let [_, row, plane] = self.strides();
        Seven {
            at: [at[0] + own[0].start - 1, at[1] + own[1].start - 1, at[2] + own[2].start - 1],
            here: cells[place],
            west: cells[place - 1],
            east: cells[place + 1],
            south: cells[place - row],
            north: cells[place + row],
            below: cells[place - plane],
            above: cells[place + plane],
        }
    }

    fn block(&mut self) -> CellBlock<'_, T> {
        let own = &self.share.own;
        let offset = [own[0].start, own[1].start, own[2].start];
        let length = [own[0].len(), own[1].len(), own[2].len()];
        CellBlock::new(&mut self.cells, offset, length)
    }

    /// What there is of it without its cells.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    /// So far apart are neighbours along each axis.
    pub(crate) fn strides(&self) -> [usize; 3] {
        let own = &self.share.own;
        let row = own[0].len() + 2;
        [1, row, row * (own[1].len() + 2)]
    }

    /// For programs that are not of Rust: the address of its first cell, which stays, how far apart neighbours along
    /// each axis are, and the inner cells, counted from the first one.
    #[doc(hidden)]
    pub fn lie(&mut self) -> (*mut T, [usize; 3], [Range<usize>; 3]) {
        let inner = self.share.inner_box().map(|range| range.start - 1..range.end - 1);
        let first = self.cells.as_mut_ptr().wrapping_add(self.linear([1, 1, 1]));
        (first, self.strides(), inner)
    }

    pub(crate) fn linear(&self, at: [usize; 3]) -> usize {
        self.strides().iter().zip(at).map(|(stride, at)| stride * at).sum()
    }

    pub(crate) fn cells(&self) -> &[T] {
        &self.cells
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 PiB, which no address space of today has.
    #[test]
    fn an_array_for_which_there_is_no_memory_is_refused() {
        let cart = Cart::of(0, 1, [1, 1, 1]).expect("a grid");
        let array = DistArray::<f64>::new("u", &cart, [1 << 20, 1 << 20, 512]);
        assert!(matches!(array, Err(NetError::Misuse(_))));
    }

    #[test]
    fn an_array_that_no_memory_could_hold_is_refused() {
        let cart = Cart::of(0, 1, [1, 1, 1]).expect("a grid");
        let half = 1 << (usize::BITS / 2);
        for size in [[half - 2, half - 2, 5], [usize::MAX, 1, 1], [half, half, half], [usize::MAX / 8, 1, 1]]
        {
            let array = DistArray::<f64>::new("u", &cart, size);
            assert!(matches!(array, Err(NetError::Misuse(_))), "{size:?}");
        }
    }
}
