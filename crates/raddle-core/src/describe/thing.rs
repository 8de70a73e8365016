//! Owns: `Thing`, by which others could end a wait, and where it lies; `FirstOf`, the several of an alternation.
//! May use: nothing.
//! Never: following one.
//!
//! A mutex knows its holder. A channel does not know who has its other end, nor a barrier who has not come: to note
//! that at each use would cost each use. But whoever has an end has a pointer to the channel somewhere, mostly in its
//! frames. So a wait says at which addresses such a pointer points, and a report looks through the stacks of all who
//! stand still (`stack_search`).

use crate::describe::wait::Subject;
use std::fmt;

/// Something that a wait is for and that others may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thing {
    /// In the words of the field: `channel`.
    pub kind: &'static str,
    /// By which two waits for the same thing are known; 0 of a time.
    pub subject: usize,
    /// Who has it has a pointer to a place from here,
    pub begin: usize,
    /// to before here.
    pub end: usize,
    /// It has two ends, and each is one's only.
    pub is_between_two: bool,
}

impl Thing {
    /// A time. Nobody has it.
    pub const TIME: Thing = Thing { kind: "time", subject: 0, begin: 0, end: 0, is_between_two: false };

    /// What others have by its address.
    pub fn at<T>(kind: &'static str, thing: &T) -> Thing {
        let begin = std::ptr::from_ref(thing).addr();
        Thing { kind, subject: begin, begin, end: begin + 1, is_between_two: false }
    }

    /// What others have by its address, or by an `Arc` of it.
    pub fn shared<T>(kind: &'static str, thing: &T) -> Thing {
        Thing::within(kind, std::ptr::from_ref(thing).addr(), (0, size_of::<T>(), align_of::<T>()))
    }

    /// What lies somewhere in a whole: `(offset, size, align)` of the whole.
    pub fn within(kind: &'static str, subject: usize, whole: (usize, usize, usize)) -> Thing {
        let (offset, size, align) = whole;
        let whole = subject - offset;
        let (begin, end) = (whole - arc_counts(align), whole + size.max(1));
        Thing { kind, subject, begin, end, is_between_two: false }
    }

    /// The same, which has two ends, and each is one's only, if `only`.
    #[must_use]
    pub fn between_two(self, only: bool) -> Thing {
        Thing { is_between_two: only, ..self }
    }
}

/// So many bytes lie before what is in an `Arc`, as long as that is two counts; else nobody is found.
fn arc_counts(align: usize) -> usize {
    (2 * size_of::<usize>()).next_multiple_of(align)
}

/// One of several that somebody waits for.
pub trait Guarded {
    /// What it waits for by this one; `None` if this one is never ready.
    fn thing(&self) -> Option<Thing>;
}

/// The first of several: what an alternation or a selection waits for.
pub struct FirstOf {
    guards: *const (),
    count: usize,
    tell: unsafe fn(*const (), usize, &mut dyn FnMut(Thing)),
}

impl FirstOf {
    /// # Safety
    /// The guards are there as long as this is.
    pub unsafe fn new<G: Guarded>(guards: &[G]) -> FirstOf {
        FirstOf { guards: guards.as_ptr().cast(), count: guards.len(), tell: tell::<G> }
    }
}

/// # Safety
/// At `guards` lie `count` guards of type `G`.
unsafe fn tell<G: Guarded>(guards: *const (), count: usize, each: &mut dyn FnMut(Thing)) {
    // SAFETY: the caller vouches for it.
    let guards = unsafe { std::slice::from_raw_parts(guards.cast::<G>(), count) };
    guards.iter().filter_map(G::thing).for_each(each);
}

impl Subject for FirstOf {
    const KIND: &'static str = "choice";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        // SAFETY: who has made it vouches that they are there.
        unsafe { (self.tell)(self.guards, self.count, each) };
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (mut channels, mut times) = (0, 0);
        self.things(&mut |thing| if thing == Thing::TIME { times += 1 } else { channels += 1 });
        let ending = if channels == 1 { "" } else { "s" };
        match (channels, times) {
            (0, _) => out.write_str("a time"),
            (_, 0) => write!(out, "{channels} channel{ending}"),
            _ => write!(out, "{channels} channel{ending}, or a time"),
        }
    }
}
