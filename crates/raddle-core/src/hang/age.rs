//! Owns: since when somebody waits, to a tenth of a second.
//! May use: the watcher, which looks at a clock at each of its ticks.
//! Never: a clock read by who waits: 20 ns, as much as the whole communication that it waits for.
//!
//! The watcher writes what time it is into one word; who begins to wait copies the word into its frame: one load of
//! what all share and nobody changes, one store. A worker's own clock, which it reads at its boundaries, costs the same
//! and would be finer, but stands still during a slice: who waits after an hour's work would have waited for that hour.
//!
//! While all workers sleep the watcher does, too, and the word is a *doze*, a number. Who waits with that number has
//! begun when somebody had got up, and had called the watcher, and before that wrote the time again: at the doze's end,
//! which the watcher notes.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nobody watches |
//! | below `DOZE` | milliseconds since the program has begun to be watched, and one more |
//! | `DOZE + n` | the time at which the doze `n` ended |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DOZE: u64 = 1 << 63;
/// The ends of so many dozes are known. Who has waited since an earlier one has done so at least since the first known.
const DOZES: usize = 1024;

/// A line of its own: all read it, and it changes ten times a second.
#[repr(align(128))]
struct Word(AtomicU64);

static NOW: Word = Word(AtomicU64::new(0));
static ENDS: [AtomicU64; DOZES] = [const { AtomicU64::new(0) }; DOZES];

/// When somebody began to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// Now.
    #[inline(always)]
    pub(crate) fn now() -> Stamp {
        Stamp(NOW.0.load(Ordering::Relaxed))
    }

    /// As a word.
    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// Of what [`to_bits`](Self::to_bits) has given.
    pub(crate) fn from_bits(word: u64) -> Stamp {
        Stamp(word)
    }

    /// For how long somebody had waited at the time `now` who began then. `None` if nobody has looked at a clock.
    pub(super) fn age(self, now: u64) -> Option<Duration> {
        let since = match self.0 {
            0 => return None,
            ms @ 1..DOZE => ms,
            doze => end_of(doze - DOZE).unwrap_or(now),
        };
        Some(Duration::from_millis(now.saturating_sub(since)))
    }
}

/// When a doze ended; `None` if it lasts.
fn end_of(doze: u64) -> Option<u64> {
    if NOW.0.load(Ordering::Relaxed) == DOZE + doze {
        return None;
    }
    let last = LAST_DOZE.load(Ordering::Relaxed);
    let known = doze.max((last + 1).saturating_sub(DOZES as u64));
    Some(ENDS[known as usize % DOZES].load(Ordering::Relaxed))
}

static LAST_DOZE: AtomicU64 = AtomicU64::new(0);

/// What time it is.
pub(super) fn milliseconds() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

/// By the watcher: it looks, or is about to begin.
pub(super) fn tick() {
    NOW.0.store(milliseconds(), Ordering::Relaxed);
}

/// By the watcher: sleeps, perhaps for long.
pub(super) fn while_asleep<R>(sleep: impl FnOnce() -> R) -> R {
    let doze = LAST_DOZE.load(Ordering::Relaxed) + 1;
    LAST_DOZE.store(doze, Ordering::Relaxed);
    NOW.0.store(DOZE + doze, Ordering::Relaxed);
    let slept = sleep();
    let now = milliseconds();
    ENDS[doze as usize % DOZES].store(now, Ordering::Relaxed);
    NOW.0.store(now, Ordering::Relaxed);
    slept
}

/// `for 0.3 s`, `for 2 min`, `for 3 h`.
pub(super) fn words(age: Duration) -> String {
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
    fn who_waits_after_a_doze_has_waited_since_its_end() {
        let of = Stamp(DOZE + 7);
        LAST_DOZE.store(9, Ordering::Relaxed);
        ENDS[7].store(milliseconds(), Ordering::Relaxed);
        assert!(of.age(milliseconds()).unwrap() < Duration::from_secs(60));
        // Long forgotten: the first that is known.
        LAST_DOZE.store(7 + DOZES as u64, Ordering::Relaxed);
        ENDS[8].store(milliseconds(), Ordering::Relaxed);
        assert!(of.age(milliseconds()).unwrap() < Duration::from_secs(60));
        LAST_DOZE.store(0, Ordering::Relaxed);
        assert_eq!(Stamp(0).age(7), None);
    }

    #[test]
    fn ages_are_told_as_people_do() {
        let told = |ms| words(Duration::from_millis(ms));
        assert_eq!(told(0), "for 0.0 s");
        assert_eq!(told(1_290), "for 1.2 s");
        assert_eq!(told(120_000), "for 2 min");
        assert_eq!(told(7_300_000), "for 2 h");
    }
}
