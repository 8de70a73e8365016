//! Owns: `TaskShare`, a share of what a task and its handles have in common.
//! May use: `worker::rooms`.
//! Never: the memory given back while somebody has a share.
//!
//! It does what an `Arc` does, but in a room (`worker::rooms`), of which an `Arc` knows nothing: so a task that is
//! spawned needs no allocation. The count lies in the thing itself.

use crate::worker::rooms::{give_room, put_into_room};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More shares than anybody has by honest means: whoever forgets so many ends the program, as with an `Arc`.
const MOST: usize = isize::MAX as usize;

/// How many shares of a thing there are, and what is done with it after the last.
pub(crate) struct ShareCount {
    count: AtomicUsize,
    free: unsafe fn(NonNull<()>),
}

impl ShareCount {
    /// Of a `C` in which this will lie; the first share is its maker's.
    pub(super) const fn of<C: HasShares>() -> ShareCount {
        unsafe fn free<C>(room: NonNull<()>) {
            let room = room.cast::<C>();
            // SAFETY: a `C` lies there, in which nobody has a share any more, says the caller.
            unsafe { room.drop_in_place() };
            // SAFETY: as above: it lay in a room.
            unsafe { give_room(room) };
        }
        ShareCount { count: AtomicUsize::new(1), free: free::<C> }
    }
}

/// What several have a share of.
///
/// # Safety
/// It always names the same [`ShareCount`], made for its type, which nobody else uses.
pub(crate) unsafe trait HasShares: Send + Sync {
    fn shares(&self) -> &ShareCount;
}

/// A share.
pub(crate) struct TaskShare<C: HasShares + ?Sized>(NonNull<C>);

// SAFETY: a share lends shared references, and the last one drops the thing: it may be shared and sent.
unsafe impl<C: HasShares + ?Sized> Send for TaskShare<C> {}
// SAFETY: as above.
unsafe impl<C: HasShares + ?Sized> Sync for TaskShare<C> {}

impl<C: HasShares> TaskShare<C> {
    /// The first share of a thing.
    pub(crate) fn new(thing: C) -> TaskShare<C> {
        TaskShare(put_into_room(thing))
    }
}

impl<C: HasShares + ?Sized> TaskShare<C> {
    /// A share that is nobody else's.
    ///
    /// # Safety
    /// The thing lies in a room, and the caller has this share and gives it up.
    pub(super) unsafe fn from_raw(thing: NonNull<C>) -> TaskShare<C> {
        TaskShare(thing)
    }

    /// The share, without what gives it up.
    pub(super) fn into_raw(self) -> NonNull<C> {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl<C: HasShares + ?Sized> Deref for TaskShare<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        // SAFETY: it is there while somebody has a share.
        unsafe { self.0.as_ref() }
    }
}

impl<C: HasShares + ?Sized> Clone for TaskShare<C> {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: whoever has a share sees the thing already.
        if self.shares().count.fetch_add(1, Ordering::Relaxed) > MOST {
            std::process::abort();
        }
        TaskShare(self.0)
    }
}

impl<C: HasShares + ?Sized> Drop for TaskShare<C> {
    #[inline]
    fn drop(&mut self) {
        let ShareCount { count, free } = self.shares();
        let free = *free;
        // pairs with itself: what others did with the thing is done before who gives up the last share drops it. Not by
        // a fence, which ThreadSanitizer does not know.
        if count.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: made for the thing's type, and nobody has a share any more.
            unsafe { free(self.0.cast()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    struct Counted {
        shares: ShareCount,
        kept: Arc<()>,
        _size: [u8; 200],
    }

    // SAFETY: always that one.
    unsafe impl HasShares for Counted {
        fn shares(&self) -> &ShareCount {
            &self.shares
        }
    }

    trait Whatever: HasShares {
        fn kept(&self) -> &Arc<()>;
    }

    impl Whatever for Counted {
        fn kept(&self) -> &Arc<()> {
            &self.kept
        }
    }

    #[test]
    fn a_thing_is_dropped_once_with_its_last_share() {
        let kept = Arc::new(());
        let thing = Counted { shares: ShareCount::of::<Counted>(), kept: kept.clone(), _size: [0; 200] };
        let held = TaskShare::new(thing);
        // SAFETY: its own share, under another type.
        let held: TaskShare<dyn Whatever> = unsafe { TaskShare::from_raw(held.into_raw()) };
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let held = held.clone();
                thread::spawn(move || {
                    (0..1000).map(|_| held.clone()).all(|one| Arc::strong_count(one.kept()) == 2)
                })
            })
            .collect();
        assert!(threads.into_iter().all(|one| one.join().expect("it does not panic")));
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(held);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
