//! Owns: `Here`, the proof that one is on a worker's own OS thread, and what it opens: that worker's owner half.
//! May use: `block::current`, `observe::seed`, `raddle-protocol`.
//! Never: made anywhere else, nor kept where its holder may have come to another OS thread.
//!
//! A [`Worker`] is reached from many threads, through shared references. What only its own OS thread may touch, its
//! *owner half* ([`Own`]), is a type of its own that is not `Sync`, behind an [`Owned`], which opens to a proof:
//!
//! | type | who has one | what it is good for |
//! |---|---|---|
//! | `&Worker` | anybody | the public half: atomics, queues, what never changes |
//! | [`Here`] | who runs on the worker's OS thread; by value, not to be copied | all, and to leave |
//! | `&LocalWorker` | who was lent a `Here` | the owner half, and no more than to borrow it |
//!
//! # Why it is sound
//!
//! *Another thread does not get one.* Neither `Here` nor `LocalWorker` is `Send` or `Sync`: a reference to one stays
//! on the OS thread on which it was made. And there only what runs on the worker gets one, since a `Here` is made of
//! the header of what runs, which names the worker.
//!
//! *A runnable that goes on elsewhere does not take it along.* A thread may go on on another worker whenever it has
//! left its stack. So everything here that leaves a stack takes the `Here` **by value**: after the call there is none,
//! and no reference that was borrowed from it, for these live no longer than it. Who goes on after that makes a new
//! one, from its header, which says by then where it runs.
//!
//! *What the compiler cannot see is the maker's promise.* That a function leaves its stack does not stand in its type
//! if it makes its own `Here`: `park` or `lock`. So to make one is `unsafe`: whoever does so promises to stay on the OS
//! thread as long as it has it, that is, to call nothing that may wait but by giving it away. What is bound to its
//! worker, a light process that has started, stays there whatever it calls.
//!
//! *Two at a time do no harm.* What runs on one OS thread runs one after the other, also where several processes of one
//! worker each have a proof: the owner half consists of cells. Exclusive references are made to the pools of stacks and
//! of storages only, each for one operation, which calls nothing of ours.
//!
//! It costs nothing: each is the worker's address, and what checks it is there in debug builds only.
//!
//! What the types keep from happening does not compile. This does:
//!
//! ```
//! use raddle_core::{block::Block, worker::Here};
//! fn stays<T>(_: T) {}
//! fn here(here: Here<'_>) { stays(&*here) }
//! unsafe fn leave(here: Here<'_>, block: &Block) {
//!     let _looks_out = here.looks_out();
//!     // SAFETY: passed on to the caller.
//!     unsafe { here.yield_process(block) };
//! }
//! ```
//!
//! Neither it nor what it opens goes to another thread:
//!
//! ```compile_fail,E0277
//! use raddle_core::worker::Here;
//! fn goes<T: Send>(_: T) {}
//! fn here(here: Here<'_>) { goes(&*here) }
//! ```
//!
//! After the stack has been left there is none, and nothing that was borrowed from it:
//!
//! ```compile_fail,E0382
//! use raddle_core::{block::Block, worker::Here};
//! unsafe fn leave(here: Here<'_>, block: &Block) {
//!     // SAFETY: passed on to the caller.
//!     unsafe { here.yield_process(block) };
//!     let _looks_out = here.looks_out();
//! }
//! ```
//!
//! ```compile_fail,E0505
//! use raddle_core::{block::Block, worker::Here};
//! unsafe fn leave(here: Here<'_>, block: &Block) {
//!     let lent = &*here;
//!     // SAFETY: passed on to the caller.
//!     unsafe { here.yield_process(block) };
//!     let _looks_out = lent.looks_out();
//! }
//! ```

use super::gates::Gates;
use super::jobs::{Chunks, Slots};
use super::own::{Own, Turns};
use super::room::Rooms;
use super::{Worker, current_header};
use crate::observe::Seeded;
use raddle_protocol::fifo::Fifo;
use raddle_protocol::header::{AWAY, Header, Runnable};
use raddle_protocol::protocol::fresh::FreshQueue;
use std::marker::PhantomData;
use std::ops::Deref;

