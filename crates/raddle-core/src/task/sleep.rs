//! Owns: the futures by which a task waits for time and lets others run.
//! May use: `message`, `runtime`, `worker`.
//! Never: a thread of its own.

use crate::message;
use crate::runtime::{self, Shared};
use crate::worker::Worker;
use crate::worker::choice::now;
use crate::worker::slice::count_in_task;
use crate::worker::timer::{Alarm, AlarmId};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A future that is ready when its time has come; see [`sleep`].
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Sleep {
    until: Instant,
    set: Option<Set>,
}

/// Where the alarm is, so that it can be taken back. The future may outlive its runtime: it holds what it needs.
struct Set {
    runtime: Arc<Shared>,
    keeper: usize,
    alarm: AlarmId,
}

impl Set {
    fn at(keeper: &Worker, alarm: AlarmId) -> Set {
        Set { runtime: keeper.hold_runtime(), keeper: keeper.index, alarm }
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set")
            .field("keeper", &self.keeper)
            .field("alarm", &self.alarm)
            .finish_non_exhaustive()
    }
}

/// Waits for at least `duration`.
///
/// ```
/// use raddle::task;
/// use std::time::Duration;
/// task::block_on(task::sleep(Duration::from_millis(1)));
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let now = now();
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
            set.runtime.cancel_alarm(set.keeper, set.alarm);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.until.saturating_duration_since(now());
        self.forget_alarm();
        if left.is_zero() {
            if !count_in_task() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let alarm = Alarm::Waker(context.waker().clone());
        let mut alarm = Some(alarm);
        let set_here = |worker: &Worker| {
            let alarm = alarm.take().expect("it is set once");
            Set::at(worker, worker.timers().set(worker.deadline(left), alarm))
        };
        let set = Worker::with_current(set_here).or_else(|| {
            let alarm = alarm?;
            let set_outside = |shared: &Shared| {
                let left = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
                let at = shared.clock.now_ns().saturating_add(left);
                Set::at(shared.worker(0), shared.set_alarm_outside(at, alarm))
            };
            Some(message::started(runtime::with_here(set_outside)))
        });
        self.set = set;
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

/// Lets others run: the task goes to the end of its worker's batch.
///
/// ```
/// raddle::task::block_on(raddle::task::yield_now());
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
