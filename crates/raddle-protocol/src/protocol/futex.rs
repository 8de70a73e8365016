//! Owns: `FutexTable`, in which those wait who wait for a word to change; how they are woken, and moved to another one.
//! May use: `order`.
//! Never: reading or writing the word; a wait, or a switch, while a bucket is locked.
//!
//! What the kernel's futex is to a POSIX lock: the word belongs to the user, who changes it with atomic instructions of
//! its own, and comes here to sleep while it has a certain value, or to wake those who do. Here a word is only an
//! address, and whether it still has the expected value is a question to the caller, asked at the right moment.
//!
//! ```text
//!     wait(address, unchanged)                     wake(address, n)     (the caller has changed the word)
//!     lock the bucket of the address
//!     fence                                        fence
//!     if unchanged(): enter the tree               if the bucket is free and empty: nobody waits
//!     unlock                                       lock it; take the first n out, and select each; unlock
//!     sleep until selected, or the deadline        wake those who were selected
//!     deadline: lock the bucket; leave the tree
//! ```
//!
//! **No wake is lost.** One who waits has locked the bucket before it looks at the word, and one who wakes has changed
//! the word before it looks at the bucket. With a fence between the two steps on either side, one of them sees what the
//! other did: the waiter sees the change and goes, or the waker sees a bucket that is not free and empty and locks it.
//! Whoever locks second then sees all that the first one did.
//!
//! **Each wait has one outcome.** A deadline, a cancellation and a waker meet in the sleeper's selection, where the
//! first wins. A waker that loses has taken out one who goes anyway, does not count it, and takes the next. Selecting
//! is the last thing that a waker does to a node: its owner may be gone a moment later.
//!
//! **One whose deadline has passed finds its bucket**, though it may have been moved meanwhile: it reads the address in
//! its node, locks the bucket of that, and reads it again. A node changes its address under the locks of both buckets,
//! so that an address which still belongs to the bucket whose lock one has does not change any more.
//!
//! **A requeue is one step.** Both buckets are locked, the one at the lower address first, from the question whether
//! the word has its value until the last one is moved: who unlocks what they were moved to finds all of them or none.
//! It takes as long as it moves many. A wake of many is *not* one step: it lets go of the bucket between batches, so
//! that those who come to wait, or have other addresses there, go on. It wakes only who waited before it began (nodes
//! have numbers), so that it ends though the woken come back.
//!
//! **A wake is linear.** After each batch it begins at the front again, where those stand who are not meant by its
//! bits. If it comes by more than a few of them, it selects all the others in one go and lines them up by the link that
//! each brings for the queue of its worker; so nobody is come by more often than a batch is long. (20 738 behind 30 000
//! others took 3.1 s before that.)
//!
//! **An address is only a name.** A wake reads nothing there, so that it may come after the object is gone: a wake that
//! is late, and meets who waits for another object at the same address, wakes it for no reason. Every user of a futex
//! looks at its word again. First come, first served, among those who wait at one address with such bits.
//!
//! # Alternatives
//! What others do was read in Linux (`kernel/futex`), `parking_lot_core`, folly's `ParkingLot` and Go's `sema.go`.
//!
//! - *One list a bucket* (Linux, parking_lot, folly): less code. But each wake walks over all who wait at other
//!   addresses of the bucket: with 100 000 waiters in one place, every address that shares their bucket pays for all
//!   of them.
//! - *A table that grows with the number of threads* (parking_lot; Linux from 6.16): short lists, but all buckets are
//!   locked to grow, memory is allocated by whoever starts to wait, and one popular address still fills a bucket. Here
//!   there may be a million who wait and the table need not know: buckets are only there so that cores do not meet.
//! - *A tree of addresses in each of a few buckets, and lists in it* (Go: 251 treaps): what is here, with a simpler
//!   tree.
//! - *To take the lock in each wake* (parking_lot): two locked instructions less in a wait and a wake of somebody; but
//!   a wake of nobody, the most frequent, would write the line of a bucket that others use. Linux has the fences, too.
//! - *An asymmetric fence* (`prim::heavy_fence`): a wake of nobody would cost nothing, each wait a system call.
//! - *`Short` as a bucket's lock*: its word and its note are two words, and both would have to be looked at. *A queue
//!   lock*: fair, but the lock is held for some 20 ns, and who has lost its processor delays all behind it just as
//!   well.
//! - *To select all under the lock and to wake them after* (Linux, parking_lot): a wake of many is one step then. The
//!   list of the selected must lie somewhere: parking_lot allocates, Linux uses a field of the thread. Here it is done
//!   where a wake would come by the same waiters again and again; else others would wait for the bucket meanwhile.
//! - *A mark in the list where the next batch goes on*: it would be a node that wakes and requeues step over.
//!
//! # Measured
//! `cargo xtask bench futex --runtime raddle,kernel,parking_lot --runs 9`, on 2 cores of a virtual Xeon, others at work
//! and the bench preferred (see `bench/README.md`), on top of f7d2cb7; median and worst, ns:
//!
//! | | here | kernel | parking_lot_core |
//! |---|---|---|---|
//! | wake of nobody | 8.9, 10.9 | 135, 136 | 17.4, 17.5 |
//! | hand-off between two on one worker or core | 66.6, 78.2 | 1046, 1058 | 1027, 1037 |
//! | the same, free to choose among 2 | 68.4, 69.8 | 20 236, 23 644 | 20 915, 37 167 |
//! | the same, one on each of 2 | 538, 660 | 24 801, 37 279 | 31 224, 42 947 |
//! | mutex, not spinning: 1 | 14.2, 14.9 | 14.4, 16.7 | 14.4, 14.7 |
//! | 2 on 2 workers or cores | 14.6, 97.2 | 24.0, 49.0 | 23.3, 37.2 |
//! | 64 on 2 | 14.8, 90.2 | 48.3, 69.3 | 50.5, 108 |
//!
//! The mutex's medians here are those of one that hardly ever waits: a worker runs the whole share of one process
//! before the other worker has been woken. The worst are of rounds in which both run at once.

