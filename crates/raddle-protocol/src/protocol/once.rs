//! Owns: `OnceWord`: whether something that is done once has been done, and the stack of those who wait for it.
//! May use: `call`, `order`, `prim`, `loom`.
//! Never: what is done.
//!
//! The word is a state in the lowest two bits and, above it, the address of the last who came to wait.
//!
//! | state | waiters | meaning | who leaves it |
//! |---|---|---|---|
//! | `INCOMPLETE` | none or some | not begun; only `wait` waits then | `begin`, `enqueue` |
//! | `POISONED` | none or some | an attempt has panicked | `begin` by one who does not mind, `enqueue` |
//! | `RUNNING` | none or some | somebody is at it | the one who is: `finish`; others: `enqueue` |
//! | `COMPLETE` | none | done, for ever | nobody |
//!
//! `finish` takes the whole stack with one swap and wakes all of it: to `COMPLETE` they go on, to `POISONED` they look
//! again.

use crate::call::WaitCall;
use crate::order;
use crate::prim::{AtomicPtr, Link, Ordering, const_fn};
use crate::protocol::sleeper::Sleeper;

const INCOMPLETE: usize = 0;
const POISONED: usize = 1;
const RUNNING: usize = 2;
const COMPLETE: usize = 3;
const STATE: usize = 3;

/// One who waits for the end; lies in its frame.
#[repr(align(8))]
pub struct WaitNode<S> {
    next: Link<WaitNode<S>>,
    sleeper: S,
}

/// The word.
pub struct OnceWord<S>(AtomicPtr<WaitNode<S>>);

// SAFETY: nodes belong to threads that sleep, and are shown to one who selects their sleepers.
unsafe impl<S: Sleeper> Sync for OnceWord<S> {}
// SAFETY: as above.
unsafe impl<S: Sleeper> Send for OnceWord<S> {}

/// What the caller of `begin` must do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum BeginOutcome {
    /// It is done.
    Complete,
    /// Do it, then `finish`. An attempt before has panicked if `poisoned`.
    Yours {
        /// Whether an earlier attempt has failed.
        poisoned: bool,
    },
    /// An attempt has panicked, and the caller minds.
    Poisoned,
}

#[inline]
fn state<S>(word: *mut WaitNode<S>) -> usize {
    word.addr() & STATE
}

impl<S: Sleeper> OnceWord<S> {
    const_fn! {
        /// Not begun.
        #[inline]
        pub fn new() -> Self {
            OnceWord(AtomicPtr::new(std::ptr::null_mut()))
        }
    }

    const_fn! {
        /// Done from the start.
        #[allow(dead_code, reason = "the models begin at the beginning")]
        #[inline]
        pub fn complete() -> Self {
            OnceWord(AtomicPtr::new(std::ptr::without_provenance_mut(COMPLETE)))
        }
    }

    /// Whether it is done; after `true` the caller sees what was done.
    #[inline]
    pub fn is_complete(&self) -> bool {
        state(self.0.load(order::ONCE_SEE())) == COMPLETE
    }

    /// Whether somebody is at it, for looks that may be out of date at once.
    #[cfg_attr(loom, allow(dead_code, reason = "for reports"))]
    #[inline]
    pub fn is_running(&self) -> bool {
        state(self.0.load(Ordering::Relaxed)) == RUNNING
    }

    /// By one who has it alone.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        state(self.0.load(Ordering::Relaxed)) == POISONED
    }

    /// Waits until it is done, or is the caller's to do.
    #[cold]
    pub fn begin(&self, call: &'static WaitCall, forced: bool) -> BeginOutcome {
        loop {
            // Relaxed: what was done is seen by `is_complete`, what an attempt left by the exchange.
            let seen = self.0.load(Ordering::Relaxed);
            match state(seen) {
                COMPLETE if self.is_complete() => return BeginOutcome::Complete,
                POISONED if !forced => return BeginOutcome::Poisoned,
                RUNNING => self.wait_for_change(seen, call),
                before => {
                    let to = seen.map_addr(|addr| addr & !STATE | RUNNING);
                    if self.0.compare_exchange(seen, to, order::ONCE_BEGIN(), Ordering::Relaxed).is_ok() {
                        return BeginOutcome::Yours { poisoned: before == POISONED };
                    }
                }
            }
        }
    }

    /// Waits until it is done. False if an attempt has panicked, and the caller minds.
    #[cold]
    pub fn wait(&self, call: &'static WaitCall, forced: bool) -> bool {
        loop {
            let seen = self.0.load(order::ONCE_SEE());
            match state(seen) {
                COMPLETE => return true,
                POISONED if !forced => return false,
                _ => self.wait_for_change(seen, call),
            }
        }
    }

    #[inline]
    fn wait_for_change(&self, mut seen: *mut WaitNode<S>, call: &'static WaitCall) {
        let node = WaitNode { next: Link::new(), sleeper: S::new(call) };
        let before = state(seen);
        while state(seen) == before {
            node.next.set(seen.map_addr(|addr| addr & !STATE));
            let me = std::ptr::from_ref(&node).cast_mut().map_addr(|addr| addr | before);
            match self.0.compare_exchange(seen, me, order::ONCE_ENQUEUE(), Ordering::Relaxed) {
                Ok(_) => return node.sleeper.wait(),
                Err(now) => seen = now,
            }
        }
    }

    /// The attempt is over: done, or `poisoned`. By the one whose it was.
    #[inline]
    pub fn finish(&self, poisoned: bool) {
        let to = std::ptr::without_provenance_mut(if poisoned { POISONED } else { COMPLETE });
        let mut at = self.0.swap(to, order::ONCE_FINISH()).map_addr(|addr| addr & !STATE);
        // SAFETY: one in the stack sleeps until it is selected, and the stack is ours alone.
        while let Some(node) = unsafe { at.as_ref() } {
            at = node.next.get();
            S::wake(node.sleeper.select());
        }
    }

    /// Forgets that it was done. By one who has it alone.
    #[inline]
    pub fn reset(&mut self) {
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// An attempt by one who has it alone has panicked.
    #[inline]
    pub fn poison(&mut self) {
        self.0.store(std::ptr::without_provenance_mut(POISONED), Ordering::Relaxed);
    }
}

#[allow(dead_code, reason = "a state is written only when it is left again")]
const _: () = assert!(INCOMPLETE == 0);
