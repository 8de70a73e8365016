//! Owns: `Late`, one who waits with a deadline in a list that it cannot leave; and `Who`, whom such a list wakes.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a list; those are the protocols'.
//!
//! A barrier and a claim keep those who wait in lists that only whoever completes the phase, or holds the claim, takes
//! apart. So the place of one with a deadline lies on the heap, stays in the list when the deadline has passed, and is
//! freed by whoever comes to it. That one *gives*; the one who waits, when its deadline has passed, *gives up*; a lock
//! decides who was first.
//!
//! | `given` | `gone` | meaning |
//! |---|---|---|
//! | no | no | waited for, or to be waited for again |
//! | yes | no | its turn has come |
//! | no | yes | nobody will wait: what is given goes to the next |

use raddle_core::wait::{WaitCall, Waiter, WakeRight};
use raddle_core::worker;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::barrier::WaitNode;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Whom to wake.
pub(super) enum Who {
    /// One whose frame the place lies in.
    Frame(Cell<*mut Header>),
    /// One who may have given up. The place is a box of its own.
    Late(Arc<Late>),
}

/// One who waits with a deadline.
#[derive(Default)]
pub(super) struct Late(Mutex<LateState>);

#[derive(Default)]
struct LateState {
    given: bool,
    gone: bool,
    /// The wait that is under way. It leaves before its frame goes.
    waiter: Option<NonNull<Waiter>>,
}

// SAFETY: a waiter may be selected from any thread, under the lock that it was shown under.
unsafe impl Send for LateState {}

impl Late {
    fn lock(&self) -> MutexGuard<'_, LateState> {
        // Nothing inside panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place on the heap for it. Whoever takes it out of its list [ends](end) it.
    pub(super) fn place(self: &Arc<Late>) -> *mut WaitNode<Who> {
        Box::into_raw(Box::new(WaitNode::new(Who::Late(self.clone()))))
    }

    /// Waits until it is given, at most until `deadline`, or until the caller is cancelled; true if it was. May be
    /// called again if not.
    ///
    /// # Panics
    /// Inside a task.
    #[track_caller]
    pub(super) fn wait(&self, call: &'static WaitCall, deadline: Option<Instant>) -> bool {
        let waiter = Waiter::new(call);
        let mut state = self.lock();
        if !state.given {
            state.waiter = Some(NonNull::from(&waiter));
            drop(state);
            waiter.wait(deadline);
            state = self.lock();
            state.waiter = None;
        }
        state.given
    }

    /// Says that nobody will wait any more. False if it was given at the last moment.
    pub(super) fn give_up(&self) -> bool {
        let mut state = self.lock();
        state.gone = !state.given;
        state.gone
    }

    /// Its turn has come. False if it has given up.
    fn give(&self) -> bool {
        let mut state = self.lock();
        if state.gone {
            return false;
        }
        state.given = true;
        // SAFETY: it is shown here, under the lock.
        let right = state.waiter.take().and_then(|waiter| unsafe { waiter.as_ref() }.try_select(0));
        drop(state);
        right.into_iter().for_each(WakeRight::wake);
        true
    }
}

/// Wakes the one at `place`, or tells that it has given up: then false.
///
/// # Safety
/// The caller has taken the place out of its list, and uses it no more.
pub(super) unsafe fn end(place: *mut WaitNode<Who>) -> bool {
    // SAFETY: it is there: in the frame of one who waits for this, or on the heap.
    match &unsafe { &*place }.who {
        Who::Frame(header) => {
            // SAFETY: it waits, and this is its one wake.
            unsafe { worker::wake(header.get()) };
            true
        }
        Who::Late(late) => {
            let late = late.clone();
            // SAFETY: it was made by `Late::place`, and is in no list any more.
            drop(unsafe { Box::from_raw(place) });
            late.give()
        }
    }
}
