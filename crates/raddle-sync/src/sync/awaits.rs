//! Owns: how a future waits in the list of a semaphore: `PermitSleeper` and `AcquireFuture`.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: a permit lost: what a future was given and has not looked at it gives back.
//!
//! Those who wait by a waker stand in the list among processes and OS threads. All that two sides touch of such a one
//! is touched under the lock of the list, but for the waker, which [`Awaiting`] gives to whoever ends the wait. New in
//! the protocol is that one is dropped in the list, and may have been served before: `SemaphoreWord::withdraw`. The
//! model is `crates/raddle-protocol/tests/loom/semaphore.rs`.

use super::semaphore::{AcquireError, Permit, Semaphore};
use super::sleepers::Timed;
use crate::host::choice::{count_in_task, point};
use crate::host::{Awaiting, WaitCall, WakeRight};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::semaphore::{Refused, SemaphoreWord};
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};
use raddle_protocol::protocol::waitlist::WaitEntry;
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// One who waits for permits.
pub(super) enum PermitSleeper {
    /// A process, or an OS thread.
    Timed(Timed),
    /// A future.
    Polled(PolledSleeper),
}

/// What is known of a future in the list, under the lock of the list.
pub(super) struct PolledSleeper {
    header: Cell<*mut Header>,
    selected: Cell<Option<u32>>,
}

impl PermitSleeper {
    /// As [`Timed::until`].
    #[track_caller]
    pub(super) fn until(call: &'static WaitCall, deadline: Option<Instant>) -> Self {
        PermitSleeper::Timed(Timed::until(call, deadline))
    }

    fn polled(&self) -> Option<&PolledSleeper> {
        match self {
            PermitSleeper::Polled(polled) => Some(polled),
            PermitSleeper::Timed(_) => None,
        }
    }

    fn selected(&self) -> Option<u32> {
        self.polled()?.selected.get()
    }
}

// SAFETY: a timed one is selected as that is; a polled one is touched under the lock of the list.
unsafe impl Sleeper for PermitSleeper {
    type Right = WakeRight;

    fn new(call: &'static WaitCall) -> Self {
        PermitSleeper::Timed(Timed::new(call))
    }

    fn wait(&self) {
        if let PermitSleeper::Timed(timed) = self {
            timed.wait();
        }
    }

    fn select(&self) -> WakeRight {
        self.try_select(0).expect("a wait without a deadline is ended once")
    }

    fn wake(right: WakeRight) {
        right.wake();
    }
}

impl TimedSleeper for PermitSleeper {
    fn wait_timed(&self) -> Option<u32> {
        match self {
            PermitSleeper::Timed(timed) => timed.wait_timed(),
            PermitSleeper::Polled(polled) => polled.selected.get(),
        }
    }

    fn try_select(&self, outcome: u32) -> Option<WakeRight> {
        match self {
            PermitSleeper::Timed(timed) => timed.try_select(outcome),
            PermitSleeper::Polled(polled) => {
                polled.selected.set(Some(outcome));
                // SAFETY: it has been taken out of the list by whoever selects it, who alone may wake it.
                Some(unsafe { WakeRight::of(polled.header.get()) })
            }
        }
    }

    fn give_up(&self) {
        if let PermitSleeper::Timed(timed) = self {
            timed.give_up();
        }
    }

    fn discard(self) {
        if let PermitSleeper::Timed(timed) = self {
            timed.discard();
        }
    }
}

/// The place of a future in the list.
struct ListPlace(WaitEntry<PermitSleeper>);

// SAFETY: what is in it is touched under the lock of the list, or by one who has it alone.
unsafe impl Send for ListPlace {}
// SAFETY: as above.
unsafe impl Sync for ListPlace {}

impl ListPlace {
    fn wanting(count: usize) -> ListPlace {
        let polled = PolledSleeper { header: Cell::new(std::ptr::null_mut()), selected: Cell::new(None) };
        ListPlace(WaitEntry::new(PermitSleeper::Polled(polled), count))
    }
}

type WaitingAcquire = Arc<Awaiting<ListPlace>>;

/// Permits that are waited for; from [`Semaphore::acquire_async`].
///
/// Dropped before it was ready, it has taken nothing, and has lost its place in the queue: permits that it was given
/// already go to the next who waits.
#[must_use = "a future does nothing until it is awaited"]
pub struct AcquireFuture<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    site: &'static Location<'static>,
    state: AcquireState,
}

enum AcquireState {
    /// Has not been polled.
    New,
    Waits(WaitingAcquire),
    Over,
}

