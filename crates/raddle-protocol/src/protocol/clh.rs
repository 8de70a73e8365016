//! Owns: `ClhQueue`, the queue lock of Craig, and of Landin and Hagersten.
//! May use: `order`, `prim`, `loom`.
//! Never: a decision on how to wait, or where nodes come from; the caller brings both.
//!
//! T. S. Craig: *Building FIFO and priority-queuing spin locks from atomic swap*, University of Washington TR 93-02-02,
//! 1993; P. Magnusson, A. Landin, E. Hagersten: *Queue locks on cache coherent multiprocessors*, IPPS 1994. Who comes
//! swaps the address of its own node into the tail and waits on the node that it found there. To release is one store
//! into the own node; then that node is the successor's, and one's own is the predecessor's. One locked instruction for
//! a lock and an unlock together, where the lock of Mellor-Crummey and Scott needs two.
//!
//! Beyond the papers, one who is far from its turn sleeps. A holder must not have to look for a sleeper, or its release
//! would be a second locked instruction: so one sleeps only behind another *waiter* that allows it, and that one calls
//! it up when it comes near, and at the latest before it becomes the holder.
//!
//! | node's word | meaning | whose it is |
//! |---|---|---|
//! | `HELD` | its maker holds, or waits and is near | its maker's, and the successor looks at it |
//! | `WAITS` | its maker waits, far from its turn; the successor may sleep | as above |
//! | an address | as above, and the successor sleeps: wake this | as above |
//! | `FREE` | its maker has released | the successor's; if there is none, the lock's |
//!
//! | step | by | from | to |
//! |---|---|---|---|
//! | `enter` | the maker, before anybody sees the node | anything | `HELD` |
//! | `wait`, far | the maker, once | `HELD` | `WAITS` |
//! | `sleep` | the successor, its context saved | `WAITS` | an address |
//! | `call_up` | the maker | `WAITS`, an address | `HELD` for good; wakes |
//! | `release` | the maker, which holds | `HELD` | `FREE` |
//!
//! *No wake is lost*: whoever sleeps is behind a waiter that has not called up, and each waiter that has allowed sleep
//! calls up before it holds. The release is a plain store, for the word is `HELD` from then on.
//!
//! The lock begins without a node (in the papers: with one that is not held), so that it can be a constant.

use super::turn::Turn;
use crate::order;
use crate::prim::{AtomicPtr, Hint, Ordering, const_fn};
use std::ptr::NonNull;

/// One who waits or holds. On the heap: it changes hands. `W` is whom to wake.
#[derive(Debug)]
#[repr(align(64))]
pub struct ClhNode<W> {
    word: AtomicPtr<W>,
    /// A hint: one more than that of the node before, as far as its maker knows.
    number: Hint,
}

const FREE: usize = 0;
const HELD: usize = 1;
const WAITS: usize = 2;

#[inline(always)]
fn word<W>(value: usize) -> *mut W {
    std::ptr::without_provenance_mut(value)
}

/// The node of the one before the caller in the queue. To be waited behind.
#[derive(Debug)]
#[must_use = "whoever has entered the queue waits, or nobody after it gets the lock"]
pub struct Behind<W>(NonNull<ClhNode<W>>);

/// Whether the successor may sleep behind a waiter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Successor {
    /// Nobody has said so yet.
    NotYet,
    MaySleep,
    /// It was called up.
    Awake,
}

impl<W> ClhNode<W> {
    /// A new one, whose owner the caller is.
    #[inline]
    pub fn boxed() -> NonNull<ClhNode<W>> {
        let node = ClhNode { word: AtomicPtr::new(word(HELD)), number: Hint::new(0) };
        NonNull::from(Box::leak(Box::new(node)))
    }

    /// # Safety
    /// The caller is its owner, and it was made by [`boxed`](Self::boxed).
    #[inline]
    pub unsafe fn free(node: NonNull<ClhNode<W>>) {
        // SAFETY: passed on to the caller.
        drop(unsafe { Box::from_raw(node.as_ptr()) });
    }

    #[inline(always)]
    fn is_free(&self) -> bool {
        self.word.load(order::CLH_SEE_RELEASE()).addr() == FREE
    }

