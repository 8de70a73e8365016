//! Owns: which calls of the world take long.
//! May use: nothing.
//! Never: a clock read for most calls of what is short.
//!
//! A call is one step of a process, however long it takes: nobody is taken off, and no boundary comes meanwhile. So who
//! waits behind it should go elsewhere before it begins, and who called has had its turn when it ends. What took long
//! the last time is taken to be long again; of what did not, one call in some is measured. (PERF: bench `matrices`,
//! pipelines whose stages call BLAS for 300 us: on two workers the product took 0.85 of one worker's time and the
//! factors 1.0, and take 0.53 and 0.57 so.)

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// From here on a call is long: much more than another worker needs to take what waits.
const LONG_US: u32 = 20;
/// Of short calls one in so many is measured.
const MEASURED: u32 = 16;
/// Two routines may share a place: then the one's time is taken for the other's.
const PLACES: usize = 64;
/// A place has the time, in microseconds, above so many bits; in them, calls until the next that is measured.
const COUNT_BITS: u32 = 8;

/// How long calls took, of one worker.
pub(crate) struct LongCalls([AtomicU32; PLACES]);

impl Default for LongCalls {
    fn default() -> Self {
        LongCalls([const { AtomicU32::new(0) }; PLACES])
    }
}

impl LongCalls {
    /// Calls, `before` before it if it will take long. Gives whether it did, as far as that was measured.
    #[inline]
    pub(crate) fn call<R>(&self, number: i32, before: impl FnOnce(), call: impl FnOnce() -> R) -> (R, bool) {
        let place = &self.0[number as usize % PLACES];
        // Relaxed: a guess, from which nothing follows but who runs where.
        let seen = place.load(Ordering::Relaxed);
        let is_long = seen >> COUNT_BITS >= LONG_US;
        if !is_long && seen & ((1 << COUNT_BITS) - 1) != 0 {
            place.store(seen - 1, Ordering::Relaxed);
            return (call(), false);
        }
        if is_long {
            before();
        }
        let begun = Instant::now();
        let done = call();
        let us = begun.elapsed().as_micros().min(u128::from(u32::MAX >> COUNT_BITS)) as u32;
        place.store(us << COUNT_BITS | (MEASURED - 1), Ordering::Relaxed);
        (done, us >= LONG_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn what_took_long_is_told_before_it_begins_again() {
        let (calls, told) = (LongCalls::default(), Cell::new(0));
        let call = |number, long: bool| {
            let body = || {
                if long {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            calls.call(number, || told.set(told.get() + 1), body).1
        };
        assert!(call(1, true));
        assert_eq!(told.get(), 0, "nobody could know");
        assert!(call(1, true));
        call(1, false);
        assert_eq!(told.get(), 2);
        // Another one, and the same one now that it is short.
        for _ in 0..3 * MEASURED {
            call(2, false);
            call(1, false);
        }
        assert_eq!(told.get(), 2);
        // It is long again: one of the next is measured.
        for _ in 0..MEASURED {
            call(1, true);
        }
        call(1, true);
        assert!(told.get() > 2);
    }
}
