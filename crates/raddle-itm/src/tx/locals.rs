//! Owns: what a transaction changes by itself, since nobody else sees it; to be put back if it runs again.
//! May use: nothing.
//! Never: the frames below the call that began the transaction: they are gone when it begins anew.
//!
//! It holds `unsafe` for reading and writing what the compiler names.

use std::ops::Range;
use std::ptr::{copy_nonoverlapping, with_exposed_provenance, with_exposed_provenance_mut};

/// What stood in some places, the last first in the end.
#[derive(Default)]
pub(crate) struct Locals {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Locals {
    pub(crate) const fn mark(&self) -> usize {
        self.places.len()
    }

    /// Keeps what stands at `address`.
    ///
    /// # Safety
    /// So many bytes can be read there.
    pub(crate) unsafe fn keep(&mut self, address: usize, size: usize) {
        let from = with_exposed_provenance::<u8>(address);
        self.bytes.reserve(size);
        let end = self.bytes.len();
        // SAFETY: the caller's, and there is room.
        unsafe { copy_nonoverlapping(from, self.bytes.as_mut_ptr().wrapping_add(end), size) };
        // SAFETY: they are written.
        unsafe { self.bytes.set_len(end + size) };
        self.places.push((address, size));
    }

    /// Puts back what was kept since `mark`, unless it lies in `gone`.
    ///
    /// # Safety
    /// What was kept can be written.
    pub(crate) unsafe fn put_back(&mut self, mark: usize, gone: &Range<usize>) {
        while self.places.len() > mark {
            let (address, size) = self.places.pop().expect("there are more than the mark");
            let start = self.bytes.len() - size;
            if !gone.contains(&address) {
                // SAFETY: the caller's.
                unsafe {
                    copy_nonoverlapping(
                        self.bytes[start..].as_ptr(),
                        with_exposed_provenance_mut(address),
                        size,
                    );
                }
            }
            self.bytes.truncate(start);
        }
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.bytes.clear();
    }
}
