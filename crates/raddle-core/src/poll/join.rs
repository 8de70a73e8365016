//! Owns: `JoinHandle`, a future of a task's output.
//! May use: `worker::choice`, `worker::slice`.
//! Never: the future, or the task's references; the two share only the slot, and the memory in which it lies.

use crate::poll::abort::{Abort, AbortHandle};
use crate::poll::error::JoinError;
use crate::poll::raw::WeakTask;
use crate::poll::share::{HasShares, ShareCount, TaskShare};
use crate::worker::choice::{count_in_task, counted_look};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

enum JoinState<T> {
    Nobody,
    Waiting(Waker),
    Output(Result<T, JoinError>),
    /// The handle is gone, and the task goes on.
    Unwanted,
    /// The task has ended; the handle has had the output, or is gone.
    Over,
}

/// What is under the lock.
struct JoinMeeting<T> {
    join: JoinState<T>,
    /// Of a spawned future, until the slot is filled, which comes before it is freed.
    task: Option<WeakTask>,
}

impl<T> JoinMeeting<T> {
    fn has_ended(&self) -> bool {
        matches!(self.join, JoinState::Output(_) | JoinState::Over)
    }
}

/// Where a task's output and the one who waits for it meet.
pub(crate) struct JoinSlot<T>(Mutex<JoinMeeting<T>>);

impl<T> JoinSlot<T> {
    pub(crate) fn of(task: Option<WeakTask>) -> Self {
        JoinSlot(Mutex::new(JoinMeeting { join: JoinState::Nobody, task }))
    }

    fn lock(&self) -> MutexGuard<'_, JoinMeeting<T>> {
        // Nothing under the lock can panic: wakers and outputs are cloned and dropped outside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the output. Gives it back if nobody will ask for it.
    #[must_use = "an output that nobody wants is dropped by who knows what to do if that panics"]
    pub(crate) fn fill(&self, output: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
        let mut meeting = self.lock();
        meeting.task = None;
        if matches!(meeting.join, JoinState::Unwanted) {
            meeting.join = JoinState::Over;
            return Some(output);
        }
        let before = std::mem::replace(&mut meeting.join, JoinState::Output(output));
        drop(meeting);
        if let JoinState::Waiting(waker) = before {
            waker.wake();
        }
        None
    }

