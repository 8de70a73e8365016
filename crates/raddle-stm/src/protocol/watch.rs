//! Owns: `Watched`: a variable's word, and the list of those who wait for a change.
//! May use: `mistake`, `raddle-protocol`.
//! Never: how one waits.
//!
//! `watch.md` has the argument why no change is missed. The list is the variable's own, and so a change looks at nobody
//! else; what guards it is one of a few locks that all variables share, since it is hardly ever taken.

use crate::mistake::{Mistake, made};
use crate::prim::{AtomicU32, Link, Ordering, const_fn, give_way};
use crate::protocol::word::Word;
use raddle_protocol::protocol::sleeper::TimedSleeper;
use std::marker::PhantomPinned;

/// A variable's word with its list.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    pub(crate) word: Word,
    /// Guarded by the variable's [`Stripe`], as the last. The list is in the order of the versions: they only grow.
    first: Link<WatchNode<S>>,
    last: Link<WatchNode<S>>,
}

// SAFETY: the list is touched by the holder of the stripe only, and sleepers may be selected from any thread.
unsafe impl<S> Sync for Watched<S> {}
// SAFETY: as above.
unsafe impl<S> Send for Watched<S> {}

/// One who waits, at one variable. Belongs to the holder of the variable's stripe while it is in the list.
#[derive(Debug)]
pub(crate) struct WatchNode<S> {
    sleeper: *const S,
    /// Changes of this time or earlier are none.
    version: u64,
    next: Link<WatchNode<S>>,
    previous: Link<WatchNode<S>>,
    /// 1 while it is in the list. Whoever has taken it out says so last, and touches it no more.
    is_in: AtomicU32,
    /// Others change it by the list while its owner is in a call with a `&mut` of what it lies in: so no such reference
    /// may claim to be the only way to it.
    _pinned: PhantomPinned,
}

impl<S> WatchNode<S> {
    /// As if its memory were used for something else, for loom: nobody else may touch it any more.
    #[cfg(loom)]
    pub(crate) fn go(&mut self) {
        self.next.set(std::ptr::null_mut());
        self.previous.set(std::ptr::null_mut());
    }

    /// In no list.
    pub(crate) fn new(sleeper: &S) -> WatchNode<S> {
        WatchNode {
            sleeper,
            version: 0,
            next: Link::new(),
            previous: Link::new(),
            is_in: AtomicU32::new(0),
            _pinned: PhantomPinned,
        }
    }
}

/// A lock for a few instructions, of lists of which nobody else's are changed at the same time as a rule.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Stripe(AtomicU32);

impl Stripe {
    const_fn! {
        /// A free one.
        pub(crate) fn new() -> Stripe {
            Stripe(AtomicU32::new(0))
        }
    }

    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let mut round = 0;
        // Acquire pairs with the release below.
        while self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            give_way(round);
            round += 1;
        }
        let result = f();
        // Release pairs with the acquire above.
        self.0.store(0, Ordering::Release);
        result
    }
}

/// So many are selected before the first of them is woken.
const ROW: usize = 16;

impl<S: TimedSleeper> Watched<S> {
    const_fn! {
        /// Written last at `version`, and nobody waits.
        pub(crate) fn new(version: u64) -> Watched<S> {
            Watched { word: Word::new(version), first: Link::new(), last: Link::new() }
        }
    }

    /// Puts the node into the list, if the variable is what it was at `time`.
    ///
    /// # Safety
    /// `stripe` is the variable's; the node stays where it is, and its sleeper, until it has left by
    /// [`unwatch`](Self::unwatch).
    pub(crate) unsafe fn watch(&self, stripe: &Stripe, node: *mut WatchNode<S>, time: u64) -> bool {
        stripe.enter(|| {
            let mut seen = self.word.look();
            loop {
                if !seen.is_of(time) && !made(Mistake::WatchesUnchecked) {
                    return false;
                }
                match self.word.watch(seen) {
                    Ok(()) => break,
                    Err(now) => seen = now,
                }
            }
            // SAFETY: the caller's, which is in no list.
            let new = unsafe { &mut *node };
            new.version = seen.version();
            new.is_in.store(1, Ordering::Relaxed);
            let last = self.last.get();
            new.previous.set(last);
            new.next.set(std::ptr::null_mut());
            // SAFETY: null, or a node of this list, which we have locked.
            match unsafe { last.as_ref() } {
                Some(last) => last.next.set(node),
                None => self.first.set(node),
            }
            self.last.set(node);
            true
        })
    }

    /// The node is in the list no more, and nobody looks at it or its sleeper by it.
    ///
    /// # Safety
    /// As for [`watch`](Self::watch).
    pub(crate) unsafe fn unwatch(&self, stripe: &Stripe, node: *mut WatchNode<S>) {
        // SAFETY: the caller's; others touch it by shared references.
        let is_in = unsafe { &(*node).is_in };
        // Acquire pairs with the release of who has taken it out: all that it has done with the node is over.
        if is_in.load(Ordering::Acquire) == 0 {
            return;
        }
        stripe.enter(|| {
            if is_in.load(Ordering::Relaxed) == 1 {
                // SAFETY: it is in this list, which we have locked.
                unsafe { self.take_out(node) };
            }
        });
    }

