//! Owns: notes: a number and three words that a context leaves where it is suspended, for hang reports.
//! May use: `arch::machine`, `context`, `stack`, `walk`.
//! Never: a note of a context that runs; a write that its resume would have to undo.
//!
//! A context that waits on a hot path records what it waits for with four extra instructions: two words that it has in
//! registers, one that it loads, and the address of its call site. The words are in the frame of the switch, so nothing
//! has to clear them, and nothing points to them. A mark in the code before the resume address says that there is a
//! note, and holds its number.
//!
//! PERF: bench `commstime`; `docs/HANGS.md` has the figures.

use crate::arch::{NOTE, NOTE_MARK, NOTE_MARK_BYTES, SAVED_BYTES, peek, switch_here_noting};
use crate::context::Context;
use crate::stack::Stack;
use crate::walk::kept;

/// Whether this build keeps notes: on x86-64, except with a sanitizer or in the twin build.
pub const ARE_KEPT: bool = true;

/// Like [`transfer_here`](crate::transfer_here); until the context is resumed, [`of`] finds the note.
///
/// # Safety
/// As [`transfer_with`](crate::transfer_with).
#[inline(always)]
pub unsafe fn transfer_here_noting<const NUMBER: u32>(
    from: *mut Context,
    to: *mut Context,
    storage: usize,
    words: [usize; 3],
) {
    // SAFETY: the caller's guarantees are exactly `switch_here_noting`'s.
    unsafe { switch_here_noting::<NUMBER>(from, to, storage, words) };
}

/// The note of a context: its number and its words. `None` if it was suspended without a note, or is primed.
///
/// ```
/// use raddle_context::{Context, SizeClass, StackDepot, StackPool, note};
///
/// let stack = StackPool::new(StackDepot::new()).take(SizeClass::DEFAULT)?;
/// // SAFETY: an empty context is not resumed.
/// assert_eq!(unsafe { note::of(&Context::empty(), &stack) }, None);
/// # Ok::<(), raddle_context::StackError>(())
/// ```
///
/// # Safety
/// The context is empty, primed, or suspended on `stack`, and nobody resumes it meanwhile.
pub unsafe fn of(context: &Context, stack: &Stack) -> Option<(u32, [usize; 3])> {
    let frame = kept(context, stack);
    if frame.len() < SAVED_BYTES {
        return None;
    }
    // SAFETY: within the frame of the switch, on the stack.
    let at = |place: usize| unsafe { peek(frame.start + place) };
    let mark = at(SAVED_BYTES - size_of::<usize>()) - NOTE_MARK_BYTES;
    // SAFETY: code stands in front of a place at which one goes on: a call, or the end of a switch.
    if unsafe { peek(mark) } != NOTE_MARK {
        return None;
    }
    // SAFETY: the number stands in the upper half.
    let number = unsafe { peek(mark + NOTE_MARK_BYTES - size_of::<usize>()) } >> 32;
    Some((number as u32, NOTE.map(at)))
}
