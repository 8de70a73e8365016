//! Owns: the end of a variable, with its last handle; `Variables`, that somebody waits for; `PolledWatch`, by a future.
//! May use: `arena`, `few`, `host`, `panics`, `protocol::watch`, `variable`, `waiting`, `raddle-core`.
//! Never: a transaction.

use crate::arena;
use crate::few::Few;
use crate::host::{self, Told, ToldWait, WaitingFuture};
use crate::panics::Panics;
use crate::protocol::watch::WatchNode;
use crate::variable::{Head, HeadRef};
use crate::waiting::{ChangeWaiter, PolledWaiter};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::task::{Context, Poll};

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
    all: Few<HeadRef>,
}

// SAFETY: handles go from thread to thread, and by a shared reference the variables are read by atomics alone.
unsafe impl Send for Variables {}
// SAFETY: as above.
unsafe impl Sync for Variables {}

impl Variables {
    /// These, each once, as far as anybody can still write them.
    ///
    /// # Safety
    /// They are there now.
    pub(crate) unsafe fn hold(all: &[HeadRef]) -> Variables {
        // SAFETY: passed on to the caller.
        let retain = |head: &HeadRef| unsafe { head.as_ref() }.try_retain();
        if let [one] = all
            && retain(one)
        {
            return Variables { all: Few::One([*one]) };
        }
        let mut all = all.to_vec();
        all.sort_unstable();
        all.dedup();
        all.shrink_to_fit();
        all.retain(retain);
        Variables { all: Few::Many(all) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn heads(&self) -> impl Iterator<Item = &Head> {
        // SAFETY: we have a handle of each.
        self.all.iter().map(|head| unsafe { head.as_ref() })
    }

    /// Runs `wait` while `waiter` stands in the lists of all, if they are what they were at `time`.
    pub(crate) fn watch<R>(&self, waiter: &ChangeWaiter, time: u64, wait: impl FnOnce() -> R) -> Option<R> {
        // SAFETY: the places go when this returns, before `self` and `waiter` do.
        let mut places = unsafe { self.places(waiter) };
        // SAFETY: they stay where they are until they are dropped, which takes them out of the lists.
        places.iter_mut().all(|place| unsafe { place.stand(time) }).then(wait)
    }

    /// A place in the list of each, in which it does not stand yet.
    ///
    /// # Safety
    /// `self` and `waiter` are there as long as the places are.
    unsafe fn places(&self, waiter: &ChangeWaiter) -> Few<Standing> {
        let place = |head: &HeadRef| Standing { head: *head, node: WatchNode::new(waiter) };
        match &self.all {
            Few::One([one]) => Few::One([place(one)]),
            Few::Many(all) => Few::Many(all.iter().map(place).collect()),
        }
    }
}

/// A future stands in the lists of the variables that it waits for. Its fields are dropped in their order. Others have
/// the addresses of places and of who waits: neither is in a `Box`, which would claim to be the only way to them.
pub(crate) struct PolledWatch {
    places: Vec<Standing>,
    waiting: Rc<ChangeWaiter>,
    variables: WaitingFuture<WaitedFor>,
}

/// What a future waits for, as a report tells it.
struct WaitedFor {
    variables: Variables,
    /// Where its transaction is called.
    site: &'static Location<'static>,
}

impl ToldWait for WaitedFor {
    fn tell(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "retry at {} ({}: ", self.site, Variables::KIND)?;
        self.variables.state(out)?;
        out.write_str(")")
    }
}

// SAFETY: the places are touched under the locks of their lists, or by one who has this alone; the one `Rc` goes along;
// handles go from thread to thread.
unsafe impl Send for PolledWatch {}
// SAFETY: by a shared reference it is only polled, under the lock of what waits.
unsafe impl Sync for PolledWatch {}

impl PolledWatch {
    /// From now on, if all are what they were at `time`.
    pub(crate) fn begin(
        variables: Variables,
        time: u64,
        site: &'static Location<'static>,
    ) -> Option<PolledWatch> {
        let waiting = Rc::new(ChangeWaiter::Polled(PolledWaiter::default()));
        let variables = WaitingFuture::new(WaitedFor { variables, site });
        // SAFETY: the places go first, see the order of the fields, and the waiting one does not move.
        let places = unsafe { variables.variables.places(&waiting) }.into_vec();
        let mut watch = PolledWatch { places, waiting, variables };
        // SAFETY: they stay in the vector's memory until they are dropped, which takes them out of the lists.
        watch.places.iter_mut().all(|place| unsafe { place.stand(time) }).then_some(watch)
    }

