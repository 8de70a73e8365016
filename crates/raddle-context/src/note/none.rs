//! Owns: no notes: this build's switch keeps none.
//! May use: `context`, `stack`, `switch`.
//! Never: a note.

use crate::context::Context;
use crate::stack::Stack;
use crate::switch::transfer_here;

/// No notes are kept.
pub const ARE_KEPT: bool = false;

/// As [`transfer_here`].
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn transfer_here_noting<const NUMBER: u32>(
    from: *mut Context,
    to: *mut Context,
    storage: usize,
    _words: [usize; 3],
) {
    // SAFETY: passed on to the caller.
    unsafe { transfer_here(from, to, storage) };
}

/// None is found.
///
/// # Safety
/// As in the plain build.
pub unsafe fn of(_context: &Context, _stack: &Stack) -> Option<(u32, [usize; 3])> {
    None
}
