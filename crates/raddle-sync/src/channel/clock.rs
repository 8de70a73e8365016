//! Owns: `Alarm` and `Tick`, the channels whose one message is the time.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: an OS thread, or a timer while nobody waits: the message comes into being when somebody looks for it.

use crate::host::choice::now;
use crate::host::region;
use crate::host::{WaitCall, WaitReason, Waiter};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A channel of which one receives once, when the time has come.
pub(super) struct Alarm {
    at: Instant,
    taken: AtomicBool,
}

/// A channel of which one receives at most once a period.
pub(super) struct Tick {
    start: Instant,
    period_ns: u64,
    /// When the next message comes, counted from the start.
    next_ns: AtomicU64,
}

/// What both kinds do.
pub(super) trait Clock {
    /// When the next message comes, if one does.
    fn next(&self) -> Option<Instant>;
    /// Takes the message that has come at `due`; false if somebody else was faster.
    fn take(&self, due: Instant, now: Instant) -> bool;

    fn is_ready(&self) -> bool {
        self.next().is_some_and(|next| now() >= next)
    }

    fn try_recv(&self) -> Option<Instant> {
        loop {
            let now = now();
            let due = self.next().filter(|next| now >= *next)?;
            if self.take(due, now) {
                return Some(due);
            }
        }
    }

    /// Waits for the next message; `None` if the deadline comes first.
    #[track_caller]
    fn recv(&self, deadline: Option<Instant>) -> Option<Instant> {
        loop {
            if let Some(due) = self.try_recv() {
                return Some(due);
            }
            if deadline.is_some_and(|deadline| now() >= deadline) {
                return None;
            }
            sleep(self.next().into_iter().chain(deadline).min());
        }
    }
}

/// Who receives from a clock waits for time alone.
static RECV: WaitCall = WaitCall::new("channel::Receiver::recv", WaitReason::Receive);

/// Waits until then, or without an end.
#[track_caller]
pub(super) fn sleep(until: Option<Instant>) {
    Waiter::new(&RECV).wait(until);
    region::check();
}

impl Alarm {
    pub(super) fn new(at: Instant) -> Self {
        Alarm { at, taken: AtomicBool::new(false) }
    }
}

impl Clock for Alarm {
    // Relaxed here and below: the words say who has the message, and the message is a number.
    fn next(&self) -> Option<Instant> {
        (!self.taken.load(Ordering::Relaxed)).then_some(self.at)
    }

    fn take(&self, _due: Instant, _now: Instant) -> bool {
        !self.taken.swap(true, Ordering::Relaxed)
    }
}

impl Tick {
    /// `None` if the first would come after the end of time.
    pub(super) fn new(period: Duration) -> Option<Self> {
        let start = now();
        start.checked_add(period)?;
        let period_ns = nanoseconds(period);
        Some(Tick { start, period_ns, next_ns: AtomicU64::new(period_ns) })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock for Tick {
    fn next(&self) -> Option<Instant> {
        self.start.checked_add(Duration::from_nanos(self.next_ns.load(Ordering::Relaxed)))
    }

    fn take(&self, due: Instant, now: Instant) -> bool {
        let (due, now) = (nanoseconds(due - self.start), nanoseconds(now - self.start));
        // Ticks that nobody has come for are dropped: the next comes a period after this one was taken.
        let next = due.max(now).saturating_add(self.period_ns);
        self.next_ns.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
