//! What a flow hands places out of, and others look at: the last to leave has it, and a lonely owner uses it again.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::Shares;
use std::sync::Arc;

/// A chunk: who has it next writes what those before it read.
struct Shared {
    shares: Shares,
    chunk: UnsafeCell<u32>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// The owner's, and `others` more.
    fn new(others: usize) -> Arc<Shared> {
        let shared = Shared { shares: Shares::none(), chunk: UnsafeCell::new(0) };
        shared.shares.begin();
        (0..others).for_each(|_| shared.shares.add());
        Arc::new(shared)
    }

    fn look(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.chunk.with(|p| unsafe { assert_eq!(*p, 0) });
    }

    /// Who has it uses it anew.
    fn use_again(&self) {
        // SAFETY: as above.
        self.chunk.with_mut(|p| unsafe { *p += 1 });
    }

    /// Looks, and leaves. True if that gave it to the caller.
    fn look_and_leave(&self) -> bool {
        self.look();
        let last = self.shares.leave();
        if last {
            self.use_again();
        }
        last
    }
}

#[test]
fn the_last_to_leave_has_it_after_all_others() {
    check(ALL, || {
        let shared = Shared::new(2);
        let others = [shared.clone(), shared.clone()].map(|s| go(move || s.look_and_leave()));
        let owner_has_it = shared.look_and_leave();
        let had = others.map(|other| other.join().unwrap());
        let all = [owner_has_it, had[0], had[1]];
        assert_eq!(all.into_iter().filter(|has| *has).count(), 1, "one of three has it");
    });
}

#[test]
fn an_owner_that_is_alone_uses_it_again() {
    check(ALL, || {
        let shared = Shared::new(1);
        let other = {
            let shared = shared.clone();
            go(move || assert!(!shared.look_and_leave(), "the owner has not left"))
        };
        if shared.shares.is_alone() {
            shared.use_again();
        }
        other.join().unwrap();
        assert!(shared.shares.is_alone());
    });
}
