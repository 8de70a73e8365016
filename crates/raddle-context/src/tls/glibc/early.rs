//! Owns: a block that its thread has before it has a stack: whose `pthread_t` is known when it is made.
//! May use: `stack`.
//! Never: a stack.
//!
//! A thread of Rust's gets its block with its stack, when it starts, and gives both back at its end: as few are in use
//! as threads run. A thread of C is known by its block's address from its creation until it is joined or detached, in
//! both directions longer.

use super::block::{DEPOT, TlsBlock, TlsPool};
use super::facts;
use super::machine;
use crate::stack::Stack;
use core::ptr::null_mut;
use std::sync::PoisonError;

impl TlsPool {
    /// As [`take`](Self::take), for a context whose stack is not known yet. `None` if there is no memory, or no
    /// support.
    pub fn take_early(&mut self) -> Option<TlsBlock> {
        let block = self.take_used_or_new()?;
        block.note_memory(null_mut(), 0);
        Some(block)
    }
}

impl TlsPool {
    /// Whether it has none at hand, and would make one if the depot had none either.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty() && self.fresh.is_empty()
    }
}

impl TlsBlock {
    /// A block as by [`TlsPool::take_early`], for whoever has no pool.
    pub fn take_from_depot() -> Option<TlsBlock> {
        let mut pool = TlsPool::new();
        pool.free.extend(DEPOT.lock().unwrap_or_else(PoisonError::into_inner).0.pop());
        pool.take_early()
    }

    /// Makes some blocks ahead of who [takes](TlsPool::take_early) the next ones, unless whoever has no pool finds
    /// some.
    ///
    /// The C library allocates for them by the program's `malloc`, where the caller may be switched: for a program
    /// whose `malloc` has a lock for which its threads wait in the scheduler. The pools do so in the midst of a step,
    /// on their OS threads.
    pub fn make_ahead() {
        const AHEAD: usize = 8;
        let depot = || DEPOT.lock().unwrap_or_else(PoisonError::into_inner);
        if !depot().0.is_empty() {
            return;
        }
        let Ok(facts) = facts::get() else { return };
        for block in (0..AHEAD).map_while(|_| facts.make_ahead()) {
            depot().0.push(block);
        }
    }

    /// Gives a block back whose context has ended, and has left it; for whoever has no pool.
    pub fn give_to_depot(self) {
        DEPOT.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0);
    }

    /// What `pthread_self` gives in the context that runs with it.
    pub fn pthread(&self) -> usize {
        facts::known().map_or(0, |facts| self.base().wrapping_add_signed(facts.thread))
    }

    /// Says in which memory its context has its stack: what `pthread_getattr_np` answers.
    pub fn note_memory(&self, low: *mut u8, bytes: usize) {
        if let Some(facts) = facts::known() {
            facts.note_memory(self.0, low, bytes);
        }
    }

    /// As [`note_memory`](Self::note_memory), unless something was said before.
    pub fn note_stack_if_none(&self, stack: &Stack) {
        let Some(facts) = facts::known() else { return };
        let bytes: *const usize = core::ptr::with_exposed_provenance(
            self.base().wrapping_add_signed(facts.thread) + facts.stack + 8,
        );
        // SAFETY: a field of a block that nobody runs with yet.
        if unsafe { bytes.read() } == 0 {
            facts.note_memory(self.0, stack.limit(), stack.class().bytes());
        }
    }
}

/// What `pthread_self` gives here.
pub fn pthread_self() -> usize {
    facts::known().map_or(0, |facts| machine::thread_pointer().wrapping_add_signed(facts.thread))
}
