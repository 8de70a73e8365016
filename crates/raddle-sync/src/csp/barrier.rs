//! Owns: `Barrier`, which its members wait at for each other, and which one may join and leave.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a member that waits twice: `sync` takes `&mut self`.

use super::chan::after;
use super::late::{self, Late, Who};
use raddle_core::region;
use raddle_core::wait::park;
use raddle_core::wait::{CallOn, Subject, Thing, Wait, WaitReason};
use raddle_core::worker::choice::{counted_point, point};
use raddle_protocol::protocol::barrier::{self, Phase, WaitNode};
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Inner(barrier::Barrier<Who>);

// SAFETY: places are touched by the one who waits there, and then by whoever completes its phase.
unsafe impl Sync for Inner {}
// SAFETY: nothing in it is tied to a thread.
unsafe impl Send for Inner {}

const SYNC: CallOn<Inner> = CallOn::new("csp::Barrier::sync", WaitReason::Barrier);

impl Subject for Inner {
    const KIND: &'static str = "barrier";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        each(Thing::shared(Inner::KIND, self));
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "{} of {} members have not come", self.0.missing(), self.0.members())
    }
}

/// One membership of a barrier. All members wait in [`sync`](Self::sync) until each has come.
///
/// [`enrol`](Self::enrol) makes a further membership, to be given to another process; dropping one resigns it, so that
/// a member that ends, even by a panic, holds nobody up.
///
/// ```
/// use raddle::csp::{self, Barrier};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let steps = [const { AtomicU32::new(0) }; 3];
/// csp::scope(|s| {
///     let first = Barrier::new();
///     for mut member in (0..4).map(|_| first.enrol()) {
///         let steps = &steps;
///         s.spawn(move || {
///             for step in steps {
///                 step.fetch_add(1, Ordering::Relaxed);
///                 member.sync();
///                 assert_eq!(step.load(Ordering::Relaxed), 4);
///             }
///         });
///     }
/// });
/// ```
pub struct Barrier {
    inner: Arc<Inner>,
    /// It has arrived, and given up waiting for the others, in the phase of this number.
    arrived: Option<(Arc<Late>, Phase)>,
}

impl Barrier {
    /// A barrier with one member, who has it.
    #[allow(clippy::new_without_default, reason = "a default that can hold others up is none")]
    pub fn new() -> Barrier {
        Barrier::member(Arc::new(Inner(barrier::Barrier::new())))
    }

    /// One more member, for whom the others wait from now on.
    #[must_use = "a membership that is dropped has resigned"]
    pub fn enrol(&self) -> Barrier {
        self.inner.0.enrol();
        Barrier::member(self.inner.clone())
    }

    fn member(inner: Arc<Inner>) -> Barrier {
        Barrier { inner, arrived: None }
    }

    /// How many members there are.
    pub fn members(&self) -> usize {
        // 31 bits.
        self.inner.0.members() as usize
    }

    /// Waits until all members have come here. What each did before, all see after.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[track_caller]
    pub fn sync(&mut self) {
        counted_point("csp::Barrier::sync");
        if region::is_in_one() {
            return self.sync_in_region(Location::caller());
        }
        let shown = Wait::on(const { &SYNC }, &*self.inner, Location::caller());
        let _shown = shown.show();
        if let Some((late, _)) = &self.arrived {
            // No region: nothing else ends it.
            late.wait(SYNC.call(), None);
            self.arrived = None;
            return;
        }
        let place = WaitNode::new(Who::Frame(Cell::new(std::ptr::null_mut())));
        let place: *mut WaitNode<Who> = std::ptr::from_ref(&place).cast_mut();
        let inner: *const Inner = &raw const *self.inner;
        park::wait_registered(SYNC.call(), |header| {
            // SAFETY: the caller's own place, which nobody sees yet.
            if let Who::Frame(who) = &unsafe { &*place }.who {
                who.set(header);
            }
            // SAFETY: this member keeps the barrier, at least until it is woken.
            let barrier = &unsafe { &*inner }.0;
            // SAFETY: the place is in the caller's frame, which stays until it is released.
            match unsafe { barrier.arrive(place) } {
                None => true,
                Some(released) => {
                    // All but the caller, who just goes on. From the last wake on the barrier may be gone.
                    released.filter(|other| *other != place).for_each(wake);
                    false
                }
            }
        });
    }

    /// As [`sync`](Self::sync), for at most until `deadline`; false if some have not come by then. The caller has come
    /// all the same: the others will not wait for it, and its next `sync` is for the end of this phase.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    ///
    /// ```
    /// use raddle::csp::{self, Barrier};
    /// use std::time::Duration;
    /// let mut barrier = Barrier::new();
    /// let mut other = barrier.enrol();
    /// assert!(!barrier.sync_timeout(Duration::from_millis(1)), "the other has not come");
    /// let other = csp::spawn(move || other.sync());
    /// barrier.sync();
    /// other.join().unwrap();
    /// ```
    #[track_caller]
    pub fn sync_deadline(&mut self, deadline: Instant) -> bool {
        counted_point("csp::Barrier::sync_deadline");
        let came = self.sync_until(Some(deadline), Location::caller());
        if !came {
            region::check();
        }
        came
    }

    /// As [`sync`](Self::sync), for a caller that may be cancelled. It has come all the same.
    #[cold]
    #[track_caller]
    fn sync_in_region(&mut self, site: &'static Location<'static>) {
        while !self.sync_until(None, site) {
            region::check();
        }
    }

    #[track_caller]
    fn sync_until(&mut self, deadline: Option<Instant>, site: &'static Location<'static>) -> bool {
        // Before anything is in a list that a panic would leave there.
        park::caller(SYNC.name());
        let shown = Wait::on(const { &SYNC }, &*self.inner, site);
        let _shown = shown.show();
        if self.arrived.is_none() {
            let late = Arc::new(Late::default());
            let place = late.place();
            let phase = self.inner.0.phase();
            // SAFETY: a new place, which lives until it has been taken out of the list and dropped.
            let released = unsafe { self.inner.0.arrive(place) };
            self.arrived = Some((late, phase));
            released.into_iter().flatten().for_each(wake);
        }
        let came = self.arrived.as_ref().is_none_or(|(late, _)| late.wait(SYNC.call(), deadline));
        if came {
            self.arrived = None;
        }
        came
    }

    /// As [`sync_deadline`](Self::sync_deadline), `timeout` from now.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn sync_timeout(&mut self, timeout: Duration) -> bool {
        self.sync_deadline(after(timeout))
    }
}

fn wake(place: *mut WaitNode<Who>) {
    // SAFETY: who completes a phase wakes each that was in its list, once. Nobody who has come gives up for good.
    unsafe { late::end(place) };
}

impl Drop for Barrier {
    fn drop(&mut self) {
        point("csp::Barrier::drop");
        let released = match &self.arrived {
            Some((_, phase)) => self.inner.0.resign_arrived(*phase),
            None => self.inner.0.resign(),
        };
        released.into_iter().flatten().for_each(wake);
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("members", &self.members()).finish_non_exhaustive()
    }
}
