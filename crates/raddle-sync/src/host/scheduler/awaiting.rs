//! Owns: `Awaiting`: one who waits by a waker; to whoever ends its wait it looks like any other, a header.
//! May use: `raddle-protocol`.
//! Never: polling; the queue that it stands in, and the lock of that.
//!
//! A future that waits in a queue may be dropped at any time, also between the moment in which somebody takes it out of
//! the queue, under the lock, and the wake, after the unlock. So what stands in the queue is not in the future: it is
//! an allocation of its own, which the future shares with the queue.
//!
//! | who has the queue's reference | when | what it may touch |
//! |---|---|---|
//! | the queue | from [`queued`](Awaiting::queued) until it is taken out | under the lock: all of it |
//! | whoever has ended the wait, as the right to wake | until the wake | the waker |
//! | the future, which has taken it out itself | it gives it [back](Awaiting::take_back) | all of it |
//!
//! The future touches the waker under the lock only, and only while it stands in the queue. So the waker has one owner
//! at any time, and there is no word by which two threads meet here: the lock of the queue orders all of it.
//!
//! What else was considered: the entry in the future itself, which then is `!Unpin`, and has to wait in its drop until
//! whoever has taken it out has called the waker, as the bell of a deadline does; the waker moved out under the lock
//! (three words instead of one through each way on which a channel hands out whom to wake: processes would pay for
//! tasks); watching, as `Select::ready` does, and trying again after the wake (one who comes later may be faster each
//! time: no order of service). An allocation is 20 ns, and one that nobody has any more is used again.

use raddle_protocol::header::{Header, Kind};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::task::Waker;

/// See the module. `E` is what stands in the queue.
#[repr(C)]
pub(crate) struct Awaiting<E> {
    header: Header,
    waker: UnsafeCell<Option<Waker>>,
    /// The place in the queue.
    pub(crate) entry: E,
}

// SAFETY: the header is written by nobody after it was made, and the waker is touched as the module says.
unsafe impl<E: Send + Sync> Send for Awaiting<E> {}
// SAFETY: as above.
unsafe impl<E: Send + Sync> Sync for Awaiting<E> {}

impl<E> Awaiting<E> {
    /// One who waits by `waker`, in no queue: the one of an earlier wait, if nobody else has it any more.
    pub(crate) fn by(waker: Waker, earlier: Option<Arc<Self>>, entry: impl FnOnce() -> E) -> Arc<Self> {
        if let Some(mut earlier) = earlier
            && let Some(own) = Arc::get_mut(&mut earlier)
        {
            *own.waker.get_mut() = Some(waker);
            return earlier;
        }
        let header = Header::acting(Kind::Bell, 0, ring::<E>);
        Arc::new(Awaiting { header, waker: UnsafeCell::new(Some(waker)), entry: entry() })
    }

    /// As it is, without the waker, unless whoever wakes it has that: for a later wait. A task that holds its own waker
    /// would never be freed.
    pub(crate) fn rest(mut awaiting: Arc<Self>) -> Arc<Self> {
        if let Some(own) = Arc::get_mut(&mut awaiting) {
            *own.waker.get_mut() = None;
        }
        awaiting
    }

    /// What the queue wakes, once; with it goes a reference.
    pub(crate) fn queued(self: &Arc<Self>) -> *mut Header {
        Arc::into_raw(self.clone()).cast_mut().cast()
    }

    /// Gives the queue's reference back.
    ///
    /// # Safety
    /// It has been [queued](Self::queued), and nobody has it in a queue, or the right to wake it, any more.
    pub(crate) unsafe fn take_back(self: &Arc<Self>) {
        // SAFETY: passed on to the caller: that reference is left.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(self)) };
    }

    /// Whether a wake reaches the same task as one by `waker`.
    ///
    /// # Safety
    /// The caller is inside the lock of the queue, and it stands there still.
    pub(crate) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        // SAFETY: passed on to the caller.
        let own = unsafe { &*self.waker.get() };
        own.as_ref().is_some_and(|own| own.will_wake(waker))
    }

    /// Waits by another waker from now on. What it had is for the caller to drop, after the unlock.
    ///
    /// # Safety
    /// As [`will_wake`](Self::will_wake).
    pub(crate) unsafe fn wait_by(&self, waker: Waker) -> Option<Waker> {
        // SAFETY: passed on to the caller.
        unsafe { self.waker.get().replace(Some(waker)) }
    }
}

/// Wakes what waits.
///
/// # Safety
/// `header` begins an `Awaiting<E>` that was queued, and the caller has the one right to wake it.
unsafe fn ring<E>(header: *mut Header) {
    // SAFETY: the reference that went with the right.
    let awaiting = unsafe { Arc::from_raw(header.cast::<Awaiting<E>>()) };
    // SAFETY: it was taken out of its queue, so that nobody else touches the waker.
    let waker = unsafe { awaiting.waker.get().replace(None) };
    // First, so that the future, which perhaps polls as soon as it is woken, finds itself the only one who has it.
    drop(awaiting);
    waker.into_iter().for_each(Waker::wake);
}
