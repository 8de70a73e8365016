//! Owns: `Fifo`, the private intrusive queue, and `Chain`, a loose run of linked runnables.
//! May use: `glance`.
//! Never: an atomic operation. Who holds the queue is one thread; others may glance at its length.
//!
//! The current batch of a worker is a [`Fifo`]; what travels between workers is a [`Chain`]. Both count the movable
//! ones as they pass, since only those are surplus.

use crate::glance::GlanceUsize;
use crate::protocol::header::{Header, MOVABLE, Runnable};
use std::cell::Cell;

/// How a push of what was woken counts beside the push: in the same addition. PERF: a counter of its own would be one
/// more instruction for each wake, and so for each communication; bench `line`.
const WOKEN: usize = if cfg!(raddle_uncounted) { 0 } else { 1 << PUSHES_BITS };
/// The lower bits count pushes and pops: more than can be between two calls of [`Fifo::take_woken`].
const PUSHES_BITS: u32 = 30;

/// A private first-in-first-out queue. All methods take `&self`: the owner is one thread, and no reference into
/// the queue is ever handed out, so a queue may be used again from inside what it queued.
#[derive(Debug)]
pub struct Fifo {
    first: Cell<*mut Header>,
    last: Cell<*mut Header>,
    /// Ever pushed, ever popped. Two counters that only grow: one that goes up and down would be a chain of two
    /// dependent additions through memory in every switch (PERF: 1.5 ns a yield, bench `yield2`). The upper bits of
    /// `pushed` count how many of those were woken.
    pushed: GlanceUsize,
    popped: GlanceUsize,
    movable: Cell<usize>,
}

impl Fifo {
    /// How many there are, at a glance from anywhere.
    #[cfg(not(loom))]
    #[inline]
    pub fn len_hint(&self) -> usize {
        let ahead = length(self.pushed.get(), self.popped.get());
        // What is read of the two need not be of one moment.
        if ahead >> (PUSHES_BITS - 1) == 0 { ahead } else { 0 }
    }

    /// How many were pushed that had been woken, since the owner last took that number.
    #[inline]
    pub fn woken(&self) -> usize {
        self.pushed.get() >> PUSHES_BITS
    }

    /// As [`woken`](Self::woken), and counts from 0 again. By the owner.
    #[inline]
    pub fn take_woken(&self) -> usize {
        let (woken, length) = (self.woken(), self.len());
        self.pushed.set(length);
        self.popped.set(0);
        woken
    }

    /// An empty queue.
    #[inline]
    pub const fn new() -> Self {
        let (first, last) = (Cell::new(std::ptr::null_mut()), Cell::new(std::ptr::null_mut()));
        Fifo { first, last, pushed: GlanceUsize::new(0), popped: GlanceUsize::new(0), movable: Cell::new(0) }
    }

