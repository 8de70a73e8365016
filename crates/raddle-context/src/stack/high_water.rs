//! Owns: how deep a stack was used, on request.
//! May use: nothing.
//! Never: the ordinary path; it costs touching the whole stack.
//!
//! Every word of a stack is set to a pattern before it is used; the lowest word that has changed since is
//! the high-water mark. A frame that reserves bytes and writes none of them is not seen, so the mark is a
//! lower bound.
//!
//! It uses the memory of a stack that nobody runs on.

use super::Stack;

/// Not zero (fresh pages), not small, not an address that Linux hands out.
const PATTERN: usize = 0x5AFE_57AC_5AFE_57AC_u64 as usize;

impl Stack {
    /// The most bytes in use at once since the stack was taken, or `None` if its depot does not fill stacks
    /// ([`StackOptions::fill`](crate::StackOptions)).
    ///
    /// May be asked from the stack itself, about itself.
    pub fn high_water_bytes(&self) -> Option<usize> {
        self.is_filled().then(|| self.top().addr() - self.lowest_used().addr())
    }

    /// Sets every word that may have changed to the pattern.
    pub(super) fn fill(&mut self) {
        let mut word = self.lowest_used();
        while word.addr() < self.top().addr() {
            // SAFETY: between limit and top, aligned, and the pool fills no stack that was given back last, so
            // that nobody runs on it.
            unsafe { word.write_volatile(PATTERN) };
            word = word.wrapping_add(1);
        }
        self.mark_filled();
    }

    /// The lowest word that does not hold the pattern, or the top.
    fn lowest_used(&self) -> *mut usize {
        let mut word = self.limit().cast::<usize>();
        // SAFETY: between limit and top, aligned; the memory is mapped, and whoever writes there is the caller.
        while word.addr() < self.top().addr() && unsafe { word.read_volatile() } == PATTERN {
            word = word.wrapping_add(1);
        }
        word
    }
}
