//! Owns: what a worker does for threads of C only: their control words, their storage before start and after end.
//! May use: `block::control`, `raddle-context`, `raddle-protocol`.
//! Never: a cost for others, beyond the test of a flag that is at hand.
//!
//! It uses `raddle-context`'s control words and blocks.

use super::{Here, LocalWorker};
use crate::block::Block;
use raddle_context::tls::TlsBlock;
use raddle_context::{Context, ControlWords, transfer_with};
use raddle_protocol::header::AWAY;

impl LocalWorker {
    /// As [`transfer_with`], from a thread of C: it takes its control words along, and leaves no modes of its own
    /// behind, but perhaps its exception flags, for which no process asks; the next thread of C has exactly its own.
    ///
    /// # Safety
    /// As there, and `block` is what runs here.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn leave_foreign(&self, block: &Block, to: *mut Context, storage: usize) {
        let own = self.own().controls.get().exchange_modes();
        // SAFETY: passed on to the caller.
        unsafe { transfer_with(block.context.get(), to, storage) };
        block.take_up_controls(own);
    }

    /// What this worker's other runnables compute by.
    pub(crate) fn controls(&self) -> ControlWords {
        self.own().controls.get()
    }

    /// A thread of C has replaced these.
    pub(crate) fn keep_controls(&self, controls: ControlWords) {
        self.own().controls.set(controls);
    }

    /// Storage for a thread that has no stack yet.
    pub(crate) fn take_early_storage(&self) -> Option<TlsBlock> {
        // SAFETY: the pool is private to this OS thread, and `take_early` calls nothing of ours.
        unsafe { &mut *self.own().stores.storages.get() }.take_early()
    }

    /// Whether the next one has no storage at hand here.
    #[cold]
    pub(crate) fn has_no_early_storage(&self) -> bool {
        // SAFETY: the pool is private to this OS thread.
        unsafe { &*self.own().stores.storages.get() }.is_empty()
    }

    /// A thread of C has been joined, or has ended detached: its storage may be another's.
    #[cold]
    #[inline(never)]
    pub(super) fn give_early_storage(&self, block: &Block) {
        // SAFETY: whoever frees a block is its only holder.
        if let Some(storage) = unsafe { block.take_early_storage() } {
            // SAFETY: as in `take_early_storage`.
            unsafe { &mut *self.own().stores.storages.get() }.give(storage);
        }
    }
}

impl Block {
    /// The running thread of C has arrived somewhere: it gets its control words, and its worker's are kept. On a spare
    /// OS thread those are its host's, which puts them back itself.
    pub(crate) fn take_up_controls(&self, own: ControlWords) {
        let before = own.exchange();
        if !self.header.is(AWAY) {
            // SAFETY: it runs, on its worker.
            unsafe { Here::of(&self.header) }.keep_controls(before);
        }
    }
}
