//! Owns: ends of a channel that several may use, one at a time: they are claimed.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: two who hold an end at once.
//!
//! A claim is handed over in the order in which it was asked for, so nobody starves. Who has claimed an end may use it
//! for as many communications as it likes, without anything in between.

use super::chan::after;
use super::late::{self, Late, Who};
use super::{Receiver, Sender};
use raddle_core::region;
use raddle_core::wait::park;
use raddle_core::wait::{CallOn, Held, Holder, Subject, Wait, WaitReason};
use raddle_core::worker::choice::{counted_point, point};
use raddle_protocol::protocol::barrier::WaitNode;
use raddle_protocol::protocol::claim::{Claim, Claimed as Word};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A channel end that several share; one at a time [claims](Self::claim) it.
///
/// ```
/// use raddle::csp::{self, Shared};
/// let (to, mut from) = csp::channel();
/// let to = Shared::new(to);
/// for n in 0..3 {
///     let to = to.clone();
///     csp::spawn(move || {
///         let mut claimed = to.claim();
///         claimed.send(n).unwrap();
///         claimed.send(n).unwrap();
///     });
/// }
/// drop(to);
/// let pairs: Vec<u32> = from.iter().collect();
/// assert_eq!(pairs.len(), 6);
/// assert!(pairs.chunks(2).all(|pair| pair[0] == pair[1]));
/// ```
pub struct Shared<E>(Arc<Inner<E>>);

/// A sender that several share.
pub type SharedSender<T> = Shared<Sender<T>>;
/// A receiver that several share.
pub type SharedReceiver<T> = Shared<Receiver<T>>;

const CLAIM: CallOn<Claimant> = CallOn::new("csp::Shared::claim", WaitReason::Lock);

/// Who has claimed an end, and so holds it.
struct Claimant(Holder);

impl Subject for Claimant {
    const KIND: &'static str = "claimed end";

    fn held(&self) -> Option<Held> {
        self.0.held()
    }
}

struct Inner<E> {
    claim: Claim<Who>,
    claimant: Claimant,
    end: UnsafeCell<E>,
}

// SAFETY: the end is touched by the holder of the claim only, who may be on another thread each time.
unsafe impl<E: Send> Sync for Inner<E> {}
// SAFETY: as above.
unsafe impl<E: Send> Send for Inner<E> {}

impl<E> Shared<E> {
    /// Shares `end`, to be used by whoever has claimed it.
    pub fn new(end: E) -> Self {
        Shared(Arc::new(Inner {
            claim: Claim::new(),
            claimant: Claimant(Holder::nobody()),
            end: UnsafeCell::new(end),
        }))
    }

    /// Waits for exclusive use of the end, which lasts until the returned guard is dropped.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[track_caller]
    pub fn claim(&self) -> Claimed<'_, E> {
        counted_point("csp::Shared::claim");
        if !self.0.claim.try_claim() {
            if region::is_in_one() {
                return self.claim_in_region(Location::caller());
            }
            let place = WaitNode::new(Who::Frame(Cell::new(std::ptr::null_mut())));
            let place: *mut WaitNode<Who> = std::ptr::from_ref(&place).cast_mut();
            let claim = &self.0.claim;
            let shown = Wait::on(const { &CLAIM }, &self.0.claimant, Location::caller());
            let _shown = shown.show();
            park::wait_registered(CLAIM.call(), |header| {
                // SAFETY: the caller's own place, which nobody sees yet.
                if let Who::Frame(who) = &unsafe { &*place }.who {
                    who.set(header);
                }
                // SAFETY: the place is in the caller's frame, which stays until it is the holder.
                unsafe { claim.claim(place) == Word::Later }
            });
        }
        self.0.claimant.0.note(Location::caller());
        Claimed(&self.0)
    }

    /// As [`claim`](Self::claim), for at most until `deadline`; `None` if it is not the caller's turn by then.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    ///
    /// ```
    /// use raddle::csp::Shared;
    /// use std::time::Duration;
    /// let shared = Shared::new(1);
    /// let claimed = shared.claim();
    /// assert!(shared.claim_timeout(Duration::from_millis(1)).is_none());
    /// drop(claimed);
    /// assert_eq!(*shared.claim_timeout(Duration::from_millis(1)).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn claim_deadline(&self, deadline: Instant) -> Option<Claimed<'_, E>> {
        if let Some(claimed) = self.try_claim() {
            return Some(claimed);
        }
        let claimed = self.claim_until(Some(deadline), Location::caller());
        if claimed.is_none() {
            region::check();
        }
        claimed
    }

    /// As [`claim`](Self::claim), for a caller that may be cancelled.
    #[cold]
    #[track_caller]
    fn claim_in_region(&self, site: &'static Location<'static>) -> Claimed<'_, E> {
        loop {
            if let Some(claimed) = self.claim_until(None, site) {
                return claimed;
            }
            region::check();
        }
    }

    #[track_caller]
    fn claim_until(
        &self,
        deadline: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Option<Claimed<'_, E>> {
        // Before anything is in a list that a panic would leave there.
        park::caller(CLAIM.name());
        let shown = Wait::on(const { &CLAIM }, &self.0.claimant, site);
        let _shown = shown.show();
        let late = Arc::new(Late::default());
        let place = late.place();
        // SAFETY: a new place, which lives until it has been taken out of the list and dropped.
        if unsafe { self.0.claim.claim(place) } == Word::Now {
            // SAFETY: it was made by `place`, and nobody has seen it.
            drop(unsafe { Box::from_raw(place) });
        } else if !late.wait(CLAIM.call(), deadline) && late.give_up() {
            return None;
        }
        self.0.claimant.0.note(site);
        Some(Claimed(&self.0))
    }

    /// As [`claim_deadline`](Self::claim_deadline), `timeout` from now.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn claim_timeout(&self, timeout: Duration) -> Option<Claimed<'_, E>> {
        self.claim_deadline(after(timeout))
    }

    /// The end, if nobody has claimed it.
    #[track_caller]
    pub fn try_claim(&self) -> Option<Claimed<'_, E>> {
        counted_point("csp::Shared::try_claim");
        // Not `then_some`: a guard that is made and dropped on a refusal would release what another holds.
        let claimed = self.0.claim.try_claim().then(|| Claimed(&self.0))?;
        self.0.claimant.0.note(Location::caller());
        Some(claimed)
    }
}

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

/// A guard that gives exclusive use of a shared end.
pub struct Claimed<'a, E>(&'a Inner<E>);

// SAFETY: a shared `Claimed` gives shared access to the end.
unsafe impl<E: Sync> Sync for Claimed<'_, E> {}

impl<E> Deref for Claimed<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        // SAFETY: the claim says that nobody else touches it.
        unsafe { &*self.0.end.get() }
    }
}

impl<E> DerefMut for Claimed<'_, E> {
    fn deref_mut(&mut self) -> &mut E {
        // SAFETY: the claim says that nobody else touches it.
        unsafe { &mut *self.0.end.get() }
    }
}

impl<E> Drop for Claimed<'_, E> {
    fn drop(&mut self) {
        point("csp::Claimed::drop");
        // One who has given up has not got it: then it is still this one's to release.
        while let Some(next) = self.0.claim.release() {
            // SAFETY: the claim was handed to it, and it is told once.
            if unsafe { late::end(next) } {
                return;
            }
        }
    }
}

impl<E> fmt::Debug for Shared<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Claimed<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claimed").finish_non_exhaustive()
    }
}
