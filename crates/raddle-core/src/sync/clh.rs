//! Owns: `ClhLock` and its guard.
//! May use: `protocol::clh`, `nodes`.
//! Never: a way to wait of its own.

use super::holder::QueueSite;
use super::nodes::{self, ClhNode};
use super::sleepers::{InTurn, refuse_to_wait_in_cell};
use crate::explore::point;
use crate::header::Header;
use crate::protocol::clh::{Behind, ClhQueue};
use crate::wait::{CallOn, Wait};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

const LOCK: CallOn<QueueSite> = CallOn::new("ClhLock::lock");

/// The queue lock of Craig and of Magnusson, Landin and Hagersten, around a `T`: first come, first served, one locked
/// instruction for a lock and an unlock together. For sections of a few instructions.
///
/// Who is near its turn looks at its predecessor's node, and after a few looks lets the others of its worker run, so
/// that a holder among them goes on. Who is far from it sleeps, and is called up before its turn comes, by the one
/// before it. Not poisoned by a panic.
///
/// T. S. Craig, *Building FIFO and priority-queuing spin locks from atomic swap*, University of Washington, 1993;
/// P. Magnusson, A. Landin, E. Hagersten, *Queue locks on cache coherent multiprocessors*, IPPS 1994.
///
/// ```
/// use raddle_core::sync::ClhLock;
/// static COUNT: ClhLock<u32> = ClhLock::new(0);
/// *COUNT.lock() += 1;
/// assert_eq!(COUNT.with(|count| *count), 1);
/// ```
pub struct ClhLock<T: ?Sized> {
    queue: ClhQueue<Header>,
    site: QueueSite,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives access to one thread at a time.
unsafe impl<T: ?Sized + Send> Sync for ClhLock<T> {}
// SAFETY: it owns its data and its last node.
unsafe impl<T: ?Sized + Send> Send for ClhLock<T> {}

/// The right to the data of a [`ClhLock`] until it is dropped.
#[must_use = "if unused the lock is free at once"]
pub struct ClhGuard<'a, T: ?Sized> {
    lock: &'a ClhLock<T>,
    node: NonNull<ClhNode>,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for ClhGuard<'_, T> {}

impl<T> ClhLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> ClhLock<T> {
        ClhLock { queue: ClhQueue::new(), site: QueueSite::new(), data: UnsafeCell::new(data) }
    }
}

impl<T: ?Sized> ClhLock<T> {
    /// Waits for its turn and takes the lock.
    ///
    /// # Panics
    /// Inside a cell, which must not wait; and a queue cannot be left.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ClhGuard<'_, T> {
        point("ClhLock::lock");
        refuse_to_wait_in_cell(LOCK.name());
        let node = nodes::take();
        // SAFETY: the node has just become ours.
        let (before, behind) = unsafe { self.queue.enter(node) };
        if let Some(behind) = behind {
            self.wait(behind, node, Location::caller());
        }
        if let Some(before) = before {
            // SAFETY: the predecessor has left it to us.
            unsafe { nodes::give(before) };
        }
        self.site.note(Location::caller());
        ClhGuard { lock: self, node, not_send: PhantomData }
    }

    #[cold]
    fn wait(&self, behind: Behind<Header>, node: NonNull<ClhNode>, site: &'static Location<'static>) {
        let wait = Wait::on(const { &LOCK }, &self.site, site);
        let _shown = wait.show();
        // SAFETY: the node is ours, until we release the lock.
        self.queue.wait(behind, unsafe { node.as_ref() }, InTurn::new(LOCK.name()));
    }

    /// Runs `f` on the data, locked.
    ///
    /// # Panics
    /// As [`lock`](Self::lock), and with `f`, which frees the lock.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock())
    }

    /// The data, without locking: the caller has the lock alone.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized> Drop for ClhLock<T> {
    fn drop(&mut self) {
        // A guard that was forgotten has left its node here all the same: it is freed, and nobody looks at it.
        if let Some(node) = self.queue.take_last() {
            // SAFETY: the last node of a lock that nobody uses is the lock's.
            unsafe { ClhNode::free(node) };
        }
    }
}

impl<T: ?Sized> Deref for ClhGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the data.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for ClhGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the data.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for ClhGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is the node that the lock was acquired with.
        unsafe { ClhQueue::release(self.node) };
    }
}

impl<T: ?Sized> fmt::Debug for ClhLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClhLock").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ClhGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
