//! Owns: the end of a variable, with its last handle; `Variables`, those that somebody waits for.
//! May use: `arena`, `host`, `protocol::watch`, `variable`, `raddle-core`.
//! Never: a transaction.

use crate::arena;
use crate::host::{Told, Waiter};
use crate::protocol::watch::WatchNode;
use crate::variable::{Head, HeadRef};
use std::fmt;

/// Frees a variable.
///
/// # Safety
/// `head` is the address of one, which nobody can reach any more.
unsafe fn free(head: *mut ()) {
    // SAFETY: it was made so, and the caller is the last.
    let head = unsafe { Box::from_raw(head.cast::<Head>()) };
    if let Some(free) = head.kind.free {
        // SAFETY: it is not inline.
        let value = unsafe { head.load().address() };
        // SAFETY: it is of that kind, and the variable's last value.
        unsafe { free(value) };
    }
}

/// The caller's handle goes; and if that was the last, so does the variable, when nobody reads it any more.
///
/// # Safety
/// The caller has a handle, and does not use it any more.
#[inline]
pub(crate) unsafe fn drop_handle(head: HeadRef) {
    // SAFETY: it is there while there are handles.
    if unsafe { head.as_ref() }.release() {
        // SAFETY: there are no more handles, so that no transaction that begins now gets at it.
        unsafe { arena::retire(head.as_ptr().cast(), free) };
    }
}

/// The variables that somebody waits for, with a handle of each, and that one's nodes in their lists.
pub(crate) struct Variables {
    all: Vec<HeadRef>,
}

impl Variables {
    /// These, each once, as far as anybody can still write them.
    ///
    /// # Safety
    /// They are there now.
    pub(crate) unsafe fn hold(mut all: Vec<HeadRef>) -> Variables {
        all.sort_unstable();
        all.dedup();
        all.shrink_to_fit();
        // SAFETY: passed on to the caller.
        all.retain(|head| unsafe { head.as_ref() }.try_retain());
        Variables { all }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn heads(&self) -> impl Iterator<Item = &Head> {
        // SAFETY: we have a handle of each.
        self.all.iter().map(|head| unsafe { head.as_ref() })
    }

    /// Runs `wait` while `waiter` stands in the lists of all, if they are what they were at `time`.
    pub(crate) fn watch<R>(&self, waiter: &Waiter, time: u64, wait: impl FnOnce() -> R) -> Option<R> {
        let mut places: Vec<_> = self.heads().map(|head| Standing::new(head, waiter)).collect();
        // SAFETY: they stay where they are until they are dropped, which takes them out of the lists.
        places.iter_mut().all(|place| unsafe { place.stand(time) }).then(wait)
    }
}

impl Told for Variables {
    const KIND: &'static str = "change";

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        const TOLD_MAX: usize = 5;
        let of = if self.all.len() == 1 { "the variable" } else { "one of the variables" };
        write!(out, "in {of} made at ")?;
        for (at, head) in self.heads().take(TOLD_MAX).enumerate() {
            write!(out, "{}{}", if at == 0 { "" } else { ", " }, head.site)?;
        }
        let more = self.all.len().saturating_sub(TOLD_MAX);
        if more > 0 { write!(out, ", and of {more} others") } else { Ok(()) }
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        // SAFETY: we have a handle of each.
        self.all.drain(..).for_each(|head| unsafe { drop_handle(head) });
    }
}

/// A node that stands in a variable's list until this goes.
struct Standing<'h> {
    head: &'h Head,
    node: WatchNode<Waiter>,
}

impl<'h> Standing<'h> {
    fn new(head: &'h Head, waiter: &Waiter) -> Standing<'h> {
        Standing { head, node: WatchNode::new(waiter) }
    }

    /// # Safety
    /// This stays where it is, and its waiter, until it is dropped.
    unsafe fn stand(&mut self, time: u64) -> bool {
        let node = &raw mut self.node;
        // SAFETY: the caller says so; and to drop it takes it out.
        unsafe { self.head.watched.watch(self.head.stripe(), node, time) }
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        // SAFETY: the variable's own stripe; the node is still where it was.
        unsafe { self.head.watched.unwatch(self.head.stripe(), &raw mut self.node) };
    }
}
