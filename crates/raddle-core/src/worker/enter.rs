//! Owns: what makes the one who is next the running one: its word, its worker, its stack and storage if it is fresh.
//! May use: `block::control`, `counters`, `raddle-context`, `raddle-protocol`.
//! Never: a choice between two.
//!
//! *Publish and switch.* A process may be seen by those who are to wake it while it still stands on its stack. Whoever
//! wakes it on another worker asks whether it has left ([`has_left`](super::has_left)). What lets others run it without
//! that question - a queue, the token of a park - is touched when it has left: it is noted down, and the next context
//! does it on arrival ([`LocalWorker::arrive`]).

use super::{LocalWorker, Worker};
use crate::block::Block;
use crate::counters::Counters;
use raddle_context::tls::TlsBlock;
use raddle_context::{Context, Place, Stack, StackError, current, tls, transfer_with};
use raddle_protocol::header::{
    ANEW, AS_IS, FOREIGN, HOLDS, Header, MOVABLE, OWN_TLS, PASSED, PLACED, Runnable, STARTED,
};
use std::ops::Range;

/// What the next context does for the one that has just left.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) run: unsafe fn(*mut ()),
    pub(super) data: *mut (),
}

/// What ran on an OS thread before a worker began there, as its words say: most often nothing.
#[must_use = "it goes on when the worker has ended"]
pub(super) struct Lender {
    current: *mut (),
    home: *mut (),
}

/// Where to go next, and the thread-local storage to load on the way there; 0 for the OS thread's.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    pub(super) context: *mut Context,
    pub(super) storage: usize,
}

impl LocalWorker {
    /// Runs what the context that has just left noted down.
    #[inline(always)]
    pub(crate) fn arrive(&self) {
        if let Some(after) = self.own().after.get() {
            self.own().after.set(None);
            // SAFETY: whoever noted it down vouched for it; its context has been saved by the transfer to here.
            unsafe { (after.run)(after.data) };
        }
    }

    #[inline(always)]
    pub(super) fn enter(&self, process: Runnable) -> Next {
        // SAFETY: what is started, and queued in a batch, is a block.
        let block = unsafe { Block::of_header(process.as_ptr()) };
        if block.header.is(OWN_TLS) { self.enter_thread(block) } else { self.enter_light(process) }
    }

