//! Owns: `ClhLock` and its guard.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: a way to wait of its own.

use super::nodes::{self, ClhNode};
use super::queue_site::QueueSite;
use super::sleepers::{InTurn, refuse_to_wait_in_task};
use crate::host::choice::counted_point;
use crate::host::{CallOn, Wait, WaitReason};
use crate::host::{Crowd, Through};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::clh::{Behind, ClhQueue};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

const LOCK: CallOn<QueueSite> = CallOn::new("ClhLock::lock", WaitReason::Lock);

/// The queue lock of Craig and of Magnusson, Landin and Hagersten, around a `T`: first come, first served, one locked
/// instruction for a lock and an unlock together. For sections of a few instructions.
///
/// Who is near its turn looks at its predecessor's node, and after a few looks lets the others of its worker run, so
/// that a holder among them goes on. Who is far from it sleeps, and is called up before its turn comes, by the one
/// before it; when many want it, the light processes of a worker come to the queue one at a time, in their order. Not
/// poisoned by a panic.
///
/// T. S. Craig, *Building FIFO and priority-queuing spin locks from atomic swap*, University of Washington, 1993;
/// P. Magnusson, A. Landin, E. Hagersten, *Queue locks on cache coherent multiprocessors*, IPPS 1994.
///
/// ```
/// use raddle::sync::ClhLock;
/// static COUNT: ClhLock<u32> = ClhLock::new(0);
/// *COUNT.lock() += 1;
/// assert_eq!(COUNT.with(|count| *count), 1);
/// ```
pub struct ClhLock<T: ?Sized> {
    queue: ClhQueue<Header>,
    crowd: Crowd,
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
    through: Through,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for ClhGuard<'_, T> {}

impl<T> ClhLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> ClhLock<T> {
        let (queue, crowd, site) = (ClhQueue::new(), Crowd::new(), QueueSite::new());
        ClhLock { queue, crowd, site, data: UnsafeCell::new(data) }
    }
}

impl<T: ?Sized> ClhLock<T> {
    /// Waits for its turn and takes the lock.
    ///
    /// # Panics
    /// Inside a task, which must not wait; and a queue cannot be left.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ClhGuard<'_, T> {
        counted_point("ClhLock::lock");
        refuse_to_wait_in_task(LOCK.name());
        let mut through = Through::NO_GATE;
        if self.crowd.is_there() {
            through = self.come(Location::caller());
        }
        self.lock_past_gates(through)
    }

    /// The caller, which may wait, has come to the queue.
    #[inline(always)]
    #[track_caller]
    fn lock_past_gates(&self, through: Through) -> ClhGuard<'_, T> {
        let node = match nodes::kept::<ClhNode>() {
            Some(node) => self.acquire_with_kept(node),
            None => self.acquire(nodes::take()),
        };
        self.site.note(Location::caller());
        ClhGuard { lock: self, node, through, not_send: PhantomData }
    }

    /// The common case: the predecessor has released, and its node takes the place of the one that was kept.
    #[inline(always)]
    #[track_caller]
    fn acquire_with_kept(&self, node: NonNull<ClhNode>) -> NonNull<ClhNode> {
        // SAFETY: nothing runs here before the place has another node, or none: so this one is ours.
        match unsafe { self.queue.enter(node) } {
            // SAFETY: the predecessor has left it to us.
            (Some(before), None) => unsafe { nodes::replace(before) },
            (before, behind) => {
                nodes::forget::<ClhNode>();
                self.acquire_late(node, before, behind, Location::caller());
            }
        }
        node
    }

    #[cold]
    #[track_caller]
    fn acquire(&self, node: NonNull<ClhNode>) -> NonNull<ClhNode> {
        // SAFETY: the node has just become ours.
        let (before, behind) = unsafe { self.queue.enter(node) };
        self.acquire_late(node, before, behind, Location::caller());
        node
    }

    #[cold]
    fn acquire_late(
        &self,
        node: NonNull<ClhNode>,
        before: Option<NonNull<ClhNode>>,
        behind: Option<Behind<Header>>,
        site: &'static Location<'static>,
    ) {
        if let Some(behind) = behind {
            self.wait(behind, node, site);
        }
        if let Some(before) = before {
            // SAFETY: the predecessor has left it to us.
            unsafe { nodes::give(before) };
        }
    }

    #[cold]
    fn come(&self, site: &'static Location<'static>) -> Through {
        let wait = Wait::on(const { &LOCK }, &self.site, site);
        let _shown = wait.show();
        self.crowd.come(LOCK.call())
    }

    fn wait(&self, behind: Behind<Header>, node: NonNull<ClhNode>, site: &'static Location<'static>) {
        let wait = Wait::on(const { &LOCK }, &self.site, site);
        let _shown = wait.show();
        // SAFETY: the node is ours, until we release the lock.
        self.queue.wait(behind, unsafe { node.as_ref() }, InTurn::new(LOCK.call(), &self.crowd));
    }

    /// Runs `f` on the data, locked.
    ///
    /// # Panics
    /// As [`lock`](Self::lock), and with `f`, which frees the lock.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        counted_point("ClhLock::lock");
        refuse_to_wait_in_task(LOCK.name());
        if self.crowd.is_there() {
            let through = self.come(Location::caller());
            return self.with_gate(through, f);
        }
        f(&mut self.lock_past_gates(Through::NO_GATE))
    }

    /// PERF: apart, so that who came through no gate need not ask at the end whether it did: bench `queue_lock`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn with_gate<R>(&self, through: Through, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock_past_gates(through))
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
        self.lock.site.forget();
        // SAFETY: it is the node that the lock was acquired with.
        unsafe { ClhQueue::release(self.node) };
        self.lock.crowd.leave(self.through);
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
