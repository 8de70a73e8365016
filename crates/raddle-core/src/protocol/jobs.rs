//! Owns: `Node`, `Forks` and `JobQueue`: where a fork waits, and how it gets from its flow to whoever takes it.
//! May use: `prim`, `order`, `protocol::join`.
//! Never: what a job does; who takes one calls what its node says.
//!
//! A fork is a node in its parent's frame. While nobody asks for it, it hangs in the private list of its flow of
//! control, the [`Forks`]: two pointers to push, one to pop, no atomic. *Promoted*, it leaves that list for good and
//! waits in the [`JobQueue`] of the worker on which it was promoted, under a lock; there an idle worker takes it, or
//! its own flow takes it back. The lock is what keeps a frame alive: a thief touches a node only under it, or when
//! the node is taken and so has to be waited for.
//!
//! | the node is | `older` | `younger` | `before` | who may touch it |
//! |---|---|---|---|---|
//! | private | the next older fork, or the base | the next younger, if it is not the top | - | its flow |
//! | promoted | the queue, tagged | the next in the queue | the one before it | the lock's holder; `older`: its flow |
//! | taken | the queue, tagged | - | [`taken`] | its taker; `join` by its transitions; `before`: under the lock |
//!
//! `wanted` is the one word that a fork looks at: the standing request of all idle workers. It is set when the queue
//! holds less than enough, also by the very thief that takes. A flow that forks very often and has nothing to give yet
//! takes it back; then a thief that finds nothing asks again. A queue from which nobody may take never wants.

use super::join::JoinWord;
use crate::header::Header;
use crate::order;
use crate::prim::{AtomicBool, AtomicUsize, Guarded, Link, Ordering, overwrite, spin_loop};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

/// So many promoted jobs are enough for one worker: the oldest ones, so that a thief need not wait for the next fork.
const ENOUGH: usize = 4;
/// A lock that is held longer than so many looks has lost its processor.
const LOOKS: u32 = 64;

/// What is done with a node, by whom its list hands it to.
pub(crate) type Act = unsafe fn(*mut Node, How);

/// What an [`Act`] is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// The node is about to become a job: it leaves its flow's list.
    Promote,
    /// The caller has taken the job: run it to its end, and say so.
    Taken,
    /// The flow that made it has it back: run it, and write what it returns here. (Never asked of a `join`.)
    Here(*mut ()),
}

/// The first bytes of everything that may be run by another worker.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Node {
    older: Link<Node>,
    younger: Link<Node>,
    act: Act,
    before: Link<Node>,
    pub(crate) join: JoinWord<Header>,
}

/// The mark of a node that somebody else runs or has run.
fn taken() -> *mut Node {
    std::ptr::without_provenance_mut(1)
}

const PROMOTED: usize = 1;

impl Node {
    /// Makes the node at `place` ready to be pushed. Three of its five fields are left alone: a fork that nobody takes
    /// never uses them.
    ///
    /// # Safety
    /// `place` has room for a node, which nobody else sees.
    #[inline(always)]
    pub(crate) unsafe fn make(place: *mut MaybeUninit<Node>, act: Act) -> *mut Node {
        let node = place.cast::<Node>();
        #[cfg(loom)]
        {
            let whole = Node {
                older: Link::new(),
                younger: Link::new(),
                act,
                before: Link::new(),
                join: JoinWord::new(),
            };
            // SAFETY: passed on to the caller.
            unsafe { node.write(whole) };
        }
        #[cfg(not(loom))]
        {
            // SAFETY: passed on to the caller.
            let place = unsafe { &raw mut (*node).act };
            // SAFETY: as above.
            unsafe { place.write(act) };
        }
        node
    }

    /// Makes the join word new, which [`make`](Self::make) has not: nobody waits, nothing has ended.
    ///
    /// # Safety
    /// `node` was made, and nobody else sees it.
    #[inline(always)]
    pub(crate) unsafe fn renew_join(node: *mut Node) {
        // SAFETY: passed on to the caller.
        let join = unsafe { &raw mut (*node).join };
        // SAFETY: as above.
        unsafe { join.write(JoinWord::new()) };
    }

    /// Has the flow that made it run a node that it has back; what it returns is written to `out`.
    ///
    /// # Safety
    /// `node` was made by the calling flow and reclaimed; `out` has room for what it returns.
    #[inline(always)]
    pub(crate) unsafe fn run_here(node: *mut Node, out: *mut ()) {
        // SAFETY: passed on to the caller.
        let act = unsafe { (*node).act };
        // SAFETY: as above.
        unsafe { act(node, How::Here(out)) };
    }

    /// What is done with it.
    pub(crate) fn act(&self) -> Act {
        self.act
    }

    /// The next older one in the private list of its flow, which calls.
    pub(crate) fn older(&self) -> *mut Node {
        self.older.get()
    }

    /// Whether it still hangs in the private list of its flow, which calls.
    #[inline(always)]
    pub(crate) fn is_private(&self) -> bool {
        self.older.get().addr() & PROMOTED == 0
    }