    /// The maker, which waits, lets its successor sleep no more, and wakes it if it does.
    #[inline]
    fn call_up<T: Turn<Who = W>>(&self) {
        let found = self.word.swap(word(HELD), order::CLH_CALL());
        if found.addr() > WAITS {
            // SAFETY: the swap has taken it back.
            unsafe { T::wake(found) };
        }
    }
}

/// The tail, and the number of the one who holds.
#[derive(Debug)]
pub struct ClhQueue<W> {
    tail: AtomicPtr<ClhNode<W>>,
    served: Hint,
}

impl<W> ClhQueue<W> {
    const_fn! {
        /// A free one.
        #[inline]
        pub fn new() -> Self {
            ClhQueue { tail: AtomicPtr::new(std::ptr::null_mut()), served: Hint::new(0) }
        }
    }

    /// Enters the queue. Returns the node that is the caller's once it holds the lock, and behind whom it has to wait
    /// for that; it holds the lock already if there is nobody.
    ///
    /// # Safety
    /// The caller is the owner of `node`; from now on the lock is, until the release.
    #[inline(always)]
    pub unsafe fn enter(
        &self,
        node: NonNull<ClhNode<W>>,
    ) -> (Option<NonNull<ClhNode<W>>>, Option<Behind<W>>) {
        // SAFETY: it is the caller's.
        let mine = unsafe { node.as_ref() };
        mine.word.store(word(HELD), Ordering::Relaxed);
        mine.number.set(self.served.get());
        let before = NonNull::new(self.tail.swap(node.as_ptr(), order::CLH_SWAP()));
        // SAFETY: from the swap on nobody but the caller frees it.
        let waits = before.filter(|before| !unsafe { before.as_ref() }.is_free());
        (before, waits.map(Behind))
    }

    /// Waits by `turn` until the lock is the caller's, who has entered the queue with `mine`.
    #[inline]
    pub fn wait<T: Turn<Who = W>>(&self, behind: Behind<W>, mine: &ClhNode<W>, mut turn: T) {
        // SAFETY: nobody but the caller frees it.
        let before = unsafe { behind.0.as_ref() };
        let mut successor = Successor::NotYet;
        loop {
            let seen = before.word.load(order::CLH_SEE_RELEASE()).addr();
            if seen == FREE {
                break;
            }
            // The one before may learn its own number later than we ask for it.
            let number = before.number.get().wrapping_add(1);
            mine.number.set(number);
            let ahead = number.wrapping_sub(self.served.get());
            if turn.is_near(ahead) {
                if successor == Successor::MaySleep {
                    mine.call_up::<T>();
                    successor = Successor::Awake;
                }
            } else if successor == Successor::NotYet {
                // Relaxed: it shows nothing. Nobody else writes while it is `HELD`.
                mine.word.store(word(WAITS), Ordering::Relaxed);
                successor = Successor::MaySleep;
            }
            if seen == WAITS && turn.should_sleep(ahead) {
                let (word_before, release) = (&before.word, order::CLH_SLEEP());
                turn.sleep(|who| {
                    word_before.compare_exchange(word(WAITS), who, release, Ordering::Relaxed).is_ok()
                });
            } else {
                turn.look_again(ahead);
            }
        }
        if successor == Successor::MaySleep {
            mine.call_up::<T>();
        }
        self.served.set(mine.number.get());
    }

    /// Gives the lock to the next in the queue. The node is its, or the lock's.
    ///
    /// # Safety
    /// The lock was acquired with `node` and has not been released since.
    #[inline]
    pub unsafe fn release(node: NonNull<ClhNode<W>>) {
        // SAFETY: it is the caller's until this store.
        unsafe { node.as_ref() }.word.store(word(FREE), order::CLH_RELEASE());
    }

    /// The node that a free lock owns, for the end of the lock.
    #[inline]
    pub fn take_last(&mut self) -> Option<NonNull<ClhNode<W>>> {
        NonNull::new(self.tail.swap(std::ptr::null_mut(), Ordering::Relaxed))
    }
}
