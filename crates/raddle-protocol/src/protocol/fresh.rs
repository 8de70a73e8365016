//! Owns: `FreshQueue`, one worker's list of what has been spawned and has not yet run.
//! May use: `order`, `prim::model`, `prim::real`, `loom`, `raddle-syscall`.
//! Never: a stack or a clock; the caller says how far the list has aged.
//!
//! The owner appends and takes from the front, in spawn order, with plain loads and stores only; out of turn, with the
//! thieves' lock, it takes a child that is waited for, or puts one before the others. A thief takes a contiguous half
//! from the front *without the owner's help*. Both sides announce and then look:
//!
//! ```text
//!   owner: head := h + 1;  light fence;  look at claimed      thief: claimed := m;  heavy fence;  look at head
//! ```
//!
//! so at least one of them sees the other. The page `fresh.md` beside this file argues the rest: who gets the
//! runnable when both see each other, why one stolen range is all that the owner ever has to know, and which slots
//! may be written again.

use crate::order;
use crate::prim::{AtomicBool, AtomicPtr, AtomicUsize, Guarded, Ordering, spin_loop};
use crate::protocol::header::{Header, JOINS, Runnable};
use std::cell::Cell;

const FIRST_CAPACITY: usize = if cfg!(loom) { 4 } else { 256 };
/// Of so many children at most the oldest is looked for.
const NEAR_END: usize = 64;

/// The thief's fence acquires what `tail` published, so that a relaxed load is enough. ThreadSanitizer does not know of
/// fences, and is told by the load itself, which pairs with `FRESH_PUSH`.
const SEE_TAIL: Ordering = if cfg!(raddle_tsan) { Ordering::Acquire } else { Ordering::Relaxed };

/// What only the owner writes, on a line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct OwnerSide {
    /// Everything below has been taken by the owner, or is announced to be.
    head: AtomicUsize,
    /// Everything below has been pushed.
    tail: AtomicUsize,
    /// `tail` at the owner's last knock on an idle worker: everything below is at least a wake old.
    mark: AtomicUsize,
    /// How many have been taken out of turn, ever. For hints.
    out_of_turn: AtomicUsize,
    /// The owner's copy of the buffer's mask.
    mask: Cell<usize>,
}

/// What thieves write, under the lock.
#[derive(Debug)]
#[repr(align(128))]
struct ThiefSide {
    locked: AtomicBool,
    /// Everything below that the owner has not announced before a thief looked is stolen. Goes back only where one is
    /// put first.
    claimed: AtomicUsize,
    /// The one range that the owner may still run into is `stolen_from .. claimed`.
    stolen_from: AtomicUsize,
    /// How many were stolen, ever. For hints.
    stolen: AtomicUsize,
}

/// One owner, many thieves. See the module.
#[derive(Debug)]
pub struct FreshQueue {
    owner: OwnerSide,
    thieves: ThiefSide,
    /// Replaced by the owner under the lock; read by the owner, or under the lock.
    slots: Guarded<Box<[AtomicPtr<Header>]>>,
    asymmetric: bool,
}

// SAFETY: `slots` and `mask` are written by the owner under the lock and read by the owner or under the lock; all
// else is atomic. That owner methods are called by one thread only is their callers' duty (they are `unsafe`).
unsafe impl Sync for FreshQueue {}
// SAFETY: nothing in it is tied to the thread that made it.
unsafe impl Send for FreshQueue {}

#[inline]
fn empty_slots(capacity: usize) -> Box<[AtomicPtr<Header>]> {
    (0..capacity).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect()
}

/// The thieves' lock: held for a few dozen instructions and, on the machine, one `membarrier`.
struct Locked<'a>(&'a AtomicBool);

impl<'a> Locked<'a> {
    #[inline]
    fn try_lock(word: &'a AtomicBool) -> Option<Self> {
        if word.load(Ordering::Relaxed) {
            return None;
        }
        let taken = word.compare_exchange(false, true, order::FRESH_LOCK(), Ordering::Relaxed);
        // Not `then_some`: a guard that is made and dropped on a failure would open the lock of whoever holds it.
        taken.is_ok().then(|| Locked(word))
    }

