//! Owns: notes: a number and three words that a context leaves where it is suspended, for whoever looks at it there.
//! May use: `arch`, which pushes the words in place of registers that need not be saved.
//! Never: a note of a context that runs; a write that its resume would have to undo.
//!
//! Who waits in a hot place says what for by four instructions more than it would take to say nothing: two words that
//! it has in registers, one that it loads, and the address of its site. The words go with the frame of the switch. So
//! neither has anybody to clear them, nor does anything point to them: that a context has left a note is told by a mark
//! in the code in front of the place at which it will go on, and the number stands there, too.
//!
//! PERF: bench `commstime`; `docs/HANGS.md` has the figures.

use crate::arch::{NOTE, NOTE_MARK, NOTE_MARK_BYTES, SAVED_BYTES, peek, switch_here_noting};
use crate::walk::kept;
use crate::{Context, Stack};

/// Whether notes are kept in this build: on x86-64, unless a sanitizer or the twin makes the switch.
pub const ARE_KEPT: bool = true;

/// As [`transfer_here`](crate::transfer_here); and until the context goes on, [`of`] finds the note.
///
/// # Safety
/// As [`transfer`](crate::transfer).
#[inline(always)]
pub unsafe fn transfer_here_noting<const NUMBER: u32>(
    from: *mut Context,
    to: *mut Context,
    words: [usize; 3],
) {
    // SAFETY: the caller's guarantees are exactly `switch_here_noting`'s.
    unsafe { switch_here_noting::<NUMBER>(from, to, words) };
}

/// The note that a context has left: its number and its words. `None` if it was suspended in another way, or is primed.
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
