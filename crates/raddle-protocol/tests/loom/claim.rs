//! The claim: one at a time, and everybody in the end.

use crate::parked::Parked;
use crate::{check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Claim, Claimed, WaitNode};
use std::sync::Arc;

struct Shared {
    claim: Claim<Parked>,
    uses: UnsafeCell<u32>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    /// As `csp::Shared::claim`, and a use.
    fn use_it(&self) {
        if !self.claim.try_claim() {
            // Leaked, as frames of a model live to its end.
            let place: &'static WaitNode<Parked> = Box::leak(Box::new(WaitNode::new(Parked::default())));
            let address = std::ptr::from_ref(place).cast_mut();
            // SAFETY: it is leaked.
            place.who.wait(|| unsafe { self.claim.claim(address) } == Claimed::Later);
        }
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.uses.with_mut(|p| unsafe { *p += 1 });
        if let Some(next) = self.claim.release() {
            // SAFETY: it waits, and the frames of a model live to its end.
            unsafe { &*next }.who.wake();
        }
    }
}

#[test]
fn three_use_it_one_at_a_time() {
    check(Some(2), || {
        let shared = Arc::new(Shared { claim: Claim::new(), uses: UnsafeCell::new(0) });
        let user = || {
            let shared = shared.clone();
            go(move || shared.use_it())
        };
        let users = [user(), user()];
        shared.use_it();
        users.into_iter().for_each(|user| user.join().unwrap());
        // SAFETY: as above.
        assert_eq!(shared.uses.with(|p| unsafe { *p }), 3);
    });
}
