//! Owns: what a transaction changes by itself, since nobody else sees it; to be put back if it runs again.
//! May use: nothing.
//! Never: the frames below the call that began the transaction: they are gone when it begins anew.
//!
//! It holds `unsafe` for reading and writing what the compiler names.

use std::ptr::{copy_nonoverlapping, with_exposed_provenance, with_exposed_provenance_mut};

/// Where something stood.
#[derive(Clone, Copy)]
pub(crate) struct KeptPlace {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// In a frame of what the transaction calls. It may be gone by the time that it is put back, and its memory be that
    /// of the frame which does that.
    pub(crate) is_in_frame: bool,
}

/// What stood in some places, the last first in the end.
#[derive(Default)]
pub(crate) struct Locals {
    bytes: Vec<u8>,
    places: Vec<KeptPlace>,
}

impl Locals {
    pub(crate) const fn mark(&self) -> usize {
        self.places.len()
    }

    /// Keeps what stands there.
    ///
    /// # Safety
    /// So many bytes can be read there.
    pub(crate) unsafe fn keep(&mut self, place: KeptPlace) {
        let size = place.size;
        let from = with_exposed_provenance::<u8>(place.address);
        self.bytes.reserve(size);
        let end = self.bytes.len();
        // SAFETY: the caller's, and there is room.
        unsafe { copy_nonoverlapping(from, self.bytes.as_mut_ptr().wrapping_add(end), size) };
        // SAFETY: they are written.
        unsafe { self.bytes.set_len(end + size) };
        self.places.push(place);
    }

    /// Puts back what was kept since `mark`, but for frames below `stack`: they are gone.
    ///
    /// # Safety
    /// What was kept can be written.
    pub(crate) unsafe fn put_back(&mut self, mark: usize, stack: usize) {
        while self.places.len() > mark {
            let KeptPlace { address, size, is_in_frame } =
                self.places.pop().expect("there are more than the mark");
            let start = self.bytes.len() - size;
            if !is_in_frame || address >= stack {
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
