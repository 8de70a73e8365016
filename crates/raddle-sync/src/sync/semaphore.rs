//! Owns: `Semaphore`, its permits and errors.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: passing one who has waited longer.

#[cfg(feature = "scheduler")]
use super::awaits::PermitSleeper;
use super::holders::{HolderPlace, Holders};
#[cfg(not(feature = "scheduler"))]
use super::sleepers::Timed as PermitSleeper;
use super::sleepers::deadline;
use crate::host::Held;
use crate::host::choice::{counted_look, counted_point, point, settle};
use crate::host::region;
use crate::host::{CallOn, Subject, Wait, WaitReason};
use raddle_protocol::protocol::semaphore::{PERMITS_MAX, Refused, SemaphoreWord};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// A counter of permits that are taken and given back; the names follow `tokio`'s.
///
/// First come, first served: who wants many permits is not passed by those who want few.
///
/// ```
/// use raddle::sync::{Semaphore, TryAcquireError};
///
/// let tables = Semaphore::new(2);
/// let both = tables.acquire_many(2)?;
/// assert_eq!(tables.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// drop(both);
/// assert_eq!(tables.available_permits(), 2);
/// # Ok::<(), raddle::sync::AcquireError>(())
/// ```
pub struct Semaphore {
    pub(super) word: SemaphoreWord<PermitSleeper>,
    holders: Holders,
}

const ACQUIRE: CallOn<Semaphore> = CallOn::new("Semaphore::acquire", WaitReason::Lock);

impl Subject for Semaphore {
    const KIND: &'static str = "semaphore";

    fn holders(&self, each: &mut dyn FnMut(Held)) {
        self.holders.each(each);
    }

    fn state(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "permits left: {}", self.available_permits())?;
        match self.holders.nameless() {
            0 => Ok(()),
            more => write!(out, ", {more} more have some"),
        }
    }
}

impl UnwindSafe for Semaphore {}
impl RefUnwindSafe for Semaphore {}

/// Some permits, which go back when this is dropped.
#[must_use = "if unused the permits go back at once"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    count: usize,
    holder: HolderPlace<'a>,
}

/// The semaphore has been closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

/// Why there are no permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// Too few now, or somebody waits for some.
    NoPermits,
    /// The semaphore has been closed.
    Closed,
}

impl Semaphore {
    /// At most so many permits.
    pub const MAX_PERMITS: usize = PERMITS_MAX;

    /// One with so many permits.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use]
    pub const fn new(permits: usize) -> Semaphore {
        assert!(permits <= PERMITS_MAX, "a semaphore with more permits than it can count");
        Semaphore { word: SemaphoreWord::new(permits), holders: Holders::new() }
    }

    /// Waits for one permit.
    ///
    /// # Errors
    /// If the semaphore is closed, or is while it waits.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn acquire(&self) -> Result<Permit<'_>, AcquireError> {
        self.acquire_many(1)
    }

    /// Waits for `count` permits at once.
    ///
    /// # Errors
    /// If the semaphore is closed, or is while it waits.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn acquire_many(&self, count: usize) -> Result<Permit<'_>, AcquireError> {
        counted_point("Semaphore::acquire");
        let site = Location::caller();
        let taken = match self.word.try_take(count) {
            Err(Refused::TooFew) => self.take_slow(count, None, site),
            taken => taken,
        };
        taken.map(|()| self.permit(count, site)).map_err(|_| AcquireError(()))
    }

    /// Takes one permit if that needs no wait.
    ///
    /// # Errors
    /// If there is none, somebody waits for some, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<Permit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `count` permits if that needs no wait.
    ///
    /// # Errors
    /// If there are too few, somebody waits for some, or the semaphore is closed.
    #[inline]
    #[track_caller]
    pub fn try_acquire_many(&self, count: usize) -> Result<Permit<'_>, TryAcquireError> {
        counted_point("Semaphore::try_acquire");
        self.word.try_take(count)?;
        Ok(self.permit(count, Location::caller()))
    }

    /// Waits for one permit, for at most `timeout`.
    ///
    /// # Errors
    /// If the time passes, or the semaphore is closed.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Permit<'_>, TryAcquireError> {
        self.acquire_many_timeout(1, timeout)
    }

    /// Waits for `count` permits at once, for at most `timeout`.
    ///
    /// # Errors
    /// If the time passes, or the semaphore is closed.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn acquire_many_timeout(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<Permit<'_>, TryAcquireError> {
        counted_point("Semaphore::acquire_timeout");
        let site = Location::caller();
        match self.word.try_take(count) {
            Err(Refused::TooFew) => self.take_slow(count, deadline(timeout), site)?,
            taken => taken?,
        }
        Ok(self.permit(count, site))
    }

    #[cold]
    #[track_caller]
    fn take_slow(
        &self,
        count: usize,
        until: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Result<(), Refused> {
        let wait = Wait::on(const { &ACQUIRE }, self, site);
        let _shown = wait.show();
        let taken = self.word.take_slow(count, PermitSleeper::until(ACQUIRE.call(), until));
        if taken == Err(Refused::TooFew) {
            region::check();
        }
        taken
    }

    #[inline]
    pub(super) fn permit(&self, count: usize, site: &'static Location<'static>) -> Permit<'_> {
        Permit { semaphore: self, count, holder: self.holders.note(site) }
    }

    /// Adds permits, and wakes those that wait for them.
    ///
    /// # Panics
    /// If there are more than [`MAX_PERMITS`](Self::MAX_PERMITS) then.
    #[track_caller]
    pub fn add_permits(&self, count: usize) {
        counted_point("Semaphore::add_permits");
        assert!(count <= PERMITS_MAX, "a semaphore with more permits than it can count");
        self.word.give(count);
        settle("Semaphore::add_permits");
    }

    /// As the drop of a [`Permit`], of permits that have no holder: the caller has them until then, and does not give
    /// way before.
    #[cfg(feature = "scheduler")]
    pub(crate) fn give_back(&self, count: usize) {
        point("Semaphore::release");
        self.word.give(count);
        settle("Semaphore::release");
    }

    /// How many permits there are now. May be out of date at once.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        counted_point("Semaphore::available_permits");
        self.word.permits()
    }

    /// Refuses every request from now on, those that wait included. Permits in use may still be given back.
    #[track_caller]
    pub fn close(&self) {
        counted_point("Semaphore::close");
        self.word.close();
        settle("Semaphore::close");
    }

    /// Whether it has been closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        counted_look("Semaphore::is_closed", || self.word.is_closed())
    }
}

impl AcquireError {
    #[cfg(feature = "scheduler")]
    pub(super) fn closed() -> AcquireError {
        AcquireError(())
    }
}

impl Permit<'_> {
    /// Drops this without giving the permits back.
    pub fn forget(self) {
        self.semaphore.holders.leave(self.holder);
        std::mem::forget(self);
    }

    /// How many permits these are.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        point("Semaphore::release");
        self.semaphore.holders.leave(self.holder);
        self.semaphore.word.give(self.count);
        settle("Semaphore::release");
    }
}

impl From<Refused> for TryAcquireError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::TooFew => TryAcquireError::NoPermits,
            Refused::Closed => TryAcquireError::Closed,
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Semaphore");
        out.field("permits", &self.word.permits()).field("closed", &self.word.is_closed()).finish()
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("count", &self.count).finish_non_exhaustive()
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::NoPermits => "too few permits are available",
            TryAcquireError::Closed => "the semaphore is closed",
        })
    }
}

impl std::error::Error for AcquireError {}
impl std::error::Error for TryAcquireError {}