    /// # Safety
    /// The node is in this list, whose lock the caller has.
    unsafe fn take_out(&self, node: *mut WatchNode<S>) {
        // SAFETY: the caller says so.
        let node = unsafe { &*node };
        if made(Mistake::LeavesTooEarly) {
            // As below: pairs with the acquire in `unwatch`.
            node.is_in.store(0, Ordering::Release);
        }
        let (previous, next) = (node.previous.get(), node.next.get());
        // SAFETY: null, or a node of this list, too.
        match unsafe { previous.as_ref() } {
            Some(previous) => previous.next.set(next),
            None => self.first.set(next),
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            Some(next) => next.previous.set(previous),
            None => self.last.set(previous),
        }
        // Release pairs with the acquire of its owner in `unwatch`, for whom it may go now.
        node.is_in.store(0, Ordering::Release);
    }

    /// Wakes those who wait for a change since a time before `version`, after the variable was unlocked with that.
    ///
    /// # Safety
    /// `stripe` is the variable's.
    #[cold]
    pub(crate) unsafe fn wake(&self, stripe: &Stripe, version: u64) {
        if made(Mistake::WakesNobody) {
            return;
        }
        // As a rule there is one.
        let mut more = self.wake_row::<1>(stripe, version);
        while more {
            more = self.wake_row::<ROW>(stripe, version);
        }
    }

    /// Wakes so many. Whether there are more.
    #[inline]
    fn wake_row<const MANY: usize>(&self, stripe: &Stripe, version: u64) -> bool {
        let mut row: [Option<S::Right>; MANY] = [const { None }; MANY];
        let more = stripe.enter(|| self.select(&mut row, version));
        row.into_iter().flatten().for_each(S::wake);
        more
    }

    /// Takes nodes out of the list and ends their waits, the oldest first. Whether the row was too short.
    fn select(&self, row: &mut [Option<S::Right>], version: u64) -> bool {
        let mut places = row.iter_mut();
        let mut at = self.first.get();
        // PERF: those that come while others are woken stand behind all that are to be woken, and are not looked at.
        // At the front, where they stood before, each row passed all of them again: with 30000 that retry at once the
        // time of a commit grew with the square of their number.
        // SAFETY: null, or a node of this list, which the caller has locked.
        while let Some(node) = unsafe { at.as_ref() }
            && node.version < version
        {
            let Some(place) = places.next() else { return true };
            let next = node.next.get();
            // SAFETY: as above; it leaves the list before its sleeper goes, and by the lock that we have.
            *place = unsafe { &*node.sleeper }.try_select(0);
            // SAFETY: as above.
            unsafe { self.take_out(at) };
            at = next;
        }
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use raddle_protocol::call::WaitCall;
    use raddle_protocol::protocol::sleeper::Sleeper;
    use std::cell::RefCell;
    use std::time::Instant;

    /// Writes down its number when its wait is ended.
    struct Numbered<'r>(usize, &'r RefCell<Vec<usize>>);

    // SAFETY: it never waits.
    unsafe impl Sleeper for Numbered<'_> {
        type Right = ();

        fn new(_call: &'static WaitCall) -> Self {
            unreachable!("the test makes them")
        }

        fn wait(&self) {}

        fn select(&self) {}

        fn wake((): ()) {}
    }

    impl TimedSleeper for Numbered<'_> {
        fn wait_timed(&self) -> Option<u32> {
            None
        }

        fn wait_until(&self, _deadline: Option<Instant>) -> Option<u32> {
            None
        }

        fn try_select(&self, _outcome: u32) -> Option<()> {
            self.1.borrow_mut().push(self.0);
            Some(())
        }

        fn give_up(&self) {}

        fn discard(self) {}
    }

    /// And so those that come meanwhile, for the next change, stand behind all who are to be woken.
    #[test]
    fn who_came_first_is_woken_first() {
        const MANY: usize = 3 * ROW + 1;
        let (watched, stripe) = (Watched::new(0), Stripe::new());
        let woken = RefCell::new(Vec::new());
        let all: Vec<_> = (0..MANY).map(|number| Numbered(number, &woken)).collect();
        let mut nodes: Vec<_> = all.iter().map(WatchNode::new).collect();
        for (number, node) in nodes.iter_mut().enumerate() {
            if number == MANY - 1 {
                watched.word.unlock(1);
            }
            // SAFETY: it stays where it is, and leaves below.
            assert!(unsafe { watched.watch(&stripe, node, 1) });
        }
        // One leaves, from the middle.
        // SAFETY: as above.
        unsafe { watched.unwatch(&stripe, &raw mut nodes[5]) };
        // SAFETY: it is the stripe.
        unsafe { watched.wake(&stripe, 1) };
        assert_eq!(*woken.borrow(), (0..MANY - 1).filter(|number| *number != 5).collect::<Vec<_>>());
        // SAFETY: as above.
        unsafe { watched.wake(&stripe, 2) };
        assert_eq!(woken.borrow().last(), Some(&(MANY - 1)));
        // SAFETY: as above.
        nodes.iter_mut().for_each(|node| unsafe { watched.unwatch(&stripe, node) });
        assert!(watched.first.get().is_null() && watched.last.get().is_null());
    }
}