mod bucket;
mod tree;

use crate::order;
use crate::protocol::sleeper::RowSleeper;
pub use bucket::Bucket;
use bucket::{BATCH, Batch, Pair, WOKEN};
use std::time::Instant;
use tree::{Node, hash};

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Waited {
    /// By a wake.
    Woken,
    /// The word had another value.
    Changed,
    /// The deadline passed, or the wait was cancelled.
    Expired,
}

/// What a requeue did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requeued {
    /// So many were woken, ...
    pub woken: u32,
    /// ... and so many moved.
    pub moved: u32,
}

/// Where those wait who wait for words to change.
#[derive(Clone, Copy)]
pub struct FutexTable<'b, S> {
    buckets: &'b [Bucket<S>],
}

impl<'b, S: RowSleeper> FutexTable<'b, S> {
    /// One of these buckets, of which there is at least one: the more, the fewer meet at one that is locked.
    #[inline]
    pub const fn over(buckets: &'b [Bucket<S>]) -> Self {
        FutexTable { buckets }
    }

    /// Which bucket is that of `address`: by the upper bits of the hash, as the tree goes by the lower ones.
    #[inline]
    pub fn number(&self, address: usize) -> usize {
        ((u128::from(hash(address)) * self.buckets.len() as u128) >> u64::BITS) as usize
    }

    #[inline]
    fn bucket(&self, address: usize) -> &'b Bucket<S> {
        &self.buckets[self.number(address)]
    }

    /// Waits at `address` until one of its `bits` is woken, if the word is `unchanged`; that is asked while a bucket is
    /// locked. At most until `deadline`, and until the sleeper's own, if it has one.
    #[inline]
    pub fn wait(
        &self,
        address: usize,
        bits: u32,
        (sleeper, deadline): (S, Option<Instant>),
        unchanged: impl FnOnce() -> bool,
    ) -> Waited {
        let node = Node::new(address, bits, sleeper);
        let locked = self.bucket(address).lock();
        order::FUTEX_WAIT_FENCE();
        if !unchanged() {
            return Waited::Changed;
        }
        locked.push(&node);
        drop(locked);
        if node.sleeper.wait_until(deadline).is_some() {
            return Waited::Woken;
        }
        self.leave(&node);
        Waited::Expired
    }

    /// Takes one out whose deadline has passed, wherever it has been moved.
    #[cold]
    fn leave(&self, node: &Node<S>) {
        loop {
            let bucket = self.bucket(node.address());
            let locked = bucket.lock();
            if std::ptr::eq(bucket, self.bucket(node.address())) {
                locked.remove(node);
                return;
            }
        }
    }

    /// Wakes the first `count` who wait at `address` with any of these `bits`; returns how many those were.
    #[inline]
    pub fn wake(&self, address: usize, count: u32, bits: u32) -> u32 {
        let bucket = self.bucket(address);
        order::FUTEX_WAKE_FENCE();
        if bucket.is_quiet() {
            return 0;
        }
        match count {
            0 => 0,
            1 => bucket.wake::<1>(address, 1, bits),
            _ => bucket.wake::<BATCH>(address, count, bits),
        }
    }

    /// If the word is `unchanged`, wakes the first `wake` who wait at `from`, whatever their bits, and moves the next
    /// `moves` of them to `to`, behind those who wait there. `None` if it is not.
    #[inline]
    pub fn requeue(
        &self,
        (from, unchanged): (usize, impl FnOnce() -> bool),
        wake: u32,
        to: usize,
        moves: u32,
    ) -> Option<Requeued> {
        let mut batch = Batch::<S::Right, BATCH>::new();
        let pair = Pair::lock(self.bucket(from), self.bucket(to));
        if !unchanged() {
            return None;
        }
        let limit = pair.from.pushed();
        let mut done = Requeued::default();
        while done.woken < wake
            && let Some(node) = pair.from.first(from).filter(|node| node.is_before(limit))
        {
            if batch.is_full() {
                // Not worth another way: hardly anybody wakes more than one here.
                batch.wake::<S>();
            }
            pair.from.remove(node);
            if let Some(right) = node.sleeper.try_select(WOKEN) {
                batch.push(right);
                done.woken += 1;
            }
        }
        while done.moved < moves
            && let Some(node) = pair.from.first(from).filter(|node| node.is_before(limit))
        {
            pair.from.remove(node);
            node.move_to(to);
            pair.to.push(node);
            done.moved += 1;
        }
        drop(pair);
        batch.wake::<S>();
        Some(done)
    }

    /// Empties it without a word to those who wait, which do not exist any more: in a forked child.
    ///
    /// # Safety
    /// Nobody else uses the table, and none of those who waited in it goes on.
    #[inline]
    pub unsafe fn forget(&self) {
        // SAFETY: passed on to the caller.
        self.buckets.iter().for_each(|bucket| unsafe { bucket.forget() });
    }
}
