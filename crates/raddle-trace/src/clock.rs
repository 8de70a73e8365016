//! Owns: the clock of a trace: the cheapest reliable one, and the conversion of its ticks to nanoseconds.
//! May use: `libc`.
//! Never: a counter that may stop or change its rate.
//!
//! Reading the counter takes 9 ns on a virtual machine, `clock_gettime` 21; at level 1 there is one reading per switch.
//! On x86-64 the counter is used if Linux itself uses it as its clock source, which it does only where the counter has
//! a constant rate, runs on in deep sleep and agrees between cores. On aarch64 it always does.
//!
//! No frequency is assumed. A [`Reading`] holds the ticks and two system clocks of one moment; a trace has one at its
//! beginning, one at its end and some between, and its reader interpolates.

use std::sync::OnceLock;

/// Ticks and the system's clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The trace's clock.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since 1970.
    pub realtime_ns: u64,
}

/// Where the ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The processor's counter.
    Counter,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    System,
}

impl Source {
    /// The best source on this machine.
    pub fn of_this_machine() -> Source {
        static SOURCE: OnceLock<Source> = OnceLock::new();
        *SOURCE.get_or_init(|| if counter_is_trusted() { Source::Counter } else { Source::System })
    }

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Source::Counter => "counter",
            Source::System => "clock_gettime",
        }
    }

    /// Reads it.
    #[inline(always)]
    pub fn ticks(self) -> u64 {
        match self {
            Source::Counter => counter(),
            Source::System => system_ns(libc::CLOCK_MONOTONIC),
        }
    }

    /// The cost of one reading in nanoseconds: the minimum of several tries.
    pub fn stamp_ns(self) -> f64 {
        const READINGS: u32 = 256;
        let one = || {
            let before = system_ns(libc::CLOCK_MONOTONIC);
            (0..READINGS).for_each(|_| {
                std::hint::black_box(self.ticks());
            });
            system_ns(libc::CLOCK_MONOTONIC).saturating_sub(before)
        };
        f64::from(u32::try_from((0..8).map(|_| one()).min().unwrap_or(0)).unwrap_or(0)) / f64::from(READINGS)
    }

    /// Reads all clocks at one moment: of several tries, the shortest.
    pub fn read(self) -> Reading {
        let one = || {
            let before = self.ticks();
            let (monotonic_ns, realtime_ns) =
                (system_ns(libc::CLOCK_MONOTONIC), system_ns(libc::CLOCK_REALTIME));
            let after = self.ticks();
            let took = after.wrapping_sub(before);
            (took, Reading { ticks: before.wrapping_add(took / 2), monotonic_ns, realtime_ns })
        };
        let tries = [one(), one(), one(), one(), one()];
        let best = tries.into_iter().min_by_key(|(took, _)| *took);
        best.map_or_else(|| one().1, |(_, reading)| reading)
    }
}

fn system_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that lives through the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn counter_is_trusted() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    source.is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable by every program on Linux.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

#[cfg(target_arch = "aarch64")]
fn counter_is_trusted() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    system_ns(libc::CLOCK_MONOTONIC)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_is_trusted() -> bool {
    false
}

/// Turns ticks into nanoseconds since the first of some readings.
#[derive(Clone, Debug)]
pub struct Scale {
    readings: Vec<Reading>,
}

impl Scale {
    /// From at least one reading; they are sorted here. `None` if there is none.
    pub fn new(mut readings: Vec<Reading>) -> Option<Scale> {
        readings.sort_unstable_by_key(|reading| (reading.ticks, reading.monotonic_ns));
        readings.dedup_by_key(|reading| reading.ticks);
        (!readings.is_empty()).then_some(Scale { readings })
    }

    /// The first reading.
    pub fn origin(&self) -> Reading {
        self.readings[0]
    }

    /// The last reading.
    pub fn last(&self) -> Reading {
        self.readings[self.readings.len() - 1]
    }

    /// Nanoseconds since the first reading: interpolated between readings, extrapolated from the outermost two beyond
    /// them. A time before the first reading is negative; with one reading only, a tick counts as a nanosecond.
    pub fn ns(&self, ticks: u64) -> i64 {
        let origin = self.readings[0];
        let place = self.readings.partition_point(|reading| reading.ticks <= ticks);
        let low = place.saturating_sub(1).min(self.readings.len().saturating_sub(2));
        let from = self.readings[low];
        let to = self.readings.get(low + 1).copied();
        let (span_ticks, span_ns) = match to {
            Some(to) => (to.ticks - from.ticks, to.monotonic_ns.saturating_sub(from.monotonic_ns)),
            None => (1, 1),
        };
        let along = i128::from(ticks) - i128::from(from.ticks);
        let since_origin = i128::from(from.monotonic_ns) - i128::from(origin.monotonic_ns);
        // The product of two 64-bit numbers may need 128 bits and a sign.
        let ns = along.saturating_mul(i128::from(span_ns)) / i128::from(span_ticks);
        let ns = since_origin.saturating_add(ns);
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: u64, monotonic_ns: u64) -> Reading {
        Reading { ticks, monotonic_ns, realtime_ns: 0 }
    }

    #[test]
    fn ticks_between_readings_are_interpolated() {
        let scale = Scale::new(vec![at(3000, 2100), at(1000, 1000), at(2000, 2000)]).unwrap();
        assert_eq!(scale.ns(1000), 0);
        assert_eq!(scale.ns(1500), 500);
        assert_eq!(scale.ns(2000), 1000);
        assert_eq!(scale.ns(2500), 1050);
        assert_eq!(scale.ns(4000), 1200, "beyond the last: its rate");
        assert_eq!(scale.ns(900), -100, "before the first: its rate");
    }

    #[test]
    fn one_reading_is_enough_for_something() {
        let scale = Scale::new(vec![at(50, 7)]).unwrap();
        assert_eq!((scale.ns(50), scale.ns(80)), (0, 30));
        assert!(Scale::new(Vec::new()).is_none());
    }

    #[test]
    fn this_machines_clock_goes_forward() {
        let source = Source::of_this_machine();
        let (first, second) = (source.read(), source.read());
        assert!(second.ticks > first.ticks && second.monotonic_ns >= first.monotonic_ns);
        let scale = Scale::new(vec![first, second]).unwrap();
        assert!(scale.ns(second.ticks) >= 0);
    }
}
