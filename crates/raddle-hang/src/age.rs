//! Owns: since when somebody waits, to a tenth of a second.
//! May use: `raddle-core`.
//! Never: a clock read by who waits.
//!
//! While all workers sleep the watcher does, too, and the word is the number of that *sleep*. Who waits with that
//! number began when a worker had got up, and had woken the watcher, and before the watcher wrote the time again: at
//! the end of the sleep, which the watcher notes.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nobody watches |
//! | below `SLEEP` | milliseconds since the program has begun to be watched, and one more |
//! | `SLEEP + n` | the time at which the sleep `n` ended |

use raddle_core::stamp::Stamp;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// From here on a word is the number of a sleep.
const SLEEP: u64 = 1 << 63;
/// The ends of so many sleeps are known. Who began in an earlier one has waited at least since the first known.
const SLEEPS: usize = 1024;

static ENDS: [AtomicU64; SLEEPS] = [const { AtomicU64::new(0) }; SLEEPS];

/// For how long somebody had waited at the time `now` who began at `since`. `None` if nobody has looked at a clock.
pub(crate) fn age(since: Stamp, now: u64) -> Option<Duration> {
    let since = match since.to_bits() {
        0 => return None,
        ms @ 1..SLEEP => ms,
        sleep => end_of(sleep - SLEEP).unwrap_or(now),
    };
    Some(Duration::from_millis(now.saturating_sub(since)))
}

/// When the watcher's sleep of this number ended; `None` if it lasts.
fn end_of(sleep: u64) -> Option<u64> {
    if Stamp::now().to_bits() == SLEEP + sleep {
        return None;
    }
    let last = LAST_SLEEP.load(Ordering::Relaxed);
    let known = sleep.max((last + 1).saturating_sub(SLEEPS as u64));
    Some(ENDS[known as usize % SLEEPS].load(Ordering::Relaxed))
}

static LAST_SLEEP: AtomicU64 = AtomicU64::new(0);

/// What time it is.
pub(crate) fn milliseconds() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

/// By the watcher: it looks, or is about to begin.
pub(crate) fn tick() {
    Stamp::from_bits(milliseconds()).set_now();
}

/// By the watcher: sleeps, perhaps for long.
pub(crate) fn while_asleep<R>(sleep: impl FnOnce() -> R) -> R {
    let number = LAST_SLEEP.load(Ordering::Relaxed) + 1;
    LAST_SLEEP.store(number, Ordering::Relaxed);
    Stamp::from_bits(SLEEP + number).set_now();
    let slept = sleep();
    let now = milliseconds();
    ENDS[number as usize % SLEEPS].store(now, Ordering::Relaxed);
    Stamp::from_bits(now).set_now();
    slept
}

/// `for 0.3 s`, `for 2 min`, `for 3 h`.
pub(crate) fn in_words(age: Duration) -> String {
    match age.as_secs() {
        0..100 => format!("for {}.{} s", age.as_secs(), age.subsec_millis() / 100),
        seconds @ 100..6000 => format!("for {} min", seconds / 60),
        seconds => format!("for {} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_after_a_sleep_of_the_watcher_has_waited_since_its_end() {
        let of = Stamp::from_bits(SLEEP + 7);
        LAST_SLEEP.store(9, Ordering::Relaxed);
        ENDS[7].store(milliseconds(), Ordering::Relaxed);
        assert!(age(of, milliseconds()).unwrap() < Duration::from_secs(60));
        // Long forgotten: the first that is known.
        LAST_SLEEP.store(7 + SLEEPS as u64, Ordering::Relaxed);
        ENDS[8].store(milliseconds(), Ordering::Relaxed);
        assert!(age(of, milliseconds()).unwrap() < Duration::from_secs(60));
        LAST_SLEEP.store(0, Ordering::Relaxed);
        assert_eq!(age(Stamp::from_bits(0), 7), None);
    }

    #[test]
    fn ages_are_told_as_people_do() {
        let told = |ms| in_words(Duration::from_millis(ms));
        assert_eq!(told(0), "for 0.0 s");
        assert_eq!(told(1_290), "for 1.2 s");
        assert_eq!(told(120_000), "for 2 min");
        assert_eq!(told(7_300_000), "for 2 h");
    }
}
