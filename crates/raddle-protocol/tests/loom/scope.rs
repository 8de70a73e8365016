//! A scope: the last to leave tells the owner, which then frees what all of them used.
//!
//! Reproduces the shape of `crates/raddle-core/src/process/scope.rs`: a count that every child and the owner leave, and
//! a join word.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::{Finished, JoinWord, Saved, scope_leave};
use std::sync::Arc;

struct Scope {
    inside: AtomicUsize,
    empty: JoinWord,
    owner: Saved,
    /// What the children borrow, one cell each.
    borrowed: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Scope {}
// SAFETY: as above.
unsafe impl Send for Scope {}

impl Scope {
    fn leave(&self) -> Finished {
        if self.inside.fetch_sub(1, scope_leave()) == 1 { self.empty.finish() } else { Finished::HandleHasIt }
    }

    fn child(&self, number: usize) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.borrowed[number].with_mut(|p| unsafe { *p = 1 });
        let _woke = self.leave();
    }
}

#[test]
fn an_owner_sees_what_every_child_did() {
    check(ALL, || {
        let scope = Arc::new(Scope {
            inside: AtomicUsize::new(3),
            empty: JoinWord::default(),
            owner: Saved::default(),
            borrowed: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let child = |number| {
            let scope = scope.clone();
            go(move || scope.child(number))
        };
        let children = [child(0), child(1)];
        assert_ne!(scope.leave(), Finished::Woke, "the owner waits only after it has left");
        let mut waits = false;
        if !scope.empty.is_done() {
            scope.owner.save();
            waits = scope.empty.register(&scope.owner);
        }
        if waits {
            // Its wake is the children's end; after it the owner runs where the waker was.
            children.into_iter().for_each(|child| child.join().unwrap());
            assert!(scope.empty.is_done(), "nobody told the owner");
        }
        assert_eq!(scope.inside.load(Ordering::Relaxed), 0, "the owner goes on while a child lives");
        // SAFETY: as above. The owner frees what they borrowed: it must come after all that they did.
        let sum: u32 =
            scope.borrowed.iter().map(|b| b.with_mut(|p| unsafe { std::mem::take(&mut *p) })).sum();
        assert_eq!(sum, 2);
    });
}
