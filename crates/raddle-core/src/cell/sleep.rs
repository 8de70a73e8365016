//! Owns: the futures by which a cell waits for time and lets others run.
//! May use: `timer`.
//! Never: a thread of its own.

use crate::runtime;
use crate::timer::{Alarm, AlarmId};
use crate::worker::Worker;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A future that is ready when its time has come; see [`sleep`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Sleep {
    until: Instant,
    set: Option<Set>,
}

/// Where the alarm is, so that it can be taken back.
#[derive(Debug)]
struct Set {
    keeper: *const Worker,
    alarm: AlarmId,
}

// SAFETY: the pointer is used for the keeper's timers only, which are behind a lock; a runtime outlives its cells.
unsafe impl Send for Set {}
// SAFETY: as above.
unsafe impl Sync for Set {}

/// Waits for at least `duration`.
///
/// ```
/// use raddle_core::task;
/// use std::time::Duration;
/// task::block_on(task::sleep(Duration::from_millis(1)));
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let now = Instant::now();
    // A time that the clock cannot hold is as good as never: thirty years.
    let until = now.checked_add(duration).unwrap_or_else(|| now + Duration::from_secs(1 << 30));
    sleep_until(until)
}

/// Waits until `deadline` has passed.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { until: deadline, set: None }
}

impl Sleep {
    fn forget_alarm(&mut self) {
        if let Some(set) = self.set.take() {
            // SAFETY: the keeper belongs to a runtime that outlives what waits on it.
            unsafe { &*set.keeper }.timers().cancel(set.alarm);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        self.forget_alarm();
        if left.is_zero() {
            return Poll::Ready(());
        }
        let alarm = Alarm::Waker(context.waker().clone());
        let set = match Worker::current() {
            Some(worker) => Set { keeper: worker, alarm: worker.timers().set(worker.deadline(left), alarm) },
            None => {
                let shared = runtime::here().expect("the default runtime cannot be started");
                let at =
                    shared.clock.now_ns().saturating_add(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
                Set { keeper: shared.worker(0), alarm: shared.set_alarm_outside(at, alarm) }
            }
        };
        self.set = Some(set);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget_alarm();
    }
}

/// A future that is pending once; see [`yield_now`].
#[derive(Debug, Default)]
#[must_use = "a future does nothing until it is awaited"]
pub struct YieldNow {
    yielded: bool,
}

/// Lets others run: the cell goes to the end of its worker's batch.
///
/// ```
/// raddle_core::task::block_on(raddle_core::task::yield_now());
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow::default()
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
