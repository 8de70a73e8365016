//! Owns: `Interval`, by which a task does something once in a while.
//! May use: `host`, `raddle-core`.
//! Never: a timer while nobody waits for a tick.

use crate::host::choice::now;
use crate::host::{Sleep, sleep_until};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// A tick that comes later than this has been missed.
const LATE: Duration = Duration::from_millis(5);

/// When the next tick comes after some were missed: the names and the meaning are `tokio`'s.
///
/// With a period of 10 ms, and somebody who asks at 0, then at 35 ms, and from then on at once:
///
/// | behavior | ticks at, ms |
/// |---|---|
/// | `Burst` | 0, 35, 35, 35, 40, 50 |
/// | `Delay` | 0, 35, 45, 55 |
/// | `Skip` | 0, 35, 40, 50 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// All that were missed come at once, until it has caught up.
    #[default]
    Burst,
    /// A period after the late one.
    Delay,
    /// At the next multiple of the period.
    Skip,
}

impl MissedTickBehavior {
    /// The tick after one that was due at `due`, and was taken at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Option<Instant> {
        match self {
            MissedTickBehavior::Burst => due.checked_add(period),
            MissedTickBehavior::Delay => now.checked_add(period),
            MissedTickBehavior::Skip => {
                let past = (now - due).as_nanos() % period.as_nanos();
                // Less than the period, which fits into 64 bits, or the sum below does not end in this world.
                let past = Duration::from_nanos(u64::try_from(past).unwrap_or(u64::MAX));
                now.checked_add(period)?.checked_sub(past)
            }
        }
    }
}

/// Ticks that come once in a period; from [`interval`].
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    /// `None` after the end of time.
    due: Option<Instant>,
    period: Duration,
    missed: MissedTickBehavior,
}

/// Ticks of which the first comes at once, and the next each after one `period`.
///
/// # Panics
/// If the period is zero.
///
/// ```
/// use raddle::task;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// task::block_on(async {
///     let mut ticks = task::interval(Duration::from_millis(1));
///     for _ in 0..4 {
///         ticks.tick().await;
///     }
/// });
/// assert!(start.elapsed() >= Duration::from_millis(3));
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(now(), period)
}

/// As [`interval`], with the first tick at `start`.
///
/// # Panics
/// If the period is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "an interval has a period that is not zero");
    let missed = MissedTickBehavior::default();
    Interval { sleep: sleep_until(start), due: Some(start), period, missed }
}

impl Interval {
    /// Waits for the next tick; when it was due. To drop this future loses no tick.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// As [`tick`](Self::tick), for a future that polls.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        let Some(due) = self.due else { return Poll::Pending };
        ready!(Pin::new(&mut self.sleep).poll(context));
        let now = now();
        let next = if now.saturating_duration_since(due) > LATE {
            self.missed.next(due, now, self.period)
        } else {
            due.checked_add(self.period)
        };
        self.come_at(next);
        Poll::Ready(due)
    }

    fn come_at(&mut self, next: Option<Instant>) {
        self.due = next;
        if let Some(next) = next {
            self.sleep = sleep_until(next);
        }
    }

    /// The next tick comes a period from now.
    pub fn reset(&mut self) {
        self.come_at(now().checked_add(self.period));
    }

    /// The next tick comes now.
    pub fn reset_immediately(&mut self) {
        self.come_at(Some(now()));
    }

    /// The next tick comes at `deadline`.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.come_at(Some(deadline));
    }

    /// How long it is from one tick to the next.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What comes after ticks that were missed.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Chooses what comes after ticks that were missed.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the page of the type.
    #[test]
    fn the_next_tick_after_a_late_one() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let next = |missed: MissedTickBehavior| missed.next(at(10), at(35), Duration::from_millis(10));
        assert_eq!(next(MissedTickBehavior::Burst), Some(at(20)));
        assert_eq!(next(MissedTickBehavior::Delay), Some(at(45)));
        assert_eq!(next(MissedTickBehavior::Skip), Some(at(40)));
    }
}
