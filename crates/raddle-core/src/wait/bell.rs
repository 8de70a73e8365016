//! Owns: `Bell`: waiting, with a deadline or until one is cancelled, for something that wakes a header.
//! May use: `raddle-protocol`.
//! Never: the word in which it is registered.
//!
//! A join word wakes the header that it finds. One who may go before that has a bell registered in its place: a header
//! whose wake *selects* the wait, which a deadline or a cancellation may have done before.
//!
//! | whoever waits | whoever wakes |
//! |---|---|
//! | registers the bell; waits | takes the bell out of the word |
//! | over: waits until it has been rung | selects; says *rung*; wakes |
//! | given up: takes the bell out of the word; if it is too late, waits until it has been rung | |
//!
//! So the frame stays until *rung*, after which nobody looks at it but by the right to wake. Between taking the bell
//! and saying so there are a few instructions, and no switch.

use super::waiter::{Outcome, Waiter, WakeRight};
use raddle_protocol::call::WaitCall;
use raddle_protocol::header::{Header, Kind};
use raddle_protocol::prim;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// See the module. In the frame of the one who waits.
#[repr(C)]
pub(crate) struct Bell {
    header: Header,
    waiter: *const Waiter,
    rung: AtomicBool,
}

impl Bell {
    fn new(waiter: &Waiter) -> Bell {
        Bell { header: Header::acting(Kind::Bell, 0, Bell::ring), waiter, rung: AtomicBool::new(false) }
    }

    fn header(&self) -> *mut Header {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// `header` begins a bell whose owner has not seen it rung, and this is its one ring.
    unsafe fn ring(header: *mut Header) {
        // SAFETY: its owner stays until it is rung.
        let bell = unsafe { &*header.cast::<Bell>() };
        // SAFETY: as above.
        let right = unsafe { &*bell.waiter }.try_select(0);
        // Release pairs with the acquire in `wait_loosely`: what was done before the wake is seen. From here on the
        // frame may go, unless it waits.
        bell.rung.store(true, Ordering::Release);
        right.into_iter().for_each(WakeRight::wake);
    }
}

/// Waits until whoever got the header by `register` wakes it. False if the deadline passed first, or the caller was
/// cancelled. `register` says whether there is anything to wait for, `withdraw` whether nobody will wake it.
#[track_caller]
pub(crate) fn wait_loosely(
    call: &'static WaitCall,
    deadline: Option<Instant>,
    register: impl FnOnce(*mut Header) -> bool,
    withdraw: impl FnOnce(*mut Header) -> bool,
) -> bool {
    let waiter = Waiter::new(call);
    let bell = Bell::new(&waiter);
    if !register(bell.header()) {
        return true;
    }
    if waiter.wait(deadline) == Outcome::Expired && withdraw(bell.header()) {
        return false;
    }
    // Acquire pairs with the release in `ring`.
    (0..).take_while(|_| !bell.rung.load(Ordering::Acquire)).for_each(prim::give_way);
    true
}
