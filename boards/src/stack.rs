//! Owns: how much of the stack was ever used: the first instructions of a board fill it with a pattern.
//! May use: what the linker says of it.
//! Never: the stack's own words but to look at them.

const PATTERN: u32 = 0xa5a5_a5a5;

unsafe extern "C" {
    static stack_bottom: u32;
    static stack_top: u32;
}

/// The most bytes that were ever in use, and all that there are.
pub(crate) fn most() -> [usize; 2] {
    let (bottom, top) = (&raw const stack_bottom, &raw const stack_top);
    let mut at = bottom;
    while at < top {
        // SAFETY: it is a word of the stack, which is memory.
        let word = unsafe { at.read_volatile() };
        if word != PATTERN {
            break;
        }
        at = at.wrapping_add(1);
    }
    [top.addr() - at.addr(), top.addr() - bottom.addr()]
}
