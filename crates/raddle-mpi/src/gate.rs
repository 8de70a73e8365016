//! Owns: `Arrival`: a value that comes once, for which a process or an OS thread waits, up to a time.
//! May use: `raddle-core`.
//! Never: a wait without an end.

use raddle_core::door::futex::{self, WaitOptions};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A value that comes once.
pub(crate) struct Arrival<T> {
    /// 0 until the value is there, then 1.
    word: AtomicU32,
    value: Mutex<Option<T>>,
}

/// What panics under a lock here leaves nothing half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// After so long from now; for ever, if that is beyond what the clock can tell.
pub(crate) fn after(span: Duration) -> Instant {
    const EVER: Duration = Duration::from_secs(1 << 32);
    Instant::now() + span.min(EVER)
}

impl<T> Arrival<T> {
    pub(crate) fn new() -> Arrival<T> {
        Arrival { word: AtomicU32::new(0), value: Mutex::new(None) }
    }

    pub(crate) fn set(&self, value: T) {
        *lock(&self.value) = Some(value);
        // Release pairs with the acquire in `wait`.
        self.word.store(1, Ordering::Release);
        futex::wake(&raw const self.word, u32::MAX, futex::ANY);
    }

    /// The value, if it is there by then.
    pub(crate) fn wait(&self, until: Instant) -> Option<T> {
        // Acquire pairs with the release in `set`.
        while self.word.load(Ordering::Acquire) == 0 && Instant::now() < until {
            futex::wait(&self.word, 0, &WaitOptions { until: Some(until), ..WaitOptions::default() });
        }
        lock(&self.value).take()
    }
}
