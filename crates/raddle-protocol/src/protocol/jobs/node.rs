//! Owns: `Node`, the first bytes of everything that may be run by another worker.
//! May use: `prim::model`, `prim::real`, `protocol::header`, `protocol::join`.
//! Never: a list; who may touch which field when is the table in `jobs`.

use super::forks::Reclaimed;
use super::queue::JobQueue;
use crate::prim::Link;
use crate::protocol::header::Header;
use crate::protocol::join::JoinWord;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// What is done with a node, by whom its list hands it to.
pub type Act = unsafe fn(*mut Node, How);

/// What an [`Act`] is to do.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// The node is about to become a job: it leaves the list of this flow; null if it was in none.
    Promote(*const Header),
    /// The caller has taken the job: run it to its end, and say so.
    Taken,
    /// The flow that made it has it back: run it, and write what it returns here. (Never asked of a `join`.)
    Here(*mut ()),
}

/// The first bytes of everything that may be run by another worker.
#[derive(Debug)]
#[repr(C)]
pub struct Node {
    pub(super) older: Link<Node>,
    pub(super) younger: Link<Node>,
    pub(super) act: Act,
    pub(super) before: Link<Node>,
    /// Where its end is told.
    pub join: JoinWord<Header>,
}

/// The mark of a node that somebody else runs or has run.
#[inline]
pub(super) fn taken() -> *mut Node {
    std::ptr::without_provenance_mut(1)
}

/// The tag on `older` of a node that was promoted.
pub(super) const PROMOTED: usize = 1;

impl Node {
    /// Makes the node at `place` ready to be pushed. Three of its five fields are left alone: a fork that nobody takes
    /// never uses them.
    ///
    /// # Safety
    /// `place` has room for a node, which nobody else sees.
    #[inline(always)]
    pub unsafe fn make(place: *mut MaybeUninit<Node>, act: Act) -> *mut Node {
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
    pub unsafe fn renew_join(node: *mut Node) {
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
    pub unsafe fn run_here(node: *mut Node, out: *mut ()) {
        // SAFETY: passed on to the caller.
        let act = unsafe { (*node).act };
        // SAFETY: as above.
        unsafe { act(node, How::Here(out)) };
    }

    /// What is done with it.
    #[inline]
    pub fn act(&self) -> Act {
        self.act
    }

    /// The next older one in the private list of its flow, which calls.
    #[inline]
    pub fn older(&self) -> *mut Node {
        self.older.get()
    }

    /// Whether it still hangs in the private list of its flow, which calls.
    #[inline(always)]
    pub fn is_private(&self) -> bool {
        self.older.get().addr() & PROMOTED == 0
    }

    /// Gets back a node that was promoted.
    ///
    /// # Safety
    /// `node` was promoted by the flow that calls, which has not had it back; the queue's runtime lives.
    #[inline]
    pub unsafe fn reclaim_promoted(node: *mut Node) -> Reclaimed {
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
    #[inline]
    pub unsafe fn run(node: NonNull<Node>) {
        // SAFETY: a taken node lives until its run ends it.
        let act = unsafe { node.as_ref() }.act;
        // SAFETY: passed on to the caller.
        unsafe { act(node.as_ptr(), How::Taken) };
    }

    /// The queue in which this node was promoted; `None` while it is private. By its flow only.
    #[inline]
    fn queue<'a>(&self) -> Option<&'a JobQueue> {
        // SAFETY: null, or made from a queue by `promote`; a queue lives as long as its runtime's workers.
        unsafe { self.promoted_to().as_ref() }
    }

    /// The address of the queue in which this node was promoted; null while it is private. By its flow only.
    #[inline]
    pub fn promoted_to(&self) -> *const JobQueue {
        let older = self.older.get();
        if self.is_private() { std::ptr::null() } else { older.map_addr(|a| a & !PROMOTED).cast() }
    }
}