    /// The owner's way in. Spins: a thief holds the lock for microseconds; yields when it was descheduled there.
    #[inline]
    fn lock(word: &'a AtomicBool) -> Self {
        let mut spins = 0_u32;
        loop {
            if let Some(locked) = Locked::try_lock(word) {
                return locked;
            }
            spins += 1;
            if cfg!(loom) || spins.is_multiple_of(64) { yield_os() } else { spin_loop() }
        }
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, order::FRESH_UNLOCK());
    }
}

#[cfg(loom)]
#[inline]
fn yield_os() {
    loom::thread::yield_now();
}

#[cfg(not(loom))]
#[inline]
fn yield_os() {
    raddle_syscall::yield_processor();
}

impl FreshQueue {
    /// An empty list; `asymmetric` is what [`fence_is_asymmetric`](crate::prim::fence_is_asymmetric) says.
    #[inline]
    pub fn new(asymmetric: bool) -> Self {
        let owner = OwnerSide {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            mark: AtomicUsize::new(0),
            out_of_turn: AtomicUsize::new(0),
            mask: Cell::new(FIRST_CAPACITY - 1),
        };
        let thieves = ThiefSide {
            locked: AtomicBool::new(false),
            claimed: AtomicUsize::new(0),
            stolen_from: AtomicUsize::new(0),
            stolen: AtomicUsize::new(0),
        };
        FreshQueue { owner, thieves, slots: Guarded::new(empty_slots(FIRST_CAPACITY)), asymmetric }
    }

    /// Appends one.
    ///
    /// # Safety
    /// Only the owner calls it.
    #[inline]
    pub unsafe fn push(&self, runnable: Runnable) {
        let tail = self.owner.tail.load(Ordering::Relaxed);
        if tail - self.owner.head.load(Ordering::Relaxed) > self.owner.mask.get() {
            return self.push_late(tail, runnable);
        }
        self.push_at(tail, runnable);
    }

    /// The list seems full. All that is left is done here, so that the common way has nothing to keep over a call.
    #[cold]
    #[inline(never)]
    fn push_late(&self, tail: usize, runnable: Runnable) {
        self.make_room(tail);
        self.push_at(tail, runnable);
    }

    #[inline(always)]
    fn push_at(&self, tail: usize, runnable: Runnable) {
        self.with_slot(tail, |slot| slot.store(runnable.as_ptr(), Ordering::Relaxed));
        self.owner.tail.store(tail + 1, order::FRESH_PUSH());
    }

    /// Takes the oldest.
    ///
    /// # Safety
    /// Only the owner calls it.
    #[inline]
    pub unsafe fn pop(&self) -> Option<Runnable> {
        // SAFETY: passed on to the caller.
        let taken = unsafe { self.pop_unless_contended() };
        // SAFETY: as above; the error is of that call.
        taken.unwrap_or_else(|head| unsafe { self.pop_contended(head) })
    }

    /// As [`pop`](Self::pop), for a caller that has nothing to keep over a call. An error if a thief is at work: the
    /// caller goes on by [`pop_contended`](Self::pop_contended).
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn pop_unless_contended(&self) -> Result<Option<Runnable>, usize> {
        let head = self.owner.head.load(Ordering::Relaxed);
        if head == self.owner.tail.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.owner.head.store(head + 1, Ordering::Relaxed);
        order::FRESH_OWNER_FENCE(self.asymmetric);
        if self.thieves.claimed.load(Ordering::Relaxed) > head {
            return Err(head);
        }
        Ok(self.read(head))
    }

    /// As [`push`](Self::push), of a process that `parent` has made, or, if that is null, nobody who will wait for it.
    ///
    /// # Safety
    /// As there; blocks of processes are never freed.
    #[inline(always)]
    pub unsafe fn push_of(&self, runnable: Runnable, parent: *mut Header) {
        runnable.header().link.set(parent);
        // SAFETY: passed on to the caller.
        unsafe { self.push(runnable) };
    }