    /// The output, if it is there.
    fn take(&self) -> Option<Result<T, JoinError>> {
        let mut meeting = self.lock();
        match std::mem::replace(&mut meeting.join, JoinState::Over) {
            JoinState::Output(output) => Some(output),
            other => {
                meeting.join = other;
                None
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().has_ended()
    }

    /// Ends the task at its next poll, which this brings about, unless it has ended.
    pub(super) fn abort(&self) {
        let meeting = self.lock();
        // SAFETY: the slot is locked, and what it has filled has no task.
        let waker = meeting.task.as_ref().and_then(|task| unsafe { task.abort() });
        drop(meeting);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// What a slot lies in: a task, or nothing else.
///
/// PERF: bench `tasks`, a hundred thousand at a time, of smol, with an allocation of its own for the slot and without:
/// one worker 1.16 -> 1.03, two 0.60 -> 0.31; 250 at a time 0.98 -> 0.91, and 0.47 -> 0.45.
pub(crate) trait HasSlot<T>: HasShares {
    fn slot(&self) -> &JoinSlot<T>;

    /// The same thing, at `here`, for whoever does not know the output's type.
    fn abortable(&self, here: NonNull<()>) -> NonNull<dyn Abort>;
}

/// A slot without a task.
pub(crate) struct LoneSlot<T> {
    shares: ShareCount,
    slot: JoinSlot<T>,
}

impl<T: Send + 'static> LoneSlot<T> {
    pub(crate) fn new() -> TaskShare<LoneSlot<T>> {
        TaskShare::new(LoneSlot { shares: ShareCount::of::<LoneSlot<T>>(), slot: JoinSlot::of(None) })
    }

    /// As [`JoinSlot::fill`].
    #[must_use = "an output that nobody wants is dropped by who knows what to do if that panics"]
    pub(crate) fn fill(&self, output: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
        self.slot.fill(output)
    }
}

// SAFETY: always that one.
unsafe impl<T: Send> HasShares for LoneSlot<T> {
    fn shares(&self) -> &ShareCount {
        &self.shares
    }
}

impl<T: Send + 'static> HasSlot<T> for LoneSlot<T> {
    fn slot(&self) -> &JoinSlot<T> {
        &self.slot
    }

    fn abortable(&self, here: NonNull<()>) -> NonNull<dyn Abort> {
        here.cast::<LoneSlot<T>>()
    }
}

impl<T: Send> Abort for LoneSlot<T> {
    fn abort(&self) {
        self.slot.abort();
    }

    fn has_ended(&self) -> bool {
        self.slot.has_ended()
    }
}

/// A future of a task's output. Dropping it detaches the task, which goes on.
///
/// The output is an error if the task panicked, or was [aborted](Self::abort).
pub struct JoinHandle<T> {
    slot: TaskShare<dyn HasSlot<T>>,
    /// Then nothing is left in the slot.
    has_had_output: bool,
}

// As with a slot alone, which is a mutex.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Of a share in what has the slot.
    pub(crate) fn of<S: HasSlot<T> + 'static>(slot: TaskShare<S>) -> Self
    where
        T: 'static,
    {
        let slot: NonNull<dyn HasSlot<T>> = slot.into_raw();
        // SAFETY: the share that was given, under another type.
        JoinHandle { slot: unsafe { TaskShare::from_raw(slot) }, has_had_output: false }
    }

    fn slot(&self) -> &JoinSlot<T> {
        self.slot.slot()
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        counted_look("task::JoinHandle::is_finished", || self.slot().has_ended())
    }

    /// Ends the task where it waits: its future is dropped instead of being polled again, by a worker, soon. What it
    /// has done stays done; what it holds is dropped.
    ///
    /// A task that has ended keeps its output, and so does one whose last poll is under way. What
    /// [`spawn_blocking`](crate::task::spawn_blocking) runs goes on.
    ///
    /// ```
    /// use raddle::task;
    /// task::block_on(async {
    ///     let waits = task::spawn(std::future::pending::<()>());
    ///     waits.abort();
    ///     assert!(waits.await.unwrap_err().is_cancelled());
    /// });
    /// ```
    pub fn abort(&self) {
        self.slot().abort();
    }

    /// What aborts the task, for others than the one who awaits it.
    pub fn abort_handle(&self) -> AbortHandle
    where
        T: Send + 'static,
    {
        let share = self.slot.clone().into_raw();
        let task = self.slot.abortable(share.cast());
        // SAFETY: the share that was just made, under another type.
        AbortHandle::of(unsafe { TaskShare::from_raw(task) })
    }

    /// The output, if it is there: as a poll that is ready.
    #[doc(hidden)]
    pub fn try_take(&mut self) -> Option<Result<T, JoinError>> {
        let output = self.slot().take()?;
        self.has_had_output = true;
        Some(output)
    }

    /// Has `waker` called at the end, or now if that has come. Instead of a poll, whose waker it takes the place of.
    #[doc(hidden)]
    pub fn watch(&self, waker: Waker) {
        let mut meeting = self.slot().lock();
        if meeting.has_ended() {
            drop(meeting);
            return waker.wake();
        }
        let before = std::mem::replace(&mut meeting.join, JoinState::Waiting(waker));
        drop(meeting);
        drop(before);
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If it is polled again after it was ready.
    ///
    /// PERF: bench `tasks`: who finds the output neither clones its waker nor comes to the slot again.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(output) = self.try_take() {
            return Poll::Ready(output);
        }
        let waker = context.waker().clone();
        let mut meeting = self.slot().lock();
        let next = match meeting.join {
            JoinState::Nobody | JoinState::Waiting(_) => JoinState::Waiting(waker),
            JoinState::Output(_) | JoinState::Over | JoinState::Unwanted => JoinState::Over,
        };
        let before = std::mem::replace(&mut meeting.join, next);
        drop(meeting);
        match before {
            JoinState::Output(output) => {
                self.has_had_output = true;
                Poll::Ready(output)
            }
            JoinState::Over | JoinState::Unwanted => panic!("a JoinHandle was polled after it was ready"),
            JoinState::Nobody | JoinState::Waiting(_) => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Lets go of the output, or of the waker of who waited: stale wakers may keep the task's memory for long.
    fn drop(&mut self) {
        if self.has_had_output {
            return;
        }
        let mut meeting = self.slot().lock();
        let next = if meeting.has_ended() { JoinState::Over } else { JoinState::Unwanted };
        let before = std::mem::replace(&mut meeting.join, next);
        drop(meeting);
        drop(before);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
