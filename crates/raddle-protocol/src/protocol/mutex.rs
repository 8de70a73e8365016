//! Owns: `MutexWord`, the one word of a mutex: who may enter, and the queue of those who wait.
//! May use: `call`, `order`, `prim`, `loom`.
//! Never: the data behind the lock; whose turn it is on a worker.
//!
//! The word is the address of the newest node of the queue, with four flags below it.
//!
//! | nodes | `LOCKED` | `WOKEN` | `RESERVED` | meaning | who leaves it |
//! |---|---|---|---|---|---|
//! | no | no | no | no | free | anybody: `try_lock` |
//! | no | yes | no | no | held, nobody waits | the holder: `unlock`; anybody: `enqueue` |
//! | yes | yes | no | no | held; all in the queue sleep | the holder: `unlock` wakes the oldest |
//! | yes | yes | yes | no | held; the woken oldest was late | the holder: `unlock`; the oldest: `sleep_again` |
//! | yes | no | yes | no | free; the oldest has been woken and will try | anybody |
//! | yes | no | yes | yes | free for the oldest alone, who has been woken | the oldest: `retry` |
//!
//! `POISONED` may stand with each of them; then the word of a free lock is not zero, and all go the long way.
//!
//! *Who touches what.* A node is made known by one compare-and-exchange on the word. From then on **only the holder of
//! the lock** reads or writes the links of the queue and the counts in its nodes, so the queue needs no lock of its
//! own. The links lead from the newest to the oldest; the holder adds the way back when it first walks over a node,
//! and notes in the newest where the oldest is: each node is walked over once. The oldest takes itself out, as the
//! holder.
//!
//! *Barging, bounded.* `unlock` wakes the oldest and leaves the lock free: whoever runs may take it meanwhile, for a
//! lock that waits for a sleeper to come round is a lock that nobody uses (zio measured hand-overs at 1.3 to 270 times
//! the time). Every unlock that finds a queue counts in its oldest node; at [`OVERTAKEN_MAX`] it sets `RESERVED`, and
//! the next holder is the oldest. So whoever is the oldest sees at most that many others pass, and one with `k` before
//! it at most `(k + 1) * (OVERTAKEN_MAX + 1)`.
//!
//! *No wake is lost.* `unlock` and `sleep_again` are each one compare-and-exchange on the word: if the oldest went to
//! sleep first, the unlock finds no `WOKEN` and wakes it; if the unlock came first, `sleep_again` finds the lock free.
//! Exactly one wake goes with each setting of `WOKEN`, by the one who set it, and the oldest leaves only when it has
//! been woken: so the node that is being woken is there.
//!
//! *Giving up.* One who may be cancelled, or has a deadline, waits in a node on the heap. When it gives up it leaves
//! the node, with a sleeper that cannot be selected any more. Whoever wakes the node finds that out and *stands in*: it
//! does what the oldest would do, takes the lock, takes the node out, and unlocks; or, if somebody else was faster,
//! clears `WOKEN`, so that the next unlock tries again; with a release, since it has looked at the node, which that
//! unlock may lead to its end. The owner and the one who took its node out *part*: the second
//! of them frees it. Until then, while the lock is held, nobody can take the node out: so there is a count of such
//! nodes, of all locks, and when they are many who may give up does not come here, but looks again and again. (To let
//! the next who comes have such a node was the other way: only its former owner knows it, and a lock that is held for
//! ever, by a guard that was forgotten, may move meanwhile, so that no address says whose node it is.)
//!
//! Alternatives: a list under a spinlock in the word (a second locked instruction for each wait and wake, and a holder
//! of the spinlock that the kernel stops); a global table of queues by address, as parking_lot's (a word of one byte,
//! but a hash, a shared lock and a cold line for each wait: the table pays when mutexes are many and small, and ours
//! carry their holder anyway); 32 bits and a futex, as std's (there is no futex for processes).

use crate::call::WaitCall;
use crate::order;
use crate::prim::{AtomicBool, AtomicPtr, Guarded, Link, Ordering, const_fn};
use crate::protocol::sleeper::TimedSleeper;
use std::ptr::NonNull;
use std::time::Instant;

const LOCKED: usize = 1;
const POISONED: usize = 2;
const WOKEN: usize = 4;
const RESERVED: usize = 8;
const FLAGS: usize = LOCKED | POISONED | WOKEN | RESERVED;