/// A part of a worker's owner half, in the midst of what is everybody's.
#[repr(transparent)]
pub(super) struct Owned<T>(T);

// SAFETY: `LocalWorker::turns` and `own`, the only ways to its content, are given a proof that this is the owner's OS
// thread; and `glance_at_batch`, which reads two words that are made for being read from elsewhere.
unsafe impl Sync for Owned<Turns> {}
// SAFETY: as above.
unsafe impl Sync for Owned<Own> {}
// SAFETY: it is made on one thread and run on another before it is first used; nothing in it is tied to its maker.
unsafe impl Send for Owned<Turns> {}
// SAFETY: as above.
unsafe impl Send for Owned<Own> {}

impl<T> Owned<T> {
    pub(super) fn new(own: T) -> Owned<T> {
        Owned(own)
    }

    /// Before the worker runs.
    pub(super) fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A worker as its own OS thread sees it. See the module.
#[repr(transparent)]
pub struct LocalWorker {
    worker: Worker,
    stays_here: PhantomData<*mut ()>,
}

impl LocalWorker {
    /// Of the half that is its OS thread's alone: who runs, and who has the next turns.
    #[inline(always)]
    pub(super) fn turns(&self) -> &Turns {
        &self.worker.turns.0
    }

    /// The rest of it.
    #[inline(always)]
    pub(super) fn own(&self) -> &Own {
        &self.worker.own.0
    }

    /// What it goes by, if it follows a seed.
    pub(super) fn seeded(&self) -> Option<&Seeded> {
        self.own().seeded.as_ref()
    }

    /// Before which its processes wait for each other.
    #[inline(always)]
    pub fn gates(&self) -> &Gates {
        &self.own().gates
    }

    /// Its free pages of futures.
    #[inline(always)]
    pub fn chunks(&self) -> &Chunks {
        &self.own().stores.chunks
    }

    /// Its free slots.
    #[inline(always)]
    pub(super) fn slots(&self) -> &Slots {
        &self.own().stores.slots
    }

    /// Its free rooms.
    #[inline(always)]
    pub(in crate::worker) fn rooms(&self) -> &Rooms {
        &self.own().stores.rooms
    }
}

impl Deref for LocalWorker {
    type Target = Worker;

    #[inline(always)]
    fn deref(&self) -> &Worker {
        &self.worker
    }
}

/// Whether what runs on this OS thread is of that worker.
fn is_here(worker: *const LocalWorker) -> bool {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { current_header().as_ref() };
    running.is_some_and(|running| std::ptr::eq(running.worker.get().cast(), worker))
}

/// The proof that the caller is on a worker's own OS thread. See the module.
#[repr(transparent)]
pub struct Here<'w>(&'w LocalWorker);

impl<'w> Here<'w> {
    /// The worker of what runs here, if that is on a worker.
    ///
    /// # Safety
    /// As long as the caller has it, it stays on this OS thread: it calls nothing that may leave its stack, but by
    /// giving the proof away; or it is bound to its worker.
    #[inline(always)]
    pub unsafe fn current() -> Option<Here<'w>> {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let running = unsafe { current_header().as_ref() }?;
        if running.is(AWAY) {
            return None;
        }
        // SAFETY: what runs, and is not away, is on its worker; the rest is passed on to the caller.
        Some(unsafe { Here::of(running) })
    }

    /// The worker of what begins with `header`: of what runs here, on a worker, or has just left its stack here, or is
    /// about to begin.
    ///
    /// # Safety
    /// It is such a one, and nobody holds it who might take it elsewhere before this has returned. The rest as for
    /// [`current`](Self::current).
    #[inline(always)]
    pub unsafe fn of(header: &Header) -> Here<'w> {
        let worker = header.worker.get().cast::<LocalWorker>();
        debug_assert!(is_here(worker), "this is not the OS thread of that worker");
        // SAFETY: a `LocalWorker` lies in memory as its worker does, which lives as long as its runtime, and that as
        // long as its runnables; the caller vouches that this is its OS thread.
        Here(unsafe { &*worker })
    }

    /// The first one: the worker begins to run here.
    ///
    /// # Safety
    /// This is to be its OS thread as long as the caller has the proof, and there is no other.
    pub(super) unsafe fn begin(worker: &'w Worker) -> Here<'w> {
        let worker = std::ptr::from_ref(worker).cast::<LocalWorker>();
        // SAFETY: as in `of`.
        Here(unsafe { &*worker })
    }

    /// The half of the worker that is everybody's: to be kept over a switch.
    #[inline(always)]
    pub fn public(&self) -> &'w Worker {
        &self.0.worker
    }
}

