//! Owns: `Forks`, the private list of one flow.
//! May use: `prim::model`, `prim::real`, `protocol::bag`, `protocol::header`, `protocol::join`.
//! Never: an atomic; one flow at a time has the list.

use super::node::{Act, Node};
use super::queue::JobQueue;
use crate::prim::Link;
use crate::protocol::bag::Bag;
use crate::protocol::header::Header;
use crate::protocol::join::JoinWord;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// The private list of one flow of control: its forks that nobody has asked for, oldest first.
#[derive(Debug)]
pub struct Forks {
    top: Cell<*mut Node>,
    /// Stands before the oldest; of its fields only `younger` is used.
    base: Node,
    /// Its forks that have a handle, which are not in the list.
    pub bag: Bag,
}

/// What became of a node that its flow comes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reclaimed {
    /// It is its flow's again, in no list.
    Ours,
    /// Somebody else runs it: wait at its join word.
    Taken,
}

impl Forks {
    /// A list that is not ready before [`open`](Self::open).
    #[inline(always)]
    pub fn new() -> Self {
        let nothing: Act = |_, _| unreachable!("the base of a list was run");
        let base = Node {
            older: Link::new(),
            younger: Link::new(),
            act: nothing,
            before: Link::new(),
            join: JoinWord::new(),
        };
        Forks { top: Cell::new(null_mut()), base, bag: Bag::new() }
    }

    /// Makes the list empty; from now on it must not be moved.
    #[inline(always)]
    pub fn open(&self) {
        self.top.set(self.as_base());
    }

    #[inline(always)]
    fn as_base(&self) -> *mut Node {
        (&raw const self.base).cast_mut()
    }

    /// # Safety
    /// `node` was made and is in no list; it stays where it is until it has been reclaimed or has been run.
    #[inline(always)]
    pub unsafe fn push(&self, node: *mut Node) {
        let top = self.top.get();
        // SAFETY: the caller vouches for the node.
        unsafe { (*node).older.set(top) };
        // SAFETY: what is in the list lives.
        unsafe { (*top).younger.set(node) };
        self.top.set(node);
    }

    /// Whether `node` is the youngest fork.
    #[inline(always)]
    pub fn is_top(&self, node: *mut Node) -> bool {
        self.top.get() == node
    }

    /// The youngest; `None` if the list is empty.
    #[inline]
    pub fn top(&self) -> Option<NonNull<Node>> {
        self.unless_base(self.top.get())
    }

    /// `node`, if it is not the base.
    #[inline]
    pub fn unless_base(&self, node: *mut Node) -> Option<NonNull<Node>> {
        if node == self.as_base() { None } else { NonNull::new(node) }
    }

    /// Takes the youngest out.
    ///
    /// # Safety
    /// `node` is the top.
    #[inline(always)]
    pub unsafe fn pop(&self, node: *mut Node) {
        // SAFETY: what is in the list lives.
        self.top.set(unsafe { (*node).older.get() });
    }

    /// Gets back a node that was pushed here, wherever it is now.
    ///
    /// # Safety
    /// `node` was pushed here and has not been reclaimed.
    #[inline]
    pub unsafe fn reclaim(&self, node: *mut Node) -> Reclaimed {
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
    pub unsafe fn unlink(&self, node: *mut Node) {
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

    /// The oldest; `None` if the list is empty.
    #[inline]
    pub fn oldest(&self) -> Option<NonNull<Node>> {
        self.top().and_then(|_| NonNull::new(self.base.younger.get()))
    }

    /// Promotes the oldest fork of this list, which is `flow`'s, to `queue`. False if there is none.
    #[inline]
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "it is compared, and never followed")]
    pub fn promote_oldest(&self, queue: &JobQueue, flow: *const Header) -> bool {
        let Some(oldest) = self.oldest() else { return false };
        let oldest = oldest.as_ptr();
        // SAFETY: the list is not empty, so this is its oldest.
        unsafe { self.unlink(oldest) };
        // SAFETY: it is in no list now, and stays until it is reclaimed or run.
        unsafe { queue.promote(oldest, flow) };
        true
    }
}