    /// Whether one has changed. If not, the waker of `context` is called when one does.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        debug_assert!(!self.variables.variables.is_empty(), "nothing would ever change");
        match &*self.waiting {
            ChangeWaiter::Polled(polled) => polled.poll(context),
            ChangeWaiter::Parked(_) => unreachable!("it was made to be polled"),
        }
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
            match head.writer() {
                Some((author, site)) => {
                    out.write_str(" (last written by ")?;
                    host::tell_author(author, out)?;
                    write!(out, " at {site})")?;
                }
                None => write!(out, " (not written since)")?,
            }
        }
        let more = self.all.len().saturating_sub(TOLD_MAX);
        if more > 0 { write!(out, ", and of {more} others") } else { Ok(()) }
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        // With a variable others may go, and what is collected then is code of the program's.
        let mut panics = Panics::default();
        for head in self.all.iter() {
            // SAFETY: we have a handle of each, which goes with this.
            panics.catch(|| unsafe { drop_handle(*head) });
        }
        panics.go_on();
    }
}

/// A node that stands in a variable's list until this goes.
struct Standing {
    head: HeadRef,
    node: WatchNode<ChangeWaiter>,
}

impl Standing {
    fn head(&self) -> &Head {
        // SAFETY: whoever has made this has a handle for as long.
        unsafe { self.head.as_ref() }
    }

    /// # Safety
    /// This stays where it is, and its waiter, until it is dropped.
    unsafe fn stand(&mut self, time: u64) -> bool {
        let node = &raw mut self.node;
        // SAFETY: the caller says so; and to drop it takes it out.
        unsafe { self.head().watched.watch(self.head().stripe(), node, time) }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let node = &raw mut self.node;
        // SAFETY: the variable's own stripe; the node is still where it was.
        unsafe { self.head().watched.unwatch(self.head().stripe(), node) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tvar::TVar;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{ThreadId, current, panicking};

    /// Panics when it is dropped where it was made, while it is armed; what is left of them other tests drop.
    struct Bomb(ThreadId, Arc<AtomicBool>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.1.load(Ordering::Relaxed) && self.0 == current().id() && !panicking() {
                resume_unwind(Box::new("a bomb"));
            }
        }
    }

    /// With so many that go for good something is collected, unless a transaction of another test goes on for long.
    #[test]
    fn a_value_that_panics_keeps_no_handle_from_going() {
        const MANY: usize = 500;
        let (mut kept, mut all, is_armed) = (Vec::new(), Vec::new(), Arc::new(AtomicBool::new(true)));
        for n in 0..MANY {
            let goes = std::mem::ManuallyDrop::new(TVar::new(Bomb(current().id(), is_armed.clone())));
            let stays = TVar::new(n);
            all.extend([goes.head, stays.head]);
            kept.push(stays);
        }
        // SAFETY: all are there.
        let variables = unsafe { Variables::hold(&all) };
        assert_eq!(variables.all.len(), 2 * MANY);
        for goes in all.iter().step_by(2) {
            // SAFETY: it has the handle of what was not dropped above.
            unsafe { drop_handle(*goes) };
        }
        let _panicked = catch_unwind(AssertUnwindSafe(|| drop(variables)));
        is_armed.store(false, Ordering::Relaxed);
        for stays in &kept {
            // SAFETY: it is there, with this handle.
            assert_eq!(unsafe { stays.head.as_ref() }.handles(), 1);
        }
    }
}
