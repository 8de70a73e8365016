//! Owns: `ToldWait`, what a report is told of a wait: for which object of the program, in which call, and who holds it.
//! May use: `raddle-core`.
//! Never: following an address of the program's; one that is not the waiter's to use.

use raddle_core::door::futex::Owner;
use raddle_core::wait::{CallOn, Held, Subject, Thing, WaitReason};
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) type ToldCall = CallOn<ToldWait>;

pub(crate) static MUTEX: ToldCall = CallOn::new("pthread_mutex_lock", WaitReason::Lock);
pub(crate) static RWLOCK: ToldCall = CallOn::new("pthread_rwlock_lock", WaitReason::Lock);
pub(crate) static COND: ToldCall = CallOn::new("pthread_cond_wait", WaitReason::Wait);
pub(crate) static BARRIER: ToldCall = CallOn::new("pthread_barrier_wait", WaitReason::Barrier);
pub(crate) static SEMAPHORE: ToldCall = CallOn::new("sem_wait", WaitReason::Lock);
pub(crate) static ONCE: ToldCall = CallOn::new("pthread_once", WaitReason::Wait);
pub(crate) static JOIN: ToldCall = CallOn::new("pthread_join", WaitReason::Join);
pub(crate) static SLEEP: ToldCall = CallOn::new("nanosleep", WaitReason::Sleep);
/// Of the OS thread in which the program began.
pub(crate) static END: ToldCall = CallOn::new("the end of all threads", WaitReason::Join);
pub(crate) static WORD: ToldCall = CallOn::new("futex", WaitReason::Wait);

/// What somebody waits for.
#[derive(Clone, Copy)]
pub(crate) struct ToldWait {
    pub(crate) call: &'static ToldCall,
    /// Where the object lies, and its size.
    pub(crate) at: (usize, usize),
    /// Null, or who holds it: in the object.
    pub(crate) owner: *const Owner,
    /// Null, or where the control block of the thread is kept whose end is waited for.
    pub(crate) thread: *const AtomicPtr<()>,
}

impl ToldWait {
    /// A wait in `call` for an object of the program's.
    #[inline]
    pub(crate) fn of<T>(call: &'static ToldCall, object: &T) -> ToldWait {
        let at = (std::ptr::from_ref(object).addr(), size_of::<T>());
        ToldWait { call, at, owner: std::ptr::null(), thread: std::ptr::null() }
    }

    /// A wait in `call` for nothing of the program's.
    pub(crate) fn of_nothing(call: &'static ToldCall) -> ToldWait {
        ToldWait { call, at: (0, 0), owner: std::ptr::null(), thread: std::ptr::null() }
    }

    /// The same, of one that says who holds it.
    #[inline]
    pub(crate) fn held_by(self, owner: &Owner) -> ToldWait {
        ToldWait { owner: std::ptr::from_ref(owner), ..self }
    }

    /// The same, for the end of a thread.
    pub(crate) fn for_end_of(self, thread: &AtomicPtr<()>) -> ToldWait {
        ToldWait { thread: std::ptr::from_ref(thread), ..self }
    }
}

impl Subject for ToldWait {
    const KIND: &'static str = "object";

    fn address(&self) -> *const () {
        std::ptr::without_provenance(self.at.0)
    }

    fn held(&self) -> Option<Held> {
        // SAFETY: a wait is looked at while it is shown only; and the object is there as long as somebody waits for it.
        unsafe { self.owner.as_ref() }.and_then(Owner::held)
    }

    fn awaits(&self) -> *const () {
        // SAFETY: as in `held`. It may not have begun when the wait did.
        unsafe { self.thread.as_ref() }.map_or(std::ptr::null(), |thread| thread.load(Ordering::Relaxed))
    }

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        if self.at.1 > 0 && self.thread.is_null() && self.held().is_none() {
            let (begin, bytes) = self.at;
            each(Thing {
                kind: Self::KIND,
                subject: begin,
                begin,
                end: begin + bytes,
                is_between_two: false,
            });
        }
    }
}