    #[inline(always)]
    pub(super) fn enter_light(&self, process: Runnable) -> Next {
        // SAFETY: as in `enter`.
        let block = unsafe { Block::of_header(process.as_ptr()) };
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().set(process.as_ptr().cast()) };
        Next { context: block.context.get(), storage: 0 }
    }

    /// A thread says itself that it runs: the word is in its own storage. What others read is where it runs.
    #[inline(always)]
    pub(super) fn enter_thread(&self, block: &Block) -> Next {
        if block.header.worker.get() != self.as_word() {
            return self.receive_thread(block);
        }
        self.enter_thread_here(block)
    }

    #[inline(always)]
    fn enter_thread_here(&self, block: &Block) -> Next {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().leave(block.as_header().cast()) };
        Next { context: block.context.get(), storage: block.storage_base() }
    }

    /// As [`enter_thread`](Self::enter_thread), for one that has come from another worker. Out of line as a whole, so
    /// that the common way has nothing to keep over a call.
    #[cold]
    #[inline(never)]
    fn receive_thread(&self, block: &Block) -> Next {
        self.receive(&block.header);
        self.enter_thread_here(block)
    }

    /// Something started, or a task that was polled before, has come from another worker.
    #[cold]
    pub(super) fn receive(&self, header: &Header) {
        // SAFETY: the one that it came from, or null if it is a task that was never polled.
        if let Some(from) = unsafe { header.worker.get().cast::<Worker>().as_ref() } {
            self.trace_migration(header, from.index);
            Counters::add(&self.counters.migrations, 1);
            Counters::add(&self.came_from[from.index], 1);
        }
        header.worker.set(self.as_word());
    }

    #[inline(never)]
    pub(super) fn go_home(&self) -> Next {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().set((&raw const self.own().home.header).cast_mut().cast()) };
        Next { context: self.own().home.place.get(), storage: 0 }
    }

    /// Gives a fresh process a stack and binds it to this worker.
    #[inline(always)]
    pub(super) fn start(&self, fresh: Runnable) -> Result<(), StackError> {
        // SAFETY: the caller has seen that its kind is a process.
        let block = unsafe { Block::of_header(fresh.as_ptr()) };
        // SAFETY: the pool is private to this OS thread, and `take` calls nothing of ours.
        let stack = unsafe { &mut *self.own().stores.stacks.get() }.take(block.class.get())?;
        let stack = if block.header.is(OWN_TLS) { self.start_storage(block, stack)? } else { stack };
        // SAFETY: we hold the process, so its context is ours.
        let context = unsafe { &mut *block.context.get() };
        // SAFETY: the stack is the block's until its exit gives it back.
        unsafe { context.prime(&stack, block.body.get().entry) };
        block.stack.set(Some(stack));
        let header = &block.header;
        header.worker.set(self.as_word());
        let flags = header.flags.get();
        let keeps = match flags & OWN_TLS {
            0 => PLACED | HOLDS | PASSED,
            _ if block.pins.get() == 0 => PLACED | OWN_TLS | MOVABLE | FOREIGN | AS_IS | ANEW | PASSED,
            // A job sees one worker's number from its beginning to its end.
            _ => PLACED | OWN_TLS | FOREIGN | AS_IS | ANEW | PASSED,
        };
        header.flags.set(flags & keeps | STARTED);
        Ok(())
    }

    /// Gives a fresh process or thread, which is to run on `stack`, its storage. If there is none, the stack goes back.
    #[inline(never)]
    fn start_storage(&self, block: &Block, stack: Stack) -> Result<Stack, StackError> {
        // SAFETY: we hold the process.
        if let Some(early) = unsafe { &*block.storage.get() } {
            early.note_stack_if_none(&stack);
            return Ok(stack);
        }
        // SAFETY: the pool is private to this OS thread, and `take` calls nothing of ours.
        let pool = unsafe { &mut *self.own().stores.storages.get() };
        match if block.header.is(AS_IS) { pool.take_as_is(&stack) } else { pool.take(&stack) } {
            Ok(storage) => {
                // SAFETY: we hold the process.
                unsafe { *block.storage.get() = Some(storage) };
                Ok(stack)
            }
            Err(refused) => {
                self.give_stack(stack);
                Err(refused)
            }
        }
    }

    /// A thread is over and becomes a light process of this worker, for the few steps that are left.
    ///
    /// # Safety
    /// `block` is a thread's, at its end, and what runs here, on its own stack. No address of a thread-local variable
    /// is kept over this.
    pub(crate) unsafe fn take_storage_back(&self, block: &Block) {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().set(block.as_header().cast()) };
        let stack = block.stack.take().expect("a process that runs has a stack");
        // SAFETY: the caller is at the end of a thread, on its stack; neither it nor this has used its variables.
        unsafe { tls::return_to(self.own().home.storage.get(), stack.memory()) };
        block.stack.set(Some(stack));
        if block.header.is(FOREIGN) {
            return; // it stays until nobody can know the thread any more
        }
        // SAFETY: the one who runs holds the block.
        let storage = unsafe { &mut *block.storage.get() }.take();
        // SAFETY: the pool is private to this OS thread, and `give` calls nothing of ours.
        storage
            .into_iter()
            .for_each(|storage| unsafe { &mut *self.own().stores.storages.get() }.give(storage));
    }

    /// A thread is over, and has told so: for the few steps that are left it runs in the OS thread's storage.
    ///
    /// # Safety
    /// `block` was its block, and `stack` is the memory on which the caller runs. No address of a thread-local variable
    /// is kept over this.
    pub(crate) unsafe fn leave_storage(&self, block: &Block, storage: TlsBlock, stack: Range<*mut u8>) {
        // SAFETY: this is the worker of the OS thread.
        unsafe { self.turns().current.get().set(block.as_header().cast()) };
        // SAFETY: passed on to the caller.
        unsafe { tls::return_to(self.own().home.storage.get(), stack) };
        // SAFETY: the pool is private to this OS thread, and `give` calls nothing of ours.
        unsafe { &mut *self.own().stores.storages.get() }.give(storage);
    }

    /// A process is over that runs with storage which the next one takes as it is; the caller still runs with it.
    pub(crate) fn give_storage(&self, storage: TlsBlock) {
        // SAFETY: the pool is private to this OS thread, and `give_as_is` calls nothing of ours.
        unsafe { &mut *self.own().stores.storages.get() }.give_as_is(storage);
    }

    /// The runtime ends: a thread that has nothing to do but to run, at its end, the destructors of what processes have
    /// left in their storage. `None` if there is nothing left.
    pub(super) fn retire_storage(&self) -> Option<Runnable> {
        // SAFETY: the pool is private to this OS thread, and `take_retired` calls nothing of ours.
        let storage = unsafe { &mut *self.own().stores.storages.get() }.take_retired()?;
        // SAFETY: just made: the right to run it is its maker's.
        Some(unsafe { (self.shared().make_retiree)(self, storage).as_runnable() })
    }

    /// As [`retire_storage`](Self::retire_storage), once the runtime has nothing else to run.
    pub(super) fn retire_storage_when_asked(&self) -> Option<Runnable> {
        let shared = self.shared();
        if !shared.retires() {
            return None;
        }
        // An extra worker is none of those that are waited for: what it has left retires when it stops, at the latest.
        if !self.own().retires.replace(true) && !self.ways.is_extra {
            shared.note_retiring();
        }
        self.retire_storage()
    }

    /// From the home context: runs a started process until something comes home again.
    pub(super) fn run_process(&self, process: Runnable) {
        let to = self.enter(process);
        self.trace_next(to.context);
        // SAFETY: the home context is this OS thread's own; `to` is suspended or primed and now ours alone.
        unsafe { transfer_with(self.own().home.place.get(), to.context, to.storage) };
        self.arrive();
    }

    /// Marks the home context as what runs, on the worker's OS thread, before its first turn. Something else of ours
    /// may run there already, which has lent it: what the words said before is for [`end_home`](Self::end_home).
    pub(super) fn begin_home(&self) -> Lender {
        self.own().home.header.worker.set(self.as_word());
        self.own().home.place.set(self.own().home.context.get());
        self.own().home.storage.set(tls::home_base());
        self.turns().current.set(Place::here());
        let home = (&raw const self.own().home.header).cast_mut().cast();
        let lender = Lender { current: current::get(), home: current::home() };
        // SAFETY: the worker's own header, which is there as long as the worker runs here.
        unsafe { current::set_home(home) };
        // SAFETY: as above.
        unsafe { current::set(home) };
        lender
    }

    /// After the worker's last turn: who has lent the OS thread goes on.
    pub(super) fn end_home(&self, lender: Lender) {
        // SAFETY: what stood there before the worker began, and runs on.
        unsafe { current::set_home(lender.home) };
        // SAFETY: as above.
        unsafe { current::set(lender.current) };
    }
}