/// So many others may pass the oldest who waits.
///
/// PERF: a reserved lock stands idle until the oldest comes round, microseconds if its worker sleeps. Benchmark
/// `mutex`, 2 processes on 2 workers, ns a lock: 127 gives 27, 1023 gives 6.3 (std 7.5 to 15, parking_lot 8 to 9).
#[cfg(not(loom))]
pub const OVERTAKEN_MAX: u32 = 1023;
/// In a model the bound must be within reach.
#[cfg(loom)]
pub const OVERTAKEN_MAX: u32 = 1;

/// One who waits; lies in its frame.
#[repr(align(16))]
pub struct QueueNode<S> {
    /// Written by its owner before it is known, then the holder's.
    older: Link<QueueNode<S>>,
    /// The holder's: the way back, and in the newest node that was walked from, the oldest.
    newer: Link<QueueNode<S>>,
    oldest: Link<QueueNode<S>>,
    /// The holder's: how many have passed.
    overtaken: Guarded<u32>,
    /// Written by its owner before the node is known or `WOKEN` is cleared; read by the one who sets `WOKEN`.
    sleeper: Guarded<Option<S>>,
    /// Of a node that is given up: its owner, or the one who has taken it out, looks at it no more.
    parted: AtomicBool,
    /// Of a node on the heap: its address as the box gave it, by which it is freed. Written before the node is known.
    own_box: Link<QueueNode<S>>,
}

/// The nodes that were given up and are still there.
#[cfg(not(loom))]
static LEFT_BEHIND: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// How many nodes have been given up, in all queues, and are still there: 112 bytes each.
#[cfg(not(loom))]
#[inline]
pub fn left_behind() -> usize {
    LEFT_BEHIND.load(Ordering::Relaxed)
}