    /// Gets back a node that was promoted.
    ///
    /// # Safety
    /// `node` was promoted by the flow that calls, which has not had it back.
    pub(crate) unsafe fn reclaim_promoted(node: *mut Node) -> Reclaimed {
        // SAFETY: a node lives until it has been reclaimed.
        match unsafe { &*node }.queue() {
            // SAFETY: it was promoted to this queue.
            Some(queue) if unsafe { queue.take_back(node) } => Reclaimed::Ours,
            _ => Reclaimed::Taken,
        }
    }

    /// Runs a job that the caller has taken.
    ///
    /// # Safety
    /// `node` came from [`JobQueue::steal`] or [`JobQueue::take_own`], and this is its one run.
    pub(crate) unsafe fn run(node: NonNull<Node>) {
        // SAFETY: a taken node lives until its run ends it.
        let act = unsafe { node.as_ref() }.act;
        // SAFETY: passed on to the caller.
        unsafe { act(node.as_ptr(), How::Taken) };
    }

    /// The queue in which this node was promoted; `None` while it is private. By its flow only.
    fn queue<'a>(&self) -> Option<&'a JobQueue> {
        let older = self.older.get();
        if older.addr() & PROMOTED == 0 {
            return None;
        }
        // SAFETY: a tagged word was made from a queue by `promote`; a queue lives as long as its runtime's workers.
        Some(unsafe { &*older.map_addr(|a| a & !PROMOTED).cast::<JobQueue>() })
    }
}

/// The private list of one flow of control: its forks that nobody has asked for, oldest first.
#[derive(Debug)]
pub(crate) struct Forks {
    top: Cell<*mut Node>,
    /// Stands before the oldest; of its fields only `younger` is used.
    base: Node,
}

/// What became of a node that its flow comes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reclaimed {
    /// It is its flow's again, in no list.
    Ours,
    /// Somebody else runs it: wait at its join word.
    Taken,
}

impl Forks {
    /// A list that is not ready before [`open`](Self::open).
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let nothing: Act = |_, _| unreachable!("the base of a list was run");
        let base = Node {
            older: Link::new(),
            younger: Link::new(),
            act: nothing,
            before: Link::new(),
            join: JoinWord::new(),
        };
        Forks { top: Cell::new(null_mut()), base }
    }

    /// Makes the list empty; from now on it must not be moved.
    #[inline(always)]
    pub(crate) fn open(&self) {
        self.top.set(self.as_base());
    }

    #[inline(always)]
    fn as_base(&self) -> *mut Node {
        (&raw const self.base).cast_mut()
    }

    /// # Safety
    /// `node` was made and is in no list; it stays where it is until it has been reclaimed or has been run.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, node: *mut Node) {
        let top = self.top.get();
        // SAFETY: the caller vouches for the node.
        unsafe { (*node).older.set(top) };
        // SAFETY: what is in the list lives.
        unsafe { (*top).younger.set(node) };
        self.top.set(node);
    }

    #[inline(always)]
    pub(crate) fn is_top(&self, node: *mut Node) -> bool {
        self.top.get() == node
    }

    /// The youngest; `None` if the list is empty.
    pub(crate) fn top(&self) -> Option<NonNull<Node>> {
        self.unless_base(self.top.get())
    }

    /// `node`, if it is not the base.
    pub(crate) fn unless_base(&self, node: *mut Node) -> Option<NonNull<Node>> {
        if node == self.as_base() { None } else { NonNull::new(node) }
    }

    /// Takes the youngest out.
    ///
    /// # Safety
    /// `node` is the top.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, node: *mut Node) {
        // SAFETY: what is in the list lives.
        self.top.set(unsafe { (*node).older.get() });
    }

    /// Gets back a node that was pushed here, wherever it is now.
    ///
    /// # Safety
    /// `node` was pushed here and has not been reclaimed.
    pub(crate) unsafe fn reclaim(&self, node: *mut Node) -> Reclaimed {
        // SAFETY: a node lives until it has been reclaimed.
        if unsafe { &*node }.is_private() {
            // SAFETY: not promoted, so it is in this list.
            unsafe { self.unlink(node) };
            return Reclaimed::Ours;
        }
        // SAFETY: promoted, and passed on to the caller.
        unsafe { Node::reclaim_promoted(node) }
    }

    /// # Safety
    /// `node` is in this list.
    #[inline(always)]
    pub(crate) unsafe fn unlink(&self, node: *mut Node) {
        // SAFETY: passed on to the caller.
        let older = unsafe { (*node).older.get() };
        if self.is_top(node) {
            self.top.set(older);
            return;
        }
        // SAFETY: passed on to the caller; it is not the top, so it has a younger one.
        let younger = unsafe { (*node).younger.get() };
        // SAFETY: what is in the list lives.
        unsafe { (*younger).older.set(older) };
        // SAFETY: as above; the oldest's older one is the base.
        unsafe { (*older).younger.set(younger) };
    }

    /// Promotes the oldest fork to `queue`. False if there is none.
    pub(crate) fn promote_oldest(&self, queue: &JobQueue) -> bool {
        if self.top().is_none() {
            return false;
        }
        let oldest = self.base.younger.get();
        // SAFETY: the list is not empty, so this is its oldest.
        unsafe { self.unlink(oldest) };
        // SAFETY: it is in no list now, and stays until it is reclaimed or run.
        unsafe { queue.promote(oldest) };
        true
    }
}