impl Deref for Here<'_> {
    type Target = LocalWorker;

    #[inline(always)]
    fn deref(&self) -> &LocalWorker {
        self.0
    }
}

impl Worker {
    /// The batch of a worker whose OS thread stands still.
    ///
    /// # Safety
    /// It stands still, with all that it did before to be seen, and does not go on before the caller has let go of what
    /// this returns. Who does more than look knows that it stands in a system call, which no operation of a batch
    /// makes: so it stands between two of them.
    pub(super) unsafe fn batch_of_standing(&self) -> &Fifo {
        &self.turns.0.batch
    }

    /// What was taken out of a queue and is next, of a worker whose OS thread stands still.
    ///
    /// # Safety
    /// It does not go on before the caller has let go of what this returns.
    pub(super) unsafe fn in_hand(&self) -> Option<&Runnable> {
        // SAFETY: nobody writes it meanwhile.
        unsafe { &*self.own.0.handoff.as_ptr() }.as_ref()
    }

    /// Whether a worker whose OS thread stands still is at promoting a fork of a bag.
    ///
    /// # Safety
    /// It does not go on before this has returned.
    pub(super) unsafe fn is_promoting_of_standing(&self) -> bool {
        self.own.0.heart.is_promoting()
    }

    /// How many are in the batch, and how many of those that have come there had been woken: at a glance, from any
    /// thread.
    pub(super) fn glance_at_batch(&self) -> (usize, usize) {
        let batch = &self.turns.0.batch;
        (batch.len_hint(), batch.woken())
    }
}

/// The owner's end of one of its lists: to push and to pop is the owner's alone, to steal is for all.
pub(super) struct OwnersEnd<'h>(&'h FreshQueue, PhantomData<*mut ()>);

impl LocalWorker {
    #[inline(always)]
    pub(super) fn my_fresh(&self) -> OwnersEnd<'_> {
        OwnersEnd(&self.worker.fresh, PhantomData)
    }

    #[inline(always)]
    pub(super) fn my_ready(&self) -> OwnersEnd<'_> {
        OwnersEnd(&self.worker.ready, PhantomData)
    }

    #[inline(always)]
    pub(super) fn my_later(&self) -> OwnersEnd<'_> {
        OwnersEnd(&self.worker.later, PhantomData)
    }
}

impl OwnersEnd<'_> {
    #[inline(always)]
    pub(super) fn push(self, runnable: Runnable) {
        // SAFETY: it came out of a proof that this is the owner's OS thread.
        unsafe { self.0.push(runnable) };
    }

    pub(super) fn push_first(self, runnable: Runnable, behind: usize) -> Result<(), Runnable> {
        // SAFETY: as above.
        unsafe { self.0.push_first(runnable, behind) }
    }

    #[inline(always)]
    pub(super) fn pop(self) -> Option<Runnable> {
        // SAFETY: as above.
        unsafe { self.0.pop() }
    }

    /// Of a process that `parent` has made, or nobody who will wait for it.
    #[inline(always)]
    pub(super) fn push_of(self, runnable: Runnable, parent: *mut Header) {
        // SAFETY: as above.
        unsafe { self.0.push_of(runnable, parent) };
    }

    /// Of the fresh list.
    #[inline]
    pub(super) fn take_child(self, parent: *mut Header, wanted: Option<*mut Header>) -> Option<Runnable> {
        // SAFETY: as above; all that pushes there says whose it is.
        unsafe { self.0.take_child(parent, wanted) }
    }

    #[inline(always)]
    pub(super) fn pop_unless_contended(self) -> Result<Option<Runnable>, usize> {
        // SAFETY: as above.
        unsafe { self.0.pop_unless_contended() }
    }
}