impl<'a> AcquireFuture<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, count: usize, site: &'static Location<'static>) -> Self {
        AcquireFuture { semaphore, count, site, state: AcquireState::New }
    }

    fn begin(&mut self, context: &Context<'_>) -> Option<Result<(), Refused>> {
        match self.semaphore.word.try_take(self.count) {
            Err(Refused::TooFew) => {}
            taken => return Some(taken),
        }
        let waiting = Awaiting::by(context.waker().clone(), None, || ListPlace::wanting(self.count));
        let place = &waiting.entry.0;
        let polled = place.sleeper.polled().expect("it was made so");
        polled.header.set(waiting.queued());
        let taken = self.semaphore.word.take_or_enter(place);
        if taken.is_some() {
            // SAFETY: it has not been put into the list.
            unsafe { waiting.take_back() };
        } else {
            self.state = AcquireState::Waits(waiting);
        }
        taken
    }

    fn end(&mut self, taken: Result<(), Refused>) -> Poll<Result<Permit<'a>, AcquireError>> {
        self.state = AcquireState::Over;
        let taken = taken.map(|()| self.semaphore.permit(self.count, self.site));
        Poll::Ready(taken.map_err(|_| AcquireError::closed()))
    }
}

/// What it was selected with. As long as it was not, from now on it waits by the waker of `context`.
fn look_or_wait(
    word: &SemaphoreWord<PermitSleeper>,
    waiting: &WaitingAcquire,
    context: &Context<'_>,
) -> Option<u32> {
    let (own, place) = (context.waker(), &waiting.entry.0);
    let (selected, stays) = word.look(place, |sleeper| {
        let selected = sleeper.selected();
        // SAFETY: the list is locked; and who was not selected is in it.
        let stays = selected.is_some() || unsafe { waiting.will_wake(own) };
        (selected, stays)
    });
    if stays {
        return selected;
    }
    let waker = own.clone();
    let (selected, unused) = word.look(place, |sleeper| match sleeper.selected() {
        // SAFETY: as above.
        None => (None, unsafe { waiting.wait_by(waker) }),
        selected => (selected, Some(waker)),
    });
    // Not while the list is locked: it may be the last of its task.
    drop(unused);
    selected
}

impl<'a> Future for AcquireFuture<'a> {
    type Output = Result<Permit<'a>, AcquireError>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let taken = match &this.state {
            AcquireState::New => {
                point("Semaphore::acquire_async");
                this.begin(context)
            }
            AcquireState::Waits(waiting) => {
                let selected = look_or_wait(&this.semaphore.word, waiting, context);
                selected.map(SemaphoreWord::<PermitSleeper>::outcome)
            }
            AcquireState::Over => panic!("an AcquireFuture was polled after it was ready"),
        };
        taken.map_or(Poll::Pending, |taken| this.end(taken))
    }
}

impl Drop for AcquireFuture<'_> {
    fn drop(&mut self) {
        let AcquireState::Waits(waiting) = &self.state else { return };
        let place = &waiting.entry.0;
        if self.semaphore.word.withdraw(place) {
            // SAFETY: it has been taken out of the list by us: nobody has selected it.
            unsafe { waiting.take_back() };
            return;
        }
        // What was left there was left under the lock of the list, in which this has been since.
        let selected = place.sleeper.selected().map(SemaphoreWord::<PermitSleeper>::outcome);
        if selected == Some(Ok(())) {
            self.semaphore.word.give(self.count);
        }
    }
}

impl fmt::Debug for AcquireFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcquireFuture").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Semaphore {
    /// As [`acquire`](Self::acquire), for a task, or whatever polls futures: waits by a waker. Processes, threads and
    /// tasks stand in one queue.
    ///
    /// ```
    /// use raddle::sync::{Arc, Semaphore};
    /// use raddle::task;
    ///
    /// let turns = Arc::new(Semaphore::new(1));
    /// let held = turns.acquire()?;
    /// let other = turns.clone();
    /// let waits = task::spawn(async move { other.acquire_async().await.map(|permit| permit.count()) });
    /// drop(held);
    /// assert_eq!(task::block_on(waits).unwrap(), Ok(1));
    /// # Ok::<(), raddle::sync::AcquireError>(())
    /// ```
    ///
    /// # Errors
    /// The future's: if the semaphore is closed, or is while it waits.
    #[track_caller]
    pub fn acquire_async(&self) -> AcquireFuture<'_> {
        self.acquire_many_async(1)
    }

    /// As [`acquire_async`](Self::acquire_async), for `count` permits at once.
    ///
    /// # Errors
    /// As [`acquire_async`](Self::acquire_async).
    #[track_caller]
    pub fn acquire_many_async(&self, count: usize) -> AcquireFuture<'_> {
        AcquireFuture::new(self, count, Location::caller())
    }
}
