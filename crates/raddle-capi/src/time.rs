//! Owns: times as numbers of nanoseconds; sleeping.
//! May use: `fault`, `raddle`, `raddle-core`.
//! Never: the time of day.

use crate::fault::{Fault, entry};
use raddle_core::choice::now;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// When the clock of the interface began: at its first use. By a seed time stands still, and so does this.
fn beginning() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(now)
}

/// As `raddle_now` tells it.
pub(crate) fn number(instant: Instant) -> i64 {
    let begun = beginning();
    match instant.checked_duration_since(begun) {
        Some(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        None => -i64::try_from(begun.duration_since(instant).as_nanos()).unwrap_or(i64::MAX),
    }
}

/// The instant of a number; none if it is after the end of time.
fn instant(number: i64) -> Option<Instant> {
    let span = Duration::from_nanos(number.unsigned_abs());
    if number < 0 { beginning().checked_sub(span) } else { beginning().checked_add(span) }
}

/// A time-out: negative ones never end.
pub(crate) fn span(timeout_ns: i64) -> Option<Duration> {
    u64::try_from(timeout_ns).ok().map(Duration::from_nanos)
}

/// When a time-out ends, if it does.
pub(crate) fn deadline(timeout_ns: i64) -> Option<Instant> {
    span(timeout_ns).and_then(|span| now().checked_add(span))
}

#[unsafe(no_mangle)]
extern "C" fn raddle_now() -> i64 {
    number(now())
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sleep(timeout_ns: i64) -> c_int {
    entry(|| {
        raddle::thread::sleep(span(timeout_ns).ok_or(Fault::Invalid)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn raddle_sleep_until(when: i64) -> c_int {
    entry(|| {
        raddle::thread::sleep_until(instant(when).ok_or(Fault::Invalid)?);
        Ok(())
    })
}
