//! Owns: `JobQueue`, the promoted jobs of one worker.
//! May use: `order`, `prim`, `protocol::header`, `loom`, `raddle-syscall`.
//! Never: a node of the queue touched without its lock.
//!
//! `wanted` is the one word that a fork looks at: the standing request of all idle workers. It is set when the queue
//! holds less than enough, also by the very thief that takes. A flow that forks very often and has nothing to give yet
//! takes it back; then a thief that finds nothing asks again. At a queue from which nobody may take, the first fork
//! takes it back for good, unless whoever watches would like to know of the next.

use super::node::{How, Node, PROMOTED, taken};
use crate::order;
use crate::prim::{AtomicBool, AtomicUsize, Guarded, Ordering, overwrite, spin_loop};
use crate::protocol::header::Header;
use std::ptr::{NonNull, null_mut};

/// So many promoted jobs are enough for one worker: the oldest ones, so that a thief need not wait for the next fork.
const ENOUGH: usize = 4;
/// A lock that is held longer than so many looks has lost its processor.
const LOOKS: u32 = 64;

#[derive(Debug)]
struct Ends {
    first: *mut Node,
    last: *mut Node,
}

/// The promoted jobs of one worker, oldest first.
#[derive(Debug)]
#[repr(align(128))]
pub struct JobQueue {
    wanted: AtomicBool,
    /// Whether what runs on this worker may have forks that are private still.
    left: AtomicBool,
    /// Whether anybody may take from here but the owner.
    open: bool,
    /// So many waiting jobs are enough.
    enough: usize,
    line: ContendedLine,
}

/// What only promoters and takers write, away from the word that every fork reads.
#[derive(Debug)]
#[repr(align(128))]
struct ContendedLine {
    locked: AtomicBool,
    waiting: AtomicUsize,
    taken: AtomicUsize,
    gone: AtomicUsize,
    ends: Guarded<Ends>,
}

// SAFETY: the ends, and the nodes between them, are touched under the lock.
unsafe impl Sync for JobQueue {}
// SAFETY: as above.
unsafe impl Send for JobQueue {}

impl JobQueue {
    /// An empty queue; `open` if others may take from it, and then for `all` jobs or for a few.
    #[inline]
    pub fn new(open: bool, all: bool) -> Self {
        JobQueue {
            wanted: AtomicBool::new(true),
            left: AtomicBool::new(false),
            open,
            enough: if all { usize::MAX } else { ENOUGH },
            line: ContendedLine {
                locked: AtomicBool::new(false),
                waiting: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
                gone: AtomicUsize::new(0),
                ends: Guarded::new(Ends { first: null_mut(), last: null_mut() }),
            },
        }
    }