/// One more has been given up, or one less is there.
#[inline]
fn count_left(_more: bool) {
    #[cfg(not(loom))]
    if _more {
        LEFT_BEHIND.fetch_add(1, Ordering::Relaxed);
    } else {
        LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether the data were left in a doubtful state by a panic.
pub type Poisoned = bool;

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub struct MutexWord<S>(AtomicPtr<QueueNode<S>>);

#[inline]
fn flags<S>(word: *mut QueueNode<S>) -> usize {
    word.addr() & FLAGS
}

#[inline]
fn newest<S>(word: *mut QueueNode<S>) -> *mut QueueNode<S> {
    word.map_addr(|addr| addr & !FLAGS)
}

#[inline]
fn with_flags<S>(word: *mut QueueNode<S>, set: usize, cleared: usize) -> *mut QueueNode<S> {
    word.map_addr(|addr| addr & !cleared | set)
}

impl<S: TimedSleeper> MutexWord<S> {
    const_fn! {
        /// A free one.
        #[inline]
        pub fn new() -> Self {
            MutexWord(AtomicPtr::new(std::ptr::null_mut()))
        }
    }

    /// Takes the lock if it is free, and there is nothing else to say of it.
    #[inline(always)]
    pub fn try_lock_plainly(&self) -> bool {
        let locked = std::ptr::without_provenance_mut(LOCKED);
        self.exchange(std::ptr::null_mut(), locked, order::MUTEX_LOCK()).is_ok()
    }

    /// Takes the lock if it is free and not reserved.
    #[inline]
    pub fn try_lock(&self) -> Option<Poisoned> {
        let locked = std::ptr::without_provenance_mut(LOCKED);
        match self.0.compare_exchange(std::ptr::null_mut(), locked, order::MUTEX_LOCK(), Ordering::Relaxed) {
            Ok(_) => Some(false),
            Err(seen) => self.try_lock_seen(seen),
        }
    }

    #[cold]
    fn try_lock_seen(&self, mut seen: *mut QueueNode<S>) -> Option<Poisoned> {
        while flags(seen) & (LOCKED | RESERVED) == 0 {
            match self.exchange(seen, with_flags(seen, LOCKED, 0), order::MUTEX_LOCK()) {
                Ok(()) => return Some(flags(seen) & POISONED != 0),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Takes the lock, waiting as long as it takes. `spin` says whether to look again before going to sleep, and is
    /// told whether nobody else waits.
    #[cold]
    pub fn lock_slow(&self, call: &'static WaitCall, mut spin: impl FnMut(bool) -> bool) -> Poisoned {
        let node = QueueNode::new();
        if let Some(poisoned) = self.come(&node, call, &mut spin) {
            return poisoned;
        }
        loop {
            node.sleep();
            if let Some(poisoned) = self.retry(&node, call, &mut spin) {
                return poisoned;
            }
        }
    }

    /// As [`lock_slow`](Self::lock_slow), and gives up when the sleepers do, at the latest at `deadline`: then `None`.
    #[cold]
    pub fn lock_or_give_up(
        &self,
        call: &'static WaitCall,
        deadline: Option<Instant>,
        mut spin: impl FnMut(bool) -> bool,
    ) -> Option<Poisoned> {
        let node = Box::into_raw(Box::new(QueueNode::new()));
        // SAFETY: it is there until it has left the queue, or its owner has said that it is gone.
        let me = unsafe { &*node };
        me.own_box.set(node);
        let mut locked = self.come(me, call, &mut spin);
        while locked.is_none() {
            if !me.sleep_or_give_up(deadline) {
                // SAFETY: it came from a box, and this is its owner's last look.
                unsafe { QueueNode::part(node) };
                return None;
            }
            locked = self.retry(me, call, &mut spin);
        }
        // SAFETY: it came from a box, and is in the queue no more.
        drop(unsafe { Box::from_raw(node) });
        locked
    }

    /// Takes the lock if it becomes free soon, or puts the caller's node into the queue.
    #[inline]
    fn come(
        &self,
        node: &QueueNode<S>,
        call: &'static WaitCall,
        spin: &mut impl FnMut(bool) -> bool,
    ) -> Option<Poisoned> {
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            if flags(seen) & (LOCKED | RESERVED) == 0 {
                let poisoned = self.try_lock_seen(seen);
                if poisoned.is_some() {
                    return poisoned;
                }
            } else if !(newest(seen).is_null() && spin(true)) && self.enqueue(seen, node, call) {
                return None;
            }
        }
    }

    /// Puts the caller's node into the queue of a lock that was just seen held. False if the word has changed.
    #[inline]
    fn enqueue(&self, seen: *mut QueueNode<S>, node: &QueueNode<S>, call: &'static WaitCall) -> bool {
        node.arm(call);
        node.older.set(newest(seen));
        let me = std::ptr::from_ref(node).cast_mut().map_addr(|addr| addr | flags(seen));
        self.exchange(seen, me, order::MUTEX_ENQUEUE()).is_ok()
    }

    /// The oldest has been woken: takes the lock and itself out of the queue, or arms itself to sleep again.
    #[inline]
    fn retry(
        &self,
        me: &QueueNode<S>,
        call: &'static WaitCall,
        spin: &mut impl FnMut(bool) -> bool,
    ) -> Option<Poisoned> {
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            if flags(seen) & LOCKED == 0 {
                let to = with_flags(seen, LOCKED, WOKEN | RESERVED);
                if self.exchange(seen, to, order::MUTEX_LOCK()).is_ok() {
                    self.take_out(me);
                    return Some(flags(seen) & POISONED != 0);
                }
            } else if !spin(std::ptr::eq(newest(seen), me)) && self.sleep_again(seen, me, call) {
                return None;
            }
        }
    }

    /// The oldest lost the race for a lock that was just seen held. False if the word has changed.
    #[inline]
    fn sleep_again(&self, seen: *mut QueueNode<S>, me: &QueueNode<S>, call: &'static WaitCall) -> bool {
        me.arm(call);
        self.exchange(seen, with_flags(seen, 0, WOKEN), order::MUTEX_ENQUEUE()).is_ok()
    }

    /// Gives the lock back, and wakes the oldest who waits if nobody has been woken yet.
    #[inline]
    pub fn unlock(&self, poison: bool) {
        let locked = std::ptr::without_provenance_mut(LOCKED);
        if poison || self.exchange(locked, std::ptr::null_mut(), order::MUTEX_UNLOCK()).is_err() {
            self.unlock_slow(poison);
        }
    }

    #[cold]
    fn unlock_slow(&self, poison: bool) {
        let mut left = self.give_back(poison);
        while let Some(node) = left {
            left = self.stand_in(node);
        }
    }

    /// Does what the owner of `node`, the oldest, would do, which has been woken but has given up. As
    /// [`give_back`](Self::give_back) at the end.
    #[inline]
    fn stand_in(&self, node: NonNull<QueueNode<S>>) -> Option<NonNull<QueueNode<S>>> {
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            if flags(seen) & LOCKED == 0 {
                let to = with_flags(seen, LOCKED, WOKEN | RESERVED);
                if self.exchange(seen, to, order::MUTEX_LOCK()).is_ok() {
                    // SAFETY: it is in the queue, where only who stands in for it takes it out.
                    self.take_out(unsafe { node.as_ref() });
                    // SAFETY: as above: its owner has left it there, and it has said where its box is.
                    let own_box = unsafe { node.as_ref() }.own_box.get();
                    // SAFETY: it was given up, so it lies on the heap, and has left the queue.
                    unsafe { QueueNode::part(own_box) };
                    return self.give_back(false);
                }
            } else if self.exchange(seen, with_flags(seen, 0, WOKEN), order::MUTEX_STAND_BACK()).is_ok() {
                return None;
            }
        }
    }

    /// Gives the lock back. Returns the oldest if it was to be woken and has given up.
    #[inline]
    fn give_back(&self, poison: bool) -> Option<NonNull<QueueNode<S>>> {
        let set = if poison { POISONED } else { 0 };
        let mut counted = false;
        let mut seen = self.0.load(order::MUTEX_SEE_QUEUE());
        loop {
            debug_assert!(flags(seen) & LOCKED != 0, "a mutex was unlocked that nobody holds");
            let oldest = find_oldest(newest(seen));
            let mut set = set;
            if let Some(oldest) = oldest {
                set |= WOKEN;
                if oldest.pass(&mut counted) > OVERTAKEN_MAX {
                    set |= RESERVED;
                }
            }
            let to = with_flags(seen, set, LOCKED);
            match self.0.compare_exchange(seen, to, order::MUTEX_UNLOCK(), order::MUTEX_SEE_QUEUE()) {
                Ok(_) => {
                    // It has not been woken, and leaves only when it has: it is there.
                    let has_left = |oldest: &&QueueNode<S>| {
                        flags(seen) & WOKEN == 0 && !oldest.wake(set & RESERVED != 0)
                    };
                    return oldest.filter(has_left).map(NonNull::from);
                }
                Err(now) => seen = now,
            }
        }
    }

    /// The caller is the oldest and has just become the holder: it leaves the queue.
    #[inline]
    fn take_out(&self, me: &QueueNode<S>) {
        loop {
            let seen = self.0.load(order::MUTEX_SEE_QUEUE());
            let oldest = find_oldest(newest(seen)).map(std::ptr::from_ref);
            debug_assert_eq!(oldest, Some(std::ptr::from_ref(me)), "only the oldest leaves the queue");
            let second = me.newer.get();
            if !second.is_null() {
                // SAFETY: it is in the queue, so its owner sleeps, and the links are the holder's.
                unsafe { &*second }.older.set(std::ptr::null_mut());
                // SAFETY: as above: the newest is in the queue.
                unsafe { &*newest(seen) }.oldest.set(second);
                return;
            }
            let to = std::ptr::without_provenance_mut(flags(seen));
            // The one node of the queue, unless another came meanwhile: then that is the second.
            if self.exchange(seen, to, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Whether a panic has left the data in a doubtful state.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        flags(self.0.load(Ordering::Relaxed)) & POISONED != 0
    }

    /// Declares the data sound.
    #[inline]
    pub fn clear_poison(&self) {
        let mut seen = self.0.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(seen, with_flags(seen, 0, POISONED), Ordering::Relaxed) {
            seen = now;
        }
    }

    /// Whether somebody holds it, for looks that may be out of date at once.
    #[inline]
    pub fn is_locked(&self) -> bool {
        flags(self.0.load(Ordering::Relaxed)) & LOCKED != 0
    }

    #[inline]
    fn exchange(
        &self,
        from: *mut QueueNode<S>,
        to: *mut QueueNode<S>,
        order: Ordering,
    ) -> Result<(), *mut QueueNode<S>> {
        self.0.compare_exchange(from, to, order, Ordering::Relaxed).map(drop)
    }
}

/// The oldest node of a queue, by its holder. Notes the way back, and the result in the newest.
#[inline]
fn find_oldest<'q, S: TimedSleeper>(newest: *mut QueueNode<S>) -> Option<&'q QueueNode<S>> {
    // SAFETY: a node in the queue belongs to one who sleeps, and is there until the holder, or it as the holder, takes
    // it out; its links are the holder's.
    let first = unsafe { newest.as_ref() }?;
    let mut at = first;
    while at.oldest.get().is_null() {
        let older = at.older.get();
        // SAFETY: as above.
        let Some(next) = (unsafe { older.as_ref() }) else {
            at.oldest.set(std::ptr::from_ref(at).cast_mut());
            break;
        };
        next.newer.set(std::ptr::from_ref(at).cast_mut());
        at = next;
    }
    first.oldest.set(at.oldest.get());
    // SAFETY: as above.
    Some(unsafe { &*first.oldest.get() })
}

impl<S: TimedSleeper> QueueNode<S> {
    #[inline]
    fn new() -> Self {
        QueueNode {
            older: Link::new(),
            newer: Link::new(),
            oldest: Link::new(),
            overtaken: Guarded::new(0),
            sleeper: Guarded::new(None),
            parted: AtomicBool::new(false),
            own_box: Link::new(),
        }
    }

    /// Makes it ready to be woken, unless it is. By its owner, while nobody may wake it.
    #[inline]
    fn arm(&self, call: &'static WaitCall) {
        // SAFETY: the node is not known yet, or its owner has been woken and `WOKEN` stands: nobody else looks.
        unsafe {
            self.sleeper.with_mut(|sleeper| {
                let _armed = sleeper.get_or_insert_with(|| S::new(call));
            })
        };
    }

    /// Sleeps until it is woken. By its owner.
    #[inline]
    fn sleep(&self) {
        // SAFETY: only the owner replaces it, which is here.
        unsafe { self.sleeper.with(|sleeper| sleeper.as_ref().expect("it was armed").wait()) };
        // SAFETY: it has been woken, which happens once.
        unsafe { self.sleeper.with_mut(|sleeper| *sleeper = None) };
    }

    /// As [`sleep`](Self::sleep). If it gives up instead, false: then it stays in the queue.
    #[inline]
    fn sleep_or_give_up(&self, deadline: Option<Instant>) -> bool {
        let sleep = |sleeper: &Option<S>| {
            let sleeper = sleeper.as_ref().expect("it was armed");
            let woken = sleeper.wait_until(deadline).is_some();
            if !woken {
                sleeper.give_up();
                count_left(true);
            }
            woken
        };
        // SAFETY: only the owner replaces it, which is here.
        let woken = unsafe { self.sleeper.with(sleep) };
        if woken {
            // SAFETY: it has been woken, which happens once.
            unsafe { self.sleeper.with_mut(|sleeper| *sleeper = None) };
        }
        woken
    }

    /// The caller looks at a node that was given up no more: the second to say so frees it.
    ///
    /// # Safety
    /// It lies on the heap. The caller is its owner, or has taken it out of the queue, and says so once.
    #[inline]
    unsafe fn part(node: *mut QueueNode<S>) {
        // SAFETY: it is there until both have parted.
        let left = unsafe { &*node };
        if !left.parted.swap(true, order::MUTEX_PART()) {
            return;
        }
        // SAFETY: the other looks at it no more.
        let sleeper = unsafe { left.sleeper.with_mut(Option::take) };
        sleeper.into_iter().for_each(S::discard);
        count_left(false);
        // SAFETY: as above; it came from a box.
        drop(unsafe { Box::from_raw(node) });
    }

    /// Wakes its owner; false if that has given up. By the one who has just set `WOKEN`; if the lock `is_reserved`,
    /// nobody else may take it.
    #[inline]
    fn wake(&self, is_reserved: bool) -> bool {
        // SAFETY: the owner replaces it only when it has been woken.
        let right =
            unsafe { self.sleeper.with(|sleeper| sleeper.as_ref().expect("it sleeps").try_select(0)) };
        // The node may be gone now, unless nobody was there to be woken.
        right.map(if is_reserved { S::wake } else { S::wake_rival }).is_some()
    }

    /// Counts one who passes, once for each unlock. By the holder.
    #[inline]
    fn pass(&self, counted: &mut bool) -> u32 {
        let step = u32::from(!std::mem::replace(counted, true));
        // SAFETY: the count is the holder's.
        unsafe {
            self.overtaken.with_mut(|passed| {
                *passed += step;
                *passed
            })
        }
    }
}
