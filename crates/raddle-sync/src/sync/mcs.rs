//! Owns: `McsLock` and its guard.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: a way to wait of its own.

use super::nodes::{self, McsNode};
use super::queue_site::QueueSite;
use super::sleepers::{InTurn, in_task, refuse_to_wait_in_task};
use crate::host::choice::counted_point;
use crate::host::{CallOn, Wait, WaitReason};
use crate::host::{Crowd, Through};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::mcs::{Behind, McsQueue};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

const LOCK: CallOn<QueueSite> = CallOn::new("McsLock::lock", WaitReason::Lock);

/// The queue lock of Mellor-Crummey and Scott around a `T`: first come, first served. For sections of a few
/// instructions.
///
/// [`with`](Self::with) keeps the node of the queue in its frame; the guard of [`lock`](Self::lock) may be moved,
/// so its node is on the heap. Who is near its turn looks at its own node, and after a few looks lets the others of its
/// worker run, so that a holder among them goes on. Who is far from it sleeps, and is called up before its turn comes,
/// by the one before it; when many want it, the light processes of a worker come to the queue one at a time, in their
/// order. Not poisoned by a panic.
///
/// J. M. Mellor-Crummey, M. L. Scott, *Algorithms for scalable synchronization on shared-memory multiprocessors*, ACM
/// TOCS 9(1), 1991.
///
/// ```
/// use raddle::sync::McsLock;
/// static COUNT: McsLock<u32> = McsLock::new(0);
/// COUNT.with(|count| *count += 1);
/// assert_eq!(*COUNT.lock(), 1);
/// ```
pub struct McsLock<T: ?Sized> {
    queue: McsQueue<Header>,
    crowd: Crowd,
    site: QueueSite,
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
    through: Through,
    not_send: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives shared access to the data only.
unsafe impl<T: ?Sized + Sync> Sync for McsGuard<'_, T> {}

/// The end of a `with`, by whichever way.
struct Leaving<'a, T: ?Sized>(&'a McsLock<T>, &'a McsNode, Through);

impl<T: ?Sized> Drop for Leaving<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.release(self.1, self.2);
    }
}

/// A node that is not in a queue: it goes back.
struct Kept(NonNull<McsNode>);

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it was taken, and nobody else knows it.
        unsafe { nodes::give(self.0) };
    }
}

impl<T> McsLock<T> {
    /// A free one around `data`.
    pub const fn new(data: T) -> McsLock<T> {
        let (queue, crowd, site) = (McsQueue::new(), Crowd::new(), QueueSite::new());
        McsLock { queue, crowd, site, data: UnsafeCell::new(data) }
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
    /// Inside a task, which must not wait, if somebody has the lock; and with `f`, which frees the lock.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let node = McsNode::new();
        let through = self.acquire(&node);
        let _leaving = Leaving(self, &node, through);
        // SAFETY: the lock is ours until the release.
        f(unsafe { &mut *self.data.get() })
    }

    #[inline(always)]
    #[track_caller]
    fn acquire(&self, node: &McsNode) -> Through {
        counted_point("McsLock::lock");
        let mut through = Through::NO_GATE;
        if in_task() {
            self.acquire_in_task(node, Location::caller());
        } else {
            if self.crowd.is_there() {
                through = self.come(Location::caller());
            }
            if let Some(behind) = self.queue.enter(node) {
                self.wait(behind, node, Location::caller());
            }
        }
        self.site.note(Location::caller());
        through
    }

    #[inline]
    fn release(&self, node: &McsNode, through: Through) {
        self.site.forget();
        self.queue.release::<InTurn<'_>>(node);
        self.crowd.leave(through);
    }

    #[cold]
    fn come(&self, site: &'static Location<'static>) -> Through {
        let wait = Wait::on(const { &LOCK }, &self.site, site);
        let _shown = wait.show();
        self.crowd.come(LOCK.call())
    }

    #[cold]
    fn wait(&self, behind: Behind<Header>, node: &McsNode, site: &'static Location<'static>) {
        let wait = Wait::on(const { &LOCK }, &self.site, site);
        let _shown = wait.show();
        self.queue.wait(behind, node, &mut InTurn::new(LOCK.call(), &self.crowd));
    }

    /// A queue cannot be left, so that one who must not wait enters an empty one only.
    #[cold]
    fn acquire_in_task(&self, node: &McsNode, site: &'static Location<'static>) {
        if !self.queue.try_acquire(node) {
            refuse_to_wait_in_task(LOCK.name());
            // It unwinds already, and one panic more would end the program: so it stops its worker.
            if let Some(behind) = self.queue.enter(node) {
                self.wait(behind, node, site);
            }
        }
    }

    /// Waits for its turn and takes the lock.
    ///
    /// # Panics
    /// Inside a task, which must not wait, if somebody has the lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> McsGuard<'_, T> {
        let node: NonNull<McsNode> = nodes::take();
        // SAFETY: it has just become ours.
        let mine = unsafe { node.as_ref() };
        mine.renew();
        let kept = Kept(node);
        let through = self.acquire(mine);
        std::mem::forget(kept);
        McsGuard { lock: self, node, through, not_send: PhantomData }
    }

    /// Takes the lock if nobody has it.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<McsGuard<'_, T>> {
        counted_point("McsLock::try_lock");
        if self.queue.is_locked() {
            return None;
        }
        let kept = Kept(nodes::take());
        // SAFETY: it has just become ours.
        let mine = unsafe { kept.0.as_ref() };
        mine.renew();
        if !self.queue.try_acquire(mine) {
            return None;
        }
        self.site.note(Location::caller());
        let node = kept.0;
        std::mem::forget(kept);
        Some(McsGuard { lock: self, node, through: Through::NO_GATE, not_send: PhantomData })
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
        // SAFETY: the node is ours until the next lines give it back.
        self.lock.release(unsafe { self.node.as_ref() }, self.through);
        // SAFETY: it was taken, and after the release nobody else knows it.
        unsafe { nodes::give(self.node) };
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