    /// Whether anybody may take from here but the owner.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether somebody would like more jobs here. What every fork looks at: one relaxed load.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// A thief has found nothing: asks again for a job, if the owner had given up answering.
    #[inline]
    pub fn ask(&self) {
        if self.open && !self.is_wanted() && self.waiting() < self.enough {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// The owner does not answer until it is asked again, or a job leaves. An ask that comes just now is lost, and
    /// comes again with the thief's next look.
    #[inline]
    pub fn ignore_requests(&self) {
        self.note_left();
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// A fork stays private, though a job is wanted or would be if there were not enough.
    #[inline]
    pub fn note_left(&self) {
        // Relaxed: who watches looks again.
        if !self.has_left() {
            self.left.store(true, Ordering::Relaxed);
        }
    }

    /// Whether what runs here may have forks that are private still, at a glance.
    #[inline]
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// What runs here, and stands still, has no private fork any more: it answers for the next one.
    pub fn none_left(&self) {
        self.with_lock(|_| {
            self.left.store(false, Ordering::Relaxed);
            self.wanted.store(true, Ordering::Relaxed);
        });
    }

    /// How many jobs wait here, at a glance.
    #[inline(always)]
    pub fn waiting(&self) -> usize {
        self.line.waiting.load(Ordering::Relaxed)
    }

    /// How often a job was taken from here, by whomever but its own flow.
    #[inline]
    pub fn taken(&self) -> usize {
        self.line.taken.load(Ordering::Relaxed)
    }

    /// How many jobs have left; while the number stays the same, the oldest is the same.
    #[inline]
    pub fn gone(&self) -> usize {
        self.line.gone.load(Ordering::Relaxed)
    }

    /// Makes a job of a node that has just left the list of `flow`; null if it never was in one.
    ///
    /// # Safety
    /// `node` is in no list, and stays until it is reclaimed or run.
    #[inline]
    pub unsafe fn promote(&self, node: *mut Node, flow: *const Header) {
        let tagged = std::ptr::from_ref(self).cast_mut().cast::<Node>().map_addr(|a| a | PROMOTED);
        // SAFETY: the caller's alone still.
        let act = unsafe { (*node).act };
        // SAFETY: as above.
        unsafe { act(node, How::Promote(flow)) };
        // SAFETY: as above.
        unsafe { (*node).older.set(tagged) };
        // SAFETY: as above.
        unsafe { (*node).younger.set(null_mut()) };
        self.with_lock(|ends| {
            // SAFETY: as above.
            unsafe { (*node).before.set(ends.last) };
            if ends.last.is_null() {
                ends.first = node;
            } else {
                // SAFETY: what is in the queue lives, and we hold the lock.
                unsafe { (*ends.last).younger.set(node) };
            }
            ends.last = node;
            self.count(self.waiting() + 1);
        });
    }

    /// Takes the oldest job, for the queue's own worker: the caller runs it.
    #[inline]
    pub fn take_own(&self) -> Option<NonNull<Node>> {
        if self.waiting() == 0 { None } else { self.with_lock(|ends| self.take_first(ends)) }
    }

    /// Takes the oldest job, for a thief, who does not wait for the lock: the caller runs it.
    #[inline]
    pub fn steal(&self) -> Option<NonNull<Node>> {
        if self.waiting() == 0 || !self.try_lock() {
            return None;
        }
        self.locked(|ends| self.take_first(ends))
    }

    #[inline]
    fn take_first(&self, ends: &mut Ends) -> Option<NonNull<Node>> {
        let node = NonNull::new(ends.first)?;
        // SAFETY: the first of the queue; whoever has the ends has the lock.
        unsafe { self.unlink(ends, node.as_ptr()) };
        // SAFETY: as above; its flow sees the mark under the lock.
        unsafe { node.as_ref() }.before.set(taken());
        self.line.taken.store(self.taken() + 1, Ordering::Relaxed);
        Some(node)
    }

    /// Gives a job back to its own flow. False if somebody else has taken it.
    ///
    /// # Safety
    /// `node` was promoted to this queue, and its flow calls.
    #[inline]
    pub(super) unsafe fn take_back(&self, node: *mut Node) -> bool {
        self.with_lock(|ends| {
            // SAFETY: under the lock the mark may be read; the node lives until its flow has it back.
            let is_here = unsafe { (*node).before.get() } != taken();
            if is_here {
                // SAFETY: not taken, so it is in the queue.
                unsafe { self.unlink(ends, node) };
            }
            is_here
        })
    }

    /// # Safety
    /// `node` is in the queue, and the caller holds the lock.
    #[inline]
    unsafe fn unlink(&self, ends: &mut Ends, node: *mut Node) {
        // SAFETY: passed on to the caller.
        let node = unsafe { &*node };
        let (before, after) = (node.before.get(), node.younger.get());
        // SAFETY: its neighbours are in the queue, too.
        match unsafe { before.as_ref() } {
            Some(before) => before.younger.set(after),
            None => ends.first = after,
        }
        // SAFETY: as above.
        match unsafe { after.as_ref() } {
            Some(after) => after.before.set(before),
            None => ends.last = before,
        }
        self.line.gone.store(self.gone() + 1, Ordering::Relaxed);
        self.count(self.waiting() - 1);
    }

    /// Under the lock: so many wait now.
    #[inline]
    fn count(&self, waiting: usize) {
        self.line.waiting.store(waiting, Ordering::Relaxed);
        let wanted = self.open && waiting < self.enough;
        if self.is_wanted() != wanted {
            self.wanted.store(wanted, Ordering::Relaxed);
            if !wanted {
                self.note_left();
            }
        }
    }

    /// Over a fork: locked until [`let_go`](Self::let_go), so that the child does not find it locked for ever.
    #[inline]
    pub fn hold(&self) {
        let mut looks = 0_u32;
        while !self.try_lock() {
            looks += 1;
            if looks.is_multiple_of(LOOKS) { yield_processor() } else { spin_loop() }
        }
    }

    /// Ends [`hold`](Self::hold), which the caller, or its parent, has called.
    #[inline]
    pub fn let_go(&self) {
        self.locked(|_| ());
    }

    /// A few instructions under a lock that its holder cannot wait with: processes do not switch inside.
    #[inline]
    fn with_lock<R>(&self, f: impl FnOnce(&mut Ends) -> R) -> R {
        self.hold();
        self.locked(f)
    }

    #[inline]
    fn try_lock(&self) -> bool {
        !self.line.locked.swap(true, order::JOBS_LOCK())
    }

    /// The caller has locked; this unlocks.
    #[inline]
    fn locked<R>(&self, f: impl FnOnce(&mut Ends) -> R) -> R {
        // SAFETY: under the lock nobody else looks.
        let out = unsafe { self.line.ends.with_mut(f) };
        overwrite!(self.line.locked, false, order::JOBS_UNLOCK());
        out
    }
}

#[cfg(not(loom))]
#[inline]
fn yield_processor() {
    raddle_syscall::yield_processor();
}

#[cfg(loom)]
#[inline]
fn yield_processor() {
    loom::thread::yield_now();
}
