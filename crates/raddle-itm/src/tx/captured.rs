//! Owns: which memory a transaction has got itself, so that nobody else can see it before the commit.
//! May use: nothing.
//! Never: freeing it.
//!
//! It is read and written by itself: it is gone if the transaction fails. Functions that the program calls pure read it
//! so, too, and the standard library's constructors of exceptions write it so, after they have written it by calls.

/// So many of the last ones are looked through. What is older is read and written as memory of others is.
const LAST: usize = 16;

/// Blocks, the last one last.
#[derive(Default)]
pub(crate) struct Captured {
    blocks: Vec<(usize, usize)>,
    lowest: usize,
    /// From the lowest address of a block to behind the highest one.
    span: usize,
}

impl Captured {
    pub(crate) const fn mark(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn push(&mut self, address: usize, size: usize) {
        let end = address.saturating_add(size);
        let is_first = self.blocks.is_empty();
        let lowest = if is_first { address } else { self.lowest.min(address) };
        let highest = if is_first { end } else { end.max(self.lowest + self.span) };
        (self.lowest, self.span) = (lowest, highest - lowest);
        self.blocks.push((address, size));
    }

    pub(crate) fn truncate(&mut self, mark: usize) {
        self.blocks.truncate(mark);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.span = 0;
    }

    /// False if `address` lies in none for certain.
    #[inline(always)]
    pub(crate) const fn may_hold(&self, address: usize) -> bool {
        address.wrapping_sub(self.lowest) < self.span
    }

    #[inline(always)]
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.may_hold(address) && self.is_in_one(address)
    }

    fn is_in_one(&self, address: usize) -> bool {
        self.blocks.iter().rev().take(LAST).any(|&(start, size)| address.wrapping_sub(start) < size)
    }
}
