//! Owns: the blocks of processes, which the next process finds as the last one has left them.
//! May use: `current`, `stack`.
//! Never: a first value again; what is left on a block stays until it retires.
//!
//! To the C library and to compiled code a block is a thread. A process borrows one for its life, as a job of a thread
//! pool borrows its thread: it finds there the values, hash seeds, random generators and freed memory that the one
//! before it has left, and leaves its own. Nobody else uses the block meanwhile, whatever the process waits for. So
//! nothing is initialised at a start, and nothing destroyed at an end; the destructors run when the block retires.

use super::block::{BATCH, Depot, POOL, TlsBlock, TlsPool, begin};
use crate::current;
use crate::stack::{Stack, StackError};
use core::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks with what processes have left on them; what the pools of one runtime share.
#[derive(Debug)]
pub struct UsedBlocks(Mutex<Depot>);

impl Default for UsedBlocks {
    fn default() -> Self {
        UsedBlocks(Mutex::new(Depot(Vec::new())))
    }
}

impl TlsPool {
    /// An empty pool, which shares the blocks of processes with others.
    pub fn sharing(shared: Arc<UsedBlocks>) -> Self {
        TlsPool { free: Vec::new(), fresh: Vec::new(), made: 0, used: Vec::new(), shared }
    }

    /// A block for a context that runs on `stack`, as the last process has left it. [`begin_as_is`] is to be called
    /// on it, and [`give_as_is`](Self::give_as_is) at the end.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    ///
    /// ```
    /// # use raddle_context::{SizeClass, StackDepot, StackPool, tls};
    /// let mut pool = tls::TlsPool::new();
    /// let stack = StackPool::new(StackDepot::new()).take(SizeClass::DEFAULT)?;
    /// if tls::supported().is_ok() {
    ///     let block = pool.take_as_is(&stack)?;
    ///     let base = block.base();
    ///     pool.give_as_is(block);
    ///     assert_eq!(pool.take_as_is(&stack)?.base(), base);
    /// }
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    #[inline]
    pub fn take_as_is(&mut self, stack: &Stack) -> Result<TlsBlock, StackError> {
        let block = match self.used.pop() {
            Some(used) => TlsBlock(used),
            None => self.find_used_or_new().ok_or(StackError::no_storage(stack.class()))?,
        };
        block.note_memory(stack.limit(), stack.class().bytes());
        Ok(block)
    }

    #[cold]
    fn find_used_or_new(&mut self) -> Option<TlsBlock> {
        if let Ok(mut depot) = self.shared.0.try_lock() {
            let from = depot.0.len().saturating_sub(BATCH);
            self.used.extend(depot.0.drain(from..));
        }
        self.used.pop().map(TlsBlock).or_else(|| self.take_used_or_new())
    }

    /// Gives a block back from [`take_as_is`](Self::take_as_is), whose context has ended. It may still run on it, until
    /// the next one is taken.
    #[inline]
    pub fn give_as_is(&mut self, block: TlsBlock) {
        if self.used.len() >= POOL {
            self.share();
        }
        self.used.push(block.0);
    }

    #[cold]
    fn share(&mut self) {
        // Only if the lock is free, as in `give`.
        if let Ok(mut depot) = self.shared.0.try_lock() {
            depot.0.extend(self.used.drain(..BATCH));
        }
    }

    /// A block that processes have left something on, of this pool or of those that share with it; `None` when there is
    /// none. It is for a context that calls [`begin`] and [`end`](super::end) there, and [gives](Self::give) it back as
    /// a thread does.
    pub fn take_retired(&mut self) -> Option<TlsBlock> {
        let shared = || self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).0.pop();
        let block = TlsBlock(self.used.pop().or_else(shared)?);
        block.note_memory(null_mut(), 0);
        Some(block)
    }

    /// Puts all of them where others find them.
    pub(super) fn share_all(&mut self) {
        if !self.used.is_empty() {
            let mut depot = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            depot.0.append(&mut self.used);
        }
    }
}

/// As [`begin`], on a block that was [taken as it is](TlsPool::take_as_is): what the last context left there stays.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn begin_as_is(word: *mut ()) {
    if current::get().is_null() {
        // SAFETY: passed on to the caller.
        return unsafe { begin(word) };
    }
    // SAFETY: the caller's word, of what runs from here on.
    unsafe { current::set(word) };
}
