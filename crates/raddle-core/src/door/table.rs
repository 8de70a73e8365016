//! Owns: the table of those who wait at a futex, and what a report is told of them.
//! May use: `describe`, `wait::waiter`, `raddle-protocol`.
//! Never: the word.

use super::owner::Owner;
use crate::wait::{CallOn, Held, Subject, Thing, WaitReason, Waiter};
use raddle_protocol::protocol::futex::{Bucket, FutexTable};

pub(super) const WAIT: CallOn<WaitedWord> = CallOn::new("futex::wait", WaitReason::Wait);

/// So many that cores seldom meet at one: of 64 that are in a bucket at one moment each meets another with a chance of
/// 6 %. All take 64 KiB, of which a page is there when it has been used.
const BUCKETS: usize = 1024;

static TABLE: [Bucket<Waiter>; BUCKETS] = [const { Bucket::new() }; BUCKETS];

#[inline]
pub(super) fn table() -> FutexTable<'static, Waiter> {
    FutexTable::over(&TABLE)
}

/// In a forked child nobody waits: those who did are not there.
///
/// # Safety
/// The caller is the child's only thread, just forked.
pub(super) unsafe fn forget_waiters() {
    // SAFETY: passed on to the caller.
    unsafe { table().forget() };
}

/// What a report is told of a wait.
pub(super) struct WaitedWord {
    pub(super) address: usize,
    pub(super) size: usize,
    /// Null, or borrowed as long as the wait is shown.
    pub(super) owner: *const Owner,
}

impl Subject for WaitedWord {
    const KIND: &'static str = "futex";

    /// The word's own: this lies in the frame of the one who waits.
    fn address(&self) -> *const () {
        std::ptr::without_provenance(self.address)
    }

    fn held(&self) -> Option<Held> {
        // SAFETY: a wait is looked at while it is shown only.
        unsafe { self.owner.as_ref() }.and_then(Owner::held)
    }

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        if self.held().is_none() {
            let (begin, end) = (self.address, self.address + self.size);
            each(Thing { kind: Self::KIND, subject: begin, begin, end, is_between_two: false });
        }
    }
}
