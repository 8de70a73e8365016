//! Owns: a worker's pool of free stacks.
//! May use: `libc`.
//! Never: an atomic or a system call on the fast path; the memory of a stack that is given back.
//!
//! Last in, first out, so that the next process runs on the lines and pages that the last one left in the
//! cache.
//!
//! It uses the depot, once for many stacks.

use super::{SizeClass, Stack, StackDepot, StackError};
use core::ptr::NonNull;
use std::sync::Arc;

/// Stacks that a magazine holds at most, per class.
const MAGAZINE: usize = 256;
/// Stacks that move between a magazine and the depot at a time.
const BATCH: usize = 64;

/// One worker's stacks: a small last-in-first-out magazine per size class in front of the shared
/// [`StackDepot`].
///
/// A stack may be given back while the caller still runs on it, if the caller transfers away before this
/// pool is used for anything but starting another context: `give` touches neither its memory nor hands it
/// to the depot. Dropping the pool hands all its stacks to the depot.
#[derive(Debug)]
pub struct StackPool {
    magazines: [Vec<NonNull<u8>>; SizeClass::COUNT],
    fill: bool,
    depot: Arc<StackDepot>,
}

// SAFETY: what the magazines hold are exclusive rights to memory, without a tie to an OS thread.
unsafe impl Send for StackPool {}

impl StackPool {
    /// An empty pool in front of `depot`.
    pub fn new(depot: Arc<StackDepot>) -> Self {
        let magazines = core::array::from_fn(|_| Vec::new());
        StackPool { magazines, fill: depot.options().fill, depot }
    }

    /// Takes a stack of class `class`: the one given back last, or one from the depot.
    ///
    /// # Errors
    /// None was free, and the kernel refused to make one.
    ///
    /// ```
    /// # use raddle_context::{SizeClass, StackDepot, StackPool};
    /// let mut pool = StackPool::new(StackDepot::new());
    /// let first = pool.take(SizeClass::DEFAULT)?;
    /// let top = first.top();
    /// pool.give(first);
    /// assert_eq!(pool.take(SizeClass::DEFAULT)?.top(), top);
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    #[inline]
    pub fn take(&mut self, class: SizeClass) -> Result<Stack, StackError> {
        // PERF: one line of straight code when warm (examples/alive.rs, "reused").
        match self.magazines[class.index()].pop() {
            Some(slot) if !self.fill => Ok(Stack::new(slot, class)),
            found => self.take_slowly(class, found),
        }
    }

    /// Gives a stack back. The caller may still be running on it, until its next transfer.
    #[inline]
    pub fn give(&mut self, stack: Stack) {
        let magazine = &mut self.magazines[stack.class().index()];
        if magazine.len() == magazine.capacity() {
            return self.give_to_full(stack);
        }
        magazine.push(stack.slot());
    }

    /// Hands every stack of this pool to the depot.
    pub fn flush(&mut self) {
        for class in SizeClass::all() {
            self.depot.deposit(class, self.magazines[class.index()].drain(..));
        }
    }

    /// Slow path of `take`: the magazine is empty, or stacks are filled first. The caller may still run on `last`,
    /// which was given back last.
    #[cold]
    #[inline(never)]
    fn take_slowly(&mut self, class: SizeClass, last: Option<NonNull<u8>>) -> Result<Stack, StackError> {
        let older = match self.magazines[class.index()].pop() {
            Some(slot) => Ok(slot),
            None => self.refill(class),
        };
        // A context may start on it, but it must not be filled: keep it, and fill an older one.
        self.magazines[class.index()].extend(last);
        let mut stack = Stack::new(older?, class);
        if self.fill {
            stack.fill();
        }
        Ok(stack)
    }

    fn refill(&mut self, class: SizeClass) -> Result<NonNull<u8>, StackError> {
        let magazine = &mut self.magazines[class.index()];
        magazine.reserve_exact(MAGAZINE);
        // The kernel is asked on behalf of whoever runs: for a thread that only yielded, `errno` is to stay as it was.
        // SAFETY: the address of the caller's own variable.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let before = unsafe { errno.read() };
        let outcome = self.depot.withdraw(class, class.at_a_time(BATCH), magazine);
        // SAFETY: as above; nothing in between changed the OS thread.
        unsafe { errno.write(before) };
        outcome?;
        Ok(magazine.pop().expect("a withdrawal that succeeds brings a stack"))
    }

    /// Makes room, then takes `stack`: the older ones go to the depot, never the one that is being given,
    /// which may be in use.
    #[cold]
    #[inline(never)]
    fn give_to_full(&mut self, stack: Stack) {
        let magazine = &mut self.magazines[stack.class().index()];
        if magazine.len() < MAGAZINE {
            magazine.reserve_exact(MAGAZINE - magazine.len());
        } else {
            self.depot.deposit(stack.class(), magazine.drain(..BATCH));
        }
        magazine.push(stack.slot());
    }
}

impl Drop for StackPool {
    fn drop(&mut self) {
        self.flush();
    }
}