    /// Takes the oldest of the children of `parent` that stand at the end, out of turn; only that one, if one is
    /// wanted. `None` if there is none, or it is the oldest of all, or would pass by anybody but children of others who
    /// wait for children, or more than 64 stand there; also while a thief is at work.
    ///
    /// # Safety
    /// Only the owner calls it; all was pushed by [`push_of`](Self::push_of).
    #[inline]
    pub unsafe fn take_child(&self, parent: *mut Header, wanted: Option<*mut Header>) -> Option<Runnable> {
        let _locked = Locked::try_lock(&self.thieves.locked)?;
        // Under the lock no thief looks: all from here on is the owner's, and may be written.
        let oldest =
            self.owner.head.load(Ordering::Relaxed).max(self.thieves.claimed.load(Ordering::Relaxed));
        let tail = self.owner.tail.load(Ordering::Relaxed);
        let slot = |at| self.with_slot(at, |slot| slot.load(Ordering::Relaxed));
        // SAFETY: what stands in the list is the owner's, as above.
        let parent_of = |at| unsafe { (*slot(at)).link.get() };
        let near_end = oldest.max(tail.saturating_sub(NEAR_END))..tail;
        if near_end.is_empty() || parent_of(near_end.start) == parent {
            return None; // It is the oldest, or they are many: they go in turn.
        }
        let first = near_end.rev().take_while(|at| parent_of(*at) == parent).last()?;
        // Not the first near the end, which is another's.
        // SAFETY: null, or the header of a process that has been one, whose block is never freed.
        let passed = unsafe { parent_of(first - 1).as_ref() }?;
        let child = slot(first);
        if !passed.is(JOINS) || wanted.is_some_and(|wanted| wanted != child) {
            return None;
        }
        for at in first..tail - 1 {
            let behind = slot(at + 1);
            self.with_slot(at, |slot| slot.store(behind, Ordering::Relaxed));
        }
        self.owner.tail.store(tail - 1, Ordering::Relaxed);
        // What is pushed there now has not aged.
        self.owner.mark.store(self.mark().min(tail - 1), Ordering::Relaxed);
        self.owner.out_of_turn.store(self.owner.out_of_turn.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // SAFETY: a slot below `tail` held a runnable, which is in the list no more.
        unsafe { Runnable::from_raw(child) }
    }

    /// Puts one before all others but the first `behind` of them, with the thieves' lock. Given back while a thief is
    /// at work, if there is no room, and before the first one was ever taken. It counts as aged.
    ///
    /// # Safety
    /// Only the owner calls it.
    #[inline(never)]
    pub unsafe fn push_first(&self, runnable: Runnable, behind: usize) -> Result<(), Runnable> {
        let Some(_locked) = Locked::try_lock(&self.thieves.locked) else { return Err(runnable) };
        // Under the lock no thief looks, and what thieves have claimed before they have read: all up to `oldest` is
        // free, and all from there on is the owner's.
        let oldest =
            self.owner.head.load(Ordering::Relaxed).max(self.thieves.claimed.load(Ordering::Relaxed));
        let waiting = self.owner.tail.load(Ordering::Relaxed) - oldest;
        if oldest == 0 || waiting > self.owner.mask.get() {
            return Err(runnable);
        }
        let first = oldest - 1;
        let at = first + behind.min(waiting);
        for to in first..at {
            let before = self.with_slot(to + 1, |slot| slot.load(Ordering::Relaxed));
            self.with_slot(to, |slot| slot.store(before, Ordering::Relaxed));
        }
        self.with_slot(at, |slot| slot.store(runnable.as_ptr(), Ordering::Relaxed));
        // Nothing is claimed from here on, and no stolen range is left that the owner could run into.
        self.thieves.claimed.store(first, Ordering::Relaxed);
        self.thieves.stolen_from.store(first, Ordering::Relaxed);
        self.owner.head.store(first, Ordering::Relaxed);
        // It will be taken at an index that has been passed already.
        self.owner.out_of_turn.store(self.owner.out_of_turn.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Who would be next, now, if nobody steals it; or any other, or null. Only to be named to the processor's cache.
    #[inline(always)]
    pub fn glance_at_next(&self) -> *mut Header {
        let head = self.owner.head.load(Ordering::Relaxed);
        self.with_slot(head, |slot| slot.load(Ordering::Relaxed))
    }

    /// A thief was at or beyond `head`, which is announced: find out whose it is, and skip what is stolen.
    ///
    /// # Safety
    /// As there; `head` is the error of the owner's last call, [`pop_unless_contended`](Self::pop_unless_contended).
    #[cold]
    pub unsafe fn pop_contended(&self, head: usize) -> Option<Runnable> {
        let locked = Locked::lock(&self.thieves.locked);
        let claimed = self.thieves.claimed.load(Ordering::Relaxed);
        if head < self.thieves.stolen_from.load(Ordering::Relaxed) {
            // The thief saw the announcement and left it; what follows, up to `claimed`, is the thief's.
            self.owner.head.store(claimed.max(head + 1), Ordering::Relaxed);
            return self.read(head);
        }
        if claimed == self.owner.tail.load(Ordering::Relaxed) {
            self.owner.head.store(claimed, Ordering::Relaxed);
            return None;
        }
        // Under the lock no thief looks, so this one needs no announcement.
        self.owner.head.store(claimed + 1, Ordering::Relaxed);
        let taken = self.read(claimed);
        drop(locked);
        taken
    }

    /// Takes about half of what stands below `aged`, oldest first, and gives each to `keep`. Returns how many.
    ///
    /// Gives up at once when another thief is at work.
    #[inline]
    pub fn steal_half(&self, aged: usize, keep: impl FnMut(Runnable)) -> usize {
        self.steal_at_most(usize::MAX, aged, keep)
    }

    /// Takes the oldest, however long it has waited.
    ///
    /// Gives up at once when another thief is at work.
    #[inline(never)]
    pub fn steal_oldest(&self) -> Option<Runnable> {
        let mut oldest = None;
        self.steal_at_most(1, usize::MAX, |runnable| oldest = Some(runnable));
        oldest
    }

    #[inline]
    fn steal_at_most(&self, most: usize, aged: usize, mut keep: impl FnMut(Runnable)) -> usize {
        let Some(_locked) = Locked::try_lock(&self.thieves.locked) else { return 0 };
        let claimed = self.thieves.claimed.load(Ordering::Relaxed);
        // Relaxed: what the owner wrote before it raised the tail is acquired by the fence below.
        let tail = self.owner.tail.load(SEE_TAIL);
        let from = claimed.max(self.owner.head.load(Ordering::Relaxed));
        let available = tail.min(aged).saturating_sub(from);
        if available == 0 {
            return 0;
        }
        let to = from + available.div_ceil(2).min(most);
        self.thieves.claimed.store(to, Ordering::Relaxed);
        order::FRESH_THIEF_FENCE(self.asymmetric);
        let from = from.max(self.owner.head.load(Ordering::Relaxed));
        if from > claimed {
            self.thieves.stolen_from.store(from.min(to), Ordering::Relaxed);
        }
        for at in from..to {
            // SAFETY: `slots` is replaced only under the lock, which is held.
            let header =
                unsafe { self.slots.with(|slots| slots[at & (slots.len() - 1)].load(Ordering::Relaxed)) };
            // SAFETY: the slot was filled before `tail` passed it, and the protocol makes this thief its only taker.
            keep(unsafe { Runnable::from_raw(header) }.expect("a pushed slot is not null"));
        }
        let stolen = to.saturating_sub(from);
        let before = self.thieves.stolen.load(Ordering::Relaxed);
        self.thieves.stolen.store(before + stolen, Ordering::Relaxed);
        stolen
    }

    /// Shows all that wait here. False if somebody was stopped while it had the lock.
    ///
    /// # Safety
    /// The owner, and all who steal, stand still, anywhere, and what they did before is seen.
    #[cfg(not(loom))]
    pub unsafe fn for_each(&self, mut each: impl FnMut(&Header)) -> bool {
        if self.thieves.locked.load(Ordering::Relaxed) {
            return false;
        }
        let (from, to) = (self.passed(), self.reach());
        for at in from..to {
            // SAFETY: `slots` is replaced only under the lock, which nobody has, or gets.
            let header =
                unsafe { self.slots.with(|slots| slots[at & (slots.len() - 1)].load(Ordering::Relaxed)) };
            // SAFETY: what was pushed and not taken waits here.
            unsafe { header.as_ref() }.into_iter().for_each(&mut each);
        }
        true
    }

    /// How many slots there are. By the owner only.
    #[cfg(loom)]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.owner.mask.get() + 1
    }

    /// How many there are, at a glance from anywhere.
    #[inline]
    pub fn len_hint(&self) -> usize {
        let head = self.owner.head.load(Ordering::Relaxed).max(self.thieves.claimed.load(Ordering::Relaxed));
        self.owner.tail.load(Ordering::Relaxed).saturating_sub(head)
    }

    /// Whether the owner sees none. Plain loads of its own line.
    #[inline(always)]
    pub fn is_empty_for_owner(&self) -> bool {
        self.owner.head.load(Ordering::Relaxed) == self.owner.tail.load(Ordering::Relaxed)
    }

    /// Whether `header` seems to be the oldest. A hint: a thief may be taking it.
    #[inline(always)]
    pub fn oldest_is(&self, header: *mut Header) -> bool {
        let head = self.owner.head.load(Ordering::Relaxed);
        let waiting = head != self.owner.tail.load(Ordering::Relaxed);
        waiting && self.with_slot(head, |slot| slot.load(Ordering::Relaxed)) == header
    }

    /// How far the list reached when this was called: a later thief knows that everything below has aged since, but for
    /// what has come in the place of those that were taken out of turn; and thieves take from the other end.
    #[inline]
    pub fn reach(&self) -> usize {
        self.owner.tail.load(Ordering::Relaxed)
    }

    /// How far the owner has taken it, or a thief.
    #[inline]
    pub fn passed(&self) -> usize {
        self.owner.head.load(Ordering::Relaxed).max(self.thieves.claimed.load(Ordering::Relaxed))
    }

    /// How many have been taken, ever, by the owner and by thieves.
    #[inline]
    pub fn taken(&self) -> usize {
        self.passed() + self.owner.out_of_turn.load(Ordering::Relaxed)
    }

    /// How many the owner has taken, ever. A hint: too many while a thief is at work.
    #[inline]
    pub fn taken_by_owner(&self) -> usize {
        self.taken().saturating_sub(self.thieves.stolen.load(Ordering::Relaxed))
    }

    /// How far the list reached when the owner last knocked on an idle worker.
    #[inline]
    pub fn mark(&self) -> usize {
        self.owner.mark.load(Ordering::Relaxed)
    }

    /// The owner knocks now.
    #[inline]
    pub fn set_mark(&self) {
        self.owner.mark.store(self.owner.tail.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The list seems full: skips what is stolen, and if that leaves no room, makes twice as much. Everything from
    /// `head` on moves then: a slot has the same number in every buffer.
    #[inline]
    fn make_room(&self, tail: usize) {
        let _locked = Locked::lock(&self.thieves.locked);
        // The owner is not in a pop, so all between its head and the last claim is stolen, and read by its thief.
        let claimed = self.thieves.claimed.load(Ordering::Relaxed);
        let head = self.owner.head.load(Ordering::Relaxed).max(claimed);
        self.owner.head.store(head, Ordering::Relaxed);
        if tail - head <= self.owner.mask.get() / 2 {
            return;
        }
        let widen = |slots: &mut Box<[AtomicPtr<Header>]>| {
            let wider = empty_slots(slots.len() * 2);
            for at in head..tail {
                let header = slots[at & (slots.len() - 1)].load(Ordering::Relaxed);
                wider[at & (wider.len() - 1)].store(header, Ordering::Relaxed);
            }
            self.owner.mask.set(wider.len() - 1);
            *slots = wider;
        };
        // SAFETY: the owner is here and holds the lock, so nobody else reads or writes `slots`.
        unsafe { self.slots.with_mut(widen) };
    }

    #[inline(always)]
    fn with_slot<R>(&self, at: usize, f: impl FnOnce(&AtomicPtr<Header>) -> R) -> R {
        let at = at & self.owner.mask.get();
        // SAFETY: the mask is the buffer's length less one.
        let pick = |slots: &[AtomicPtr<Header>]| f(unsafe { slots.get_unchecked(at) });
        // SAFETY: only the owner replaces `slots`, and only the owner (or `pop_contended`, which it calls) is here.
        unsafe { self.slots.with(|slots| pick(slots)) }
    }

    #[inline(always)]
    fn read(&self, at: usize) -> Option<Runnable> {
        let header = self.with_slot(at, |slot| slot.load(Ordering::Relaxed));
        // SAFETY: a slot below `tail` holds a runnable, and the protocol made the owner its only taker.
        unsafe { Runnable::from_raw(header) }
    }
}
