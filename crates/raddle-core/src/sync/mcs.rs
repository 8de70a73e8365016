//! Owns: `McsLock` and its guard.
//! May use: `protocol::mcs`.
//! Never: a wait that parks: whoever takes this lock holds it for a few instructions.

use super::sleepers::{Patience, refuse_to_wait_in_cell};
use crate::protocol::mcs::{McsNode, McsQueue};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The queue lock of Mellor-Crummey and Scott around a `T`: first come, first served. For sections of a few
/// instructions.
///
/// [`with`](Self::with) keeps the node of the queue in its frame; the guard of [`lock`](Self::lock) may be moved,
/// so its node is a box. Who waits looks at its own node, and after a few looks lets the others of its worker run,
/// so that a holder among them goes on. It does not park: a thousand that wait at once keep two workers busy
/// looking, and a lock costs microseconds then; a [`Mutex`](super::Mutex) is better there. Not poisoned by a panic.
///
/// J. M. Mellor-Crummey, M. L. Scott, *Algorithms for scalable synchronization on shared-memory multiprocessors*, ACM
/// TOCS 9(1), 1991.
///
/// ```
/// use raddle_core::sync::McsLock;
/// static COUNT: McsLock<u32> = McsLock::new(0);
/// COUNT.with(|count| *count += 1);
/// assert_eq!(*COUNT.lock(), 1);
/// ```
pub struct McsLock<T: ?Sized> {
    queue: McsQueue,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one thread at a time.
unsafe impl<T: ?Sized + Send> Sync for McsLock<T> {}
// SAFETY: it owns its data.
unsafe impl<T: ?Sized + Send> Send for McsLock<T> {}

/// The right to the data of a [`McsLock`] until it is dropped.
#[must_use = "if unused the lock is free at once"]
pub struct McsGuard<'a, T: ?Sized> {
    lock: &'a McsLock<T>,
    node: NonNull<McsNode>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for McsGuard<'_, T> {}

/// The end of a `with`, by whichever way.
struct Leaving<'a>(&'a McsQueue, &'a McsNode);

impl Drop for Leaving<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release(self.1);
    }
}

impl<T> McsLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> McsLock<T> {
        McsLock { queue: McsQueue::new(), data: UnsafeCell::new(data) }
    }

    /// Gives the data out.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> McsLock<T> {
    /// Runs `f` on the data, locked.
    ///
    /// # Panics
    /// Inside a cell, which must not wait, if somebody has the lock; and with `f`, which frees the lock.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let node = McsNode::new();
        self.acquire(&node);
        let _leaving = Leaving(&self.queue, &node);
        // SAFETY: the lock is ours until the release.
        f(unsafe { &mut *self.data.get() })
    }

    #[inline]
    fn acquire(&self, node: &McsNode) {
        if !self.queue.try_acquire(node) {
            self.acquire_slow(node);
        }
    }

    #[cold]
    fn acquire_slow(&self, node: &McsNode) {
        refuse_to_wait_in_cell("McsLock::lock");
        let mut patience = Patience::default();
        self.queue.acquire(node, |before| patience.look_again(before));
    }

    /// Waits for its turn and takes the lock.
    ///
    /// # Panics
    /// Inside a cell, which must not wait, if somebody has the lock.
    #[inline]
    pub fn lock(&self) -> McsGuard<'_, T> {
        let node = Box::leak(Box::new(McsNode::new()));
        self.acquire(node);
        McsGuard { lock: self, node: NonNull::from(node), not_send: PhantomData }
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_lock(&self) -> Option<McsGuard<'_, T>> {
        if self.queue.is_locked() {
            return None;
        }
        let node = NonNull::from(Box::leak(Box::new(McsNode::new())));
        // SAFETY: it was just made.
        if self.queue.try_acquire(unsafe { node.as_ref() }) {
            return Some(McsGuard { lock: self, node, not_send: PhantomData });
        }
        // SAFETY: as above, and nobody else has seen it.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
        None
    }

    /// The data, without locking: the caller has the lock alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized> Deref for McsGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for McsGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for McsGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the node is there until the next lines free it.
        self.lock.queue.release(unsafe { self.node.as_ref() });
        // SAFETY: it came from a box, and after the release nobody else knows it.
        drop(unsafe { Box::from_raw(self.node.as_ptr()) });
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for McsLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("McsLock");
        match self.try_lock() {
            Some(guard) => out.field("data", &&*guard),
            None => out.field("data", &format_args!("<locked>")),
        };
        out.finish()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for McsGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