#[derive(Debug)]
struct Ends {
    first: *mut Node,
    last: *mut Node,
}

/// The promoted jobs of one worker, oldest first.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct JobQueue {
    wanted: AtomicBool,
    /// Whether anybody may take from here but the owner.
    open: bool,
    /// So many waiting jobs are enough.
    enough: usize,
    line: Line,
}

/// What only promoters and takers write, away from the word that every fork reads.
#[derive(Debug)]
#[repr(align(128))]
struct Line {
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
    pub(crate) fn new(open: bool, all: bool) -> Self {
        JobQueue {
            wanted: AtomicBool::new(open),
            open,
            enough: if all { usize::MAX } else { ENOUGH },
            line: Line {
                locked: AtomicBool::new(false),
                waiting: AtomicUsize::new(0),
                taken: AtomicUsize::new(0),
                gone: AtomicUsize::new(0),
                ends: Guarded::new(Ends { first: null_mut(), last: null_mut() }),
            },
        }
    }

    /// Whether somebody would like more jobs here. What every fork looks at: one relaxed load.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// A thief has found nothing: asks again for a job, if the owner had given up answering.
    pub(crate) fn ask(&self) {
        if self.open && !self.is_wanted() && self.waiting() < self.enough {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// The owner does not answer until it is asked again, or a job leaves. An ask that comes just now is lost, and
    /// comes again with the thief's next look.
    pub(crate) fn be_deaf(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// How many jobs wait here, at a glance.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.line.waiting.load(Ordering::Relaxed)
    }

    /// How often a job was taken from here, by whomever but its own flow.
    pub(crate) fn taken(&self) -> usize {
        self.line.taken.load(Ordering::Relaxed)
    }

    /// How many jobs have left; while the number stays the same, the oldest is the same.
    pub(crate) fn gone(&self) -> usize {
        self.line.gone.load(Ordering::Relaxed)
    }

    /// Makes a job of a node that never was in a private list.
    ///
    /// # Safety
    /// `node` is in no list, and stays until it is reclaimed or run.
    pub(crate) unsafe fn promote(&self, node: *mut Node) {
        let tagged = std::ptr::from_ref(self).cast_mut().cast::<Node>().map_addr(|a| a | PROMOTED);
        // SAFETY: the caller's alone still.
        let act = unsafe { (*node).act };
        // SAFETY: as above.
        unsafe { act(node, How::Promote) };
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
    pub(crate) fn take_own(&self) -> Option<NonNull<Node>> {
        if self.waiting() == 0 { None } else { self.with_lock(|ends| self.take_first(ends)) }
    }

    /// Takes the oldest job, for a thief, who does not wait for the lock: the caller runs it.
    pub(crate) fn steal(&self) -> Option<NonNull<Node>> {
        if self.waiting() == 0 || !self.try_lock() {
            return None;
        }
        self.locked(|ends| self.take_first(ends))
    }

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
    unsafe fn take_back(&self, node: *mut Node) -> bool {
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
    fn count(&self, waiting: usize) {
        self.line.waiting.store(waiting, Ordering::Relaxed);
        let wanted = self.open && waiting < self.enough;
        if self.is_wanted() != wanted {
            self.wanted.store(wanted, Ordering::Relaxed);
        }
    }

    /// Over a fork: locked until [`let_go`](Self::let_go), so that the child does not find it locked for ever.
    pub(crate) fn hold(&self) {
        let mut looks = 0_u32;
        while !self.try_lock() {
            looks += 1;
            if looks.is_multiple_of(LOOKS) { yield_processor() } else { spin_loop() }
        }
    }

    /// Ends [`hold`](Self::hold), which the caller, or its parent, has called.
    pub(crate) fn let_go(&self) {
        self.locked(|_| ());
    }

    /// A few instructions under a lock that its holder cannot wait with: processes do not switch inside.
    fn with_lock<R>(&self, f: impl FnOnce(&mut Ends) -> R) -> R {
        self.hold();
        self.locked(f)
    }

    fn try_lock(&self) -> bool {
        !self.line.locked.swap(true, order::JOBS_LOCK())
    }

    /// The caller has locked; this unlocks.
    fn locked<R>(&self, f: impl FnOnce(&mut Ends) -> R) -> R {
        // SAFETY: under the lock nobody else looks.
        let out = unsafe { self.line.ends.with_mut(f) };
        overwrite!(self.line.locked, false, order::JOBS_UNLOCK());
        out
    }
}

#[cfg(not(loom))]
fn yield_processor() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn yield_processor() {
    loom::thread::yield_now();
}
