//! Owns: `Bucket`, those who wait at some of all addresses, under a short lock; `Pair`, two of them locked; `Batch`.
//! May use: `order`, `prim`, `protocol::sleeper`, `loom`.
//! Never: a wait, or a switch, while a bucket is locked.
//!
//! The word is two bits, as in `waitlist`:
//!
//! | `SOME` | `LOCKED` | meaning |
//! |---|---|---|
//! | no | no | nobody waits |
//! | yes | no | somebody waits |
//! | either | yes | somebody is at work on the tree; then `SOME` says what was true before |
//!
//! The lock is held for some 20 ns, a selection of 32 for about a microsecond, and a requeue for as long as it moves
//! many. Who finds it taken spins, and gives its core away after a few rounds, since the kernel may have stopped the
//! one who has it.

use super::tree::Tree;
use crate::order;
use crate::prim::{AtomicU32, Ordering, back_off, const_fn};
use crate::protocol::sleeper::{RowSleeper, Sleeper, TimedSleeper};
use std::marker::PhantomData;

const LOCKED: u32 = 1;
const SOME: u32 = 2;

/// The outcome of a wait that somebody has ended.
pub(super) const WOKEN: u32 = 0;

/// So many are selected before the bucket is unlocked and they are woken.
pub(super) const BATCH: usize = if cfg!(loom) { 1 } else { 32 };
/// If more of those that a wake has come by have none of its bits, it does not come by them again: the others are
/// selected in one go.
const SKIPPED_MAX: usize = if cfg!(loom) { 0 } else { 64 };

/// Those who wait at some of all addresses. On a line of its own.
#[repr(align(64))]
pub struct Bucket<S> {
    word: AtomicU32,
    tree: Tree<S>,
}

// SAFETY: the tree is touched by the one who has locked the bucket; nodes are shown by reference to threads that may
// select their sleepers, which is what sleepers are for.
unsafe impl<S: Sleeper> Sync for Bucket<S> {}
// SAFETY: a bucket that moves is empty, since it is in use only while it is shared.
unsafe impl<S: Sleeper> Send for Bucket<S> {}

/// A bucket, locked until this goes.
pub(super) struct Locked<'b, S> {
    bucket: &'b Bucket<S>,
    not_send: PhantomData<*mut ()>,
}

impl<S> Bucket<S> {
    const_fn! {
        /// Nobody waits.
        pub fn new() -> Self {
            Bucket { word: AtomicU32::new(0), tree: Tree::new() }
        }
    }

    /// Whether it is free and nobody waits.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.word.load(Ordering::Relaxed) == 0
    }

    #[inline]
    pub(super) fn lock(&self) -> Locked<'_, S> {
        let mut round = 0;
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            let (to, acquire) = (seen | LOCKED, order::FUTEX_LOCK());
            let free = seen & LOCKED == 0;
            if free && self.word.compare_exchange_weak(seen, to, acquire, Ordering::Relaxed).is_ok() {
                return Locked { bucket: self, not_send: PhantomData };
            }
            back_off(round);
            round += 1;
        }
    }
}

impl<S> std::ops::Deref for Locked<'_, S> {
    type Target = Tree<S>;

    #[inline]
    fn deref(&self) -> &Tree<S> {
        &self.bucket.tree
    }
}

impl<S> Drop for Locked<'_, S> {
    #[inline]
    fn drop(&mut self) {
        let some = if self.is_empty() { 0 } else { SOME };
        self.bucket.word.store(some, order::FUTEX_UNLOCK());
    }
}

/// Two buckets, or one twice, locked.
pub(super) struct Pair<'b, S> {
    pub(super) from: &'b Tree<S>,
    pub(super) to: &'b Tree<S>,
    _locks: (Locked<'b, S>, Option<Locked<'b, S>>),
}

impl<'b, S> Pair<'b, S> {
    #[inline]
    pub(super) fn lock(from: &'b Bucket<S>, to: &'b Bucket<S>) -> Pair<'b, S> {
        let (one, other) = (std::ptr::from_ref(from), std::ptr::from_ref(to));
        let first = if one < other { from } else { to };
        let second = if one < other { to } else { from };
        let first = first.lock();
        let second = (one != other).then(|| second.lock());
        Pair { from: &from.tree, to: &to.tree, _locks: (first, second) }
    }
}

/// The rights to wake some who were selected.
pub(super) struct Batch<R, const N: usize> {
    rights: [Option<R>; N],
    count: usize,
}

impl<R, const N: usize> Batch<R, N> {
    #[inline]
    pub(super) fn new() -> Self {
        Batch { rights: [const { None }; N], count: 0 }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count == N
    }

    #[inline]
    pub(super) fn push(&mut self, right: R) {
        self.rights[self.count] = Some(right);
        self.count += 1;
    }

    #[inline]
    pub(super) fn wake<S: TimedSleeper<Right = R>>(&mut self) {
        self.rights[..self.count].iter_mut().filter_map(Option::take).for_each(S::wake);
        self.count = 0;
    }
}

/// What one pass over those who wait has brought.
struct Selected<S: RowSleeper> {
    /// Those for whom the batch had no room, if there is to be no other pass.
    row: Option<S::Row>,
    in_row: usize,
    /// There may be more of them.
    more: bool,
}

impl<S: RowSleeper> Bucket<S> {
    /// Empties it without a word to those who wait, which do not exist any more.
    ///
    /// # Safety
    /// Nobody else uses it, and none of those who waited in it goes on.
    #[inline]
    pub(super) unsafe fn forget(&self) {
        if !self.is_quiet() {
            self.tree.forget();
            self.word.store(0, Ordering::Relaxed);
        }
    }

    /// As [`FutexTable::wake`](super::FutexTable::wake), `N` at a time.
    #[inline]
    pub(super) fn wake<const N: usize>(&self, address: usize, count: u32, bits: u32) -> u32 {
        let (mut woken, mut limit) = (0, None);
        loop {
            let mut batch = Batch::<S::Right, N>::new();
            let locked = self.lock();
            let limit = *limit.get_or_insert_with(|| locked.pushed());
            let selected = locked.select(address, (count - woken) as usize, bits, limit, &mut batch);
            drop(locked);
            woken += (batch.count + selected.in_row) as u32;
            batch.wake::<S>();
            selected.row.into_iter().for_each(S::wake_row);
            if !selected.more {
                return woken;
            }
        }
    }
}

impl<S: RowSleeper> Locked<'_, S> {
    /// Selects up to `count`: as many as the batch holds, or all, if many stand between them that are not meant.
    #[inline]
    fn select<const N: usize>(
        &self,
        address: usize,
        count: usize,
        bits: u32,
        limit: u64,
        batch: &mut Batch<S::Right, N>,
    ) -> Selected<S> {
        let mut selected = Selected { row: None, in_row: 0, more: false };
        let (mut next, mut skipped) = (self.first(address), 0);
        while let Some(node) = next.filter(|node| node.is_before(limit)) {
            if batch.count + selected.in_row == count {
                break;
            }
            if batch.is_full() && skipped <= SKIPPED_MAX {
                selected.more = true;
                break;
            }
            next = node.next();
            if node.bits & bits == 0 {
                skipped += 1;
                continue;
            }
            self.remove(node);
            // The last look at the node.
            match node.sleeper.try_select(WOKEN) {
                Some(right) if batch.is_full() => {
                    S::line_up(selected.row.get_or_insert_default(), right);
                    selected.in_row += 1;
                }
                Some(right) => batch.push(right),
                None => {}
            }
        }
        selected
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