    /// Whether nothing is queued.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first.get().is_null()
    }

    /// How many are queued.
    #[inline(always)]
    pub fn len(&self) -> usize {
        length(self.pushed.get(), self.popped.get())
    }

    /// How many of them any worker may run.
    #[inline]
    pub fn movable(&self) -> usize {
        self.movable.get()
    }

    /// Appends one that any worker may run.
    #[inline(always)]
    pub fn push(&self, runnable: Runnable) {
        if runnable.header().is(MOVABLE) {
            self.movable.set(self.movable.get() + 1);
        }
        self.push_bound(runnable);
    }

    /// As [`push`](Self::push), for one that the caller knows not to be movable.
    #[inline(always)]
    pub fn push_bound(&self, runnable: Runnable) {
        self.link(runnable, 1);
    }

    /// As [`push_bound`](Self::push_bound), for one that has been woken.
    #[inline(always)]
    pub fn push_woken(&self, runnable: Runnable) {
        self.link(runnable, 1 + WOKEN);
    }

    /// As [`push_woken`](Self::push_woken), for one that the caller knows to be movable.
    #[inline(always)]
    pub fn push_woken_movable(&self, runnable: Runnable) {
        self.movable.set(self.movable.get() + 1);
        self.link(runnable, 1 + WOKEN);
    }

    #[inline(always)]
    fn link(&self, runnable: Runnable, counts: usize) {
        let header = runnable.header();
        header.link.set(std::ptr::null_mut());
        self.pushed.set(self.pushed.get().wrapping_add(counts));
        // SAFETY: `last` is null or a runnable that this queue holds.
        match unsafe { Runnable::from_raw(self.last.get()) } {
            Some(last) => last.header().link.set(runnable.as_ptr()),
            None => self.first.set(runnable.as_ptr()),
        }
        self.last.set(runnable.as_ptr());
    }

    /// Takes the oldest.
    #[inline(always)]
    pub fn pop(&self) -> Option<Runnable> {
        // SAFETY: `first` is null or a runnable that this queue holds; the right to it passes to the caller.
        let runnable = unsafe { Runnable::from_raw(self.first.get()) }?;
        self.unlink(runnable);
        if runnable.header().is(MOVABLE) {
            self.movable.set(self.movable.get() - 1);
        }
        Some(runnable)
    }

    /// As [`pop`](Self::pop), and says whether it is a light process that has started.
    ///
    /// PERF: one test of its flags decides all that is asked of it on the way to a switch, bench `yield2`.
    #[inline(always)]
    pub fn pop_sorted(&self) -> Option<(Runnable, bool)> {
        // SAFETY: as in `pop`.
        let runnable = unsafe { Runnable::from_raw(self.first.get()) }?;
        if runnable.header().is_bound_process() {
            self.unlink(runnable);
            return Some((runnable, true));
        }
        Some((self.pop()?, false))
    }

    #[inline(always)]
    fn unlink(&self, first: Runnable) {
        let next = first.header().link.get();
        self.first.set(next);
        if next.is_null() {
            self.last.set(std::ptr::null_mut());
        }
        self.popped.set(self.popped.get().wrapping_add(1));
    }

    /// Appends a whole chain, in its order.
    #[inline]
    pub fn append(&self, chain: Chain) {
        for runnable in chain {
            self.push(runnable);
        }
    }

    /// Takes out up to `most` movable runnables from the front, in order; the rest stay in order.
    #[inline]
    pub fn split_movable(&self, most: usize) -> Chain {
        let taken = Fifo::new();
        let kept = Fifo::new();
        while taken.len() < most && self.movable() > 0 {
            let Some(runnable) = self.pop() else { break };
            let to = if runnable.header().is(MOVABLE) { &taken } else { &kept };
            to.push(runnable);
        }
        self.prepend(&kept);
        taken.drain()
    }

    /// Puts all of `other` before what is here, without walking either.
    #[inline]
    pub fn prepend(&self, other: &Fifo) {
        // SAFETY: `last` is null or a runnable that `other` holds.
        let Some(last) = (unsafe { Runnable::from_raw(other.last.get()) }) else { return };
        last.header().link.set(self.first.get());
        self.first.set(other.first.get());
        if self.last.get().is_null() {
            self.last.set(last.as_ptr());
        }
        self.pushed.set(self.pushed.get().wrapping_add(other.len()));
        self.movable.set(self.movable.get() + other.movable.get());
        other.drain();
    }

    /// Shows all that are queued, the oldest first. False if links and counts do not agree.
    ///
    /// # Safety
    /// The caller owns the queue, or its owner stands still, anywhere, and what it did before is seen.
    #[cfg(not(loom))]
    pub unsafe fn for_each(&self, mut each: impl FnMut(&Header)) -> bool {
        let (mut left, mut at) = (self.len(), self.first.get());
        // SAFETY: null, or a runnable that this queue holds, or that its owner is about to.
        while let Some(header) = unsafe { at.as_ref() } {
            if left == 0 {
                return false;
            }
            each(header);
            left -= 1;
            at = header.link.get();
        }
        left == 0
    }

    /// Empties the queue into a chain.
    #[inline]
    pub fn drain(&self) -> Chain {
        let chain = Chain { first: self.first.get(), last: self.last.get() };
        self.first.set(std::ptr::null_mut());
        self.last.set(std::ptr::null_mut());
        self.popped.set(self.pushed.get());
        self.movable.set(0);
        chain
    }
}

/// How many are between what was pushed and what was popped.
#[inline(always)]
fn length(pushed: usize, popped: usize) -> usize {
    pushed.wrapping_sub(popped) & ((1 << PUSHES_BITS) - 1)
}

// SAFETY: a queue is the right to run what it holds, and refers to nothing of the thread that made it.
unsafe impl Send for Fifo {}

/// A null-terminated run of linked runnables, held by whoever holds the value.
#[derive(Debug)]
pub struct Chain {
    first: *mut Header,
    last: *mut Header,
}

impl Chain {
    /// No runnable.
    pub const EMPTY: Chain = Chain { first: std::ptr::null_mut(), last: std::ptr::null_mut() };

    /// # Safety
    /// `first` is null or begins a null-terminated chain of runnables to which the caller holds the right.
    #[inline]
    pub unsafe fn from_first(first: *mut Header) -> Chain {
        let mut last = std::ptr::null_mut();
        let mut at = first;
        // SAFETY: the caller vouches for the whole chain.
        while let Some(runnable) = unsafe { Runnable::from_raw(at) } {
            last = at;
            at = runnable.header().link.get();
        }
        Chain { first, last }
    }

    /// A chain of this one.
    #[inline]
    pub fn one(runnable: Runnable) -> Chain {
        runnable.header().link.set(std::ptr::null_mut());
        Chain { first: runnable.as_ptr(), last: runnable.as_ptr() }
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// The first and the last element; both null if there is none. The right goes with them.
    #[inline]
    pub fn into_ends(self) -> (*mut Header, *mut Header) {
        (self.first, self.last)
    }

    /// The same runnables in the opposite order.
    #[inline]
    pub fn reversed(self) -> Chain {
        let mut out = Chain::EMPTY;
        for runnable in self {
            runnable.header().link.set(out.first);
            out.first = runnable.as_ptr();
            if out.last.is_null() {
                out.last = runnable.as_ptr();
            }
        }
        out
    }
}

impl Iterator for Chain {
    type Item = Runnable;

    #[inline]
    fn next(&mut self) -> Option<Runnable> {
        // SAFETY: the chain's maker vouched for every element; the right to this one passes on.
        let runnable = unsafe { Runnable::from_raw(self.first) }?;
        self.first = runnable.header().link.get();
        Some(runnable)
    }
}

// SAFETY: as for `Runnable`: a chain is the right to run its elements.
unsafe impl Send for Chain {}
