//! Owns: `Cell`, the allocation behind a spawned future, and its table of functions.
//! May use: `message`, `orphan`, `worker`, `raddle-protocol`.
//! Never: two polls at once; the state word sees to that.

use crate::orphan;
use crate::poll::join::{JoinHandle, JoinSlot};
use crate::poll::state::{Parked, TaskState};
use crate::worker::{self, Here, Worker};
use raddle_protocol::header::{Header, Kind, MOVABLE, Runnable};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// What to do with a task whose future's type is not known.
struct TaskVtable {
    /// Polls the future once; true if it has ended.
    poll: unsafe fn(*mut Head, &mut Context<'_>) -> bool,
    free: unsafe fn(*mut Head),
}

/// The part of a task that does not depend on the future's type.
#[repr(C)]
pub(crate) struct Head {
    header: Header,
    pub(crate) state: TaskState,
    table: &'static TaskVtable,
}

/// A spawned future.
#[repr(C)]
struct Cell<F: Future> {
    head: Head,
    slot: Arc<JoinSlot<F::Output>>,
    /// Touched by the one who polls, until the future has ended.
    future: UnsafeCell<Option<F>>,
}

trait HasTable: Future + Sized {
    const TABLE: TaskVtable = TaskVtable { poll: poll_future::<Self>, free: free::<Self> };
}
impl<F: Future> HasTable for F {}

/// Makes a task, scheduled but in no queue yet.
pub(crate) fn new<F: Future>(future: F) -> (Runnable, JoinHandle<F::Output>) {
    let slot = Arc::new(JoinSlot::new());
    let head =
        Head { header: Header::acting(Kind::Task, MOVABLE, poll), state: TaskState::new(), table: &F::TABLE };
    let task = Box::new(Cell { head, slot: slot.clone(), future: UnsafeCell::new(Some(future)) });
    let raw: *mut Head = Box::into_raw(task).cast();
    // SAFETY: just made; the state says scheduled, and the right to queue it is ours.
    let runnable = unsafe { Runnable::from_raw(raw.cast()) }.expect("a box is not null");
    // The handle needs the output only: its reference to the task itself is dropped at once.
    // SAFETY: the task was made with this reference.
    unsafe { drop_ref(raw) };
    (runnable, JoinHandle::new(slot))
}

/// Polls a task that was taken from a queue.
///
/// # Safety
/// `header` begins a task that the caller has taken from a queue.
unsafe fn poll(header: *mut Header) {
    let head: *mut Head = header.cast();
    // SAFETY: a queued task is alive: the queue held a reference, which is ours now.
    let state = unsafe { &(*head).state };
    state.begin_poll();
    // SAFETY: the waker's reference is forgotten below, so it holds none of its own.
    let waker = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(raw_waker(head)) });
    let mut context = Context::from_waker(&waker);
    // SAFETY: alive as above.
    let table = unsafe { (*head).table };
    // SAFETY: the table is the task's own, and `begin_poll` made us the only one who polls.
    let ended = unsafe { (table.poll)(head, &mut context) };
    if ended {
        state.end();
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        if let Some(worker) = unsafe { Here::current() } {
            worker.count_exit();
            worker.note_exit();
        }
    } else if state.end_poll() == Parked::Again {
        // SAFETY: it was woken during the poll, so it is ours to queue, with our reference.
        return unsafe { worker::wake(head.cast()) };
    }
    // SAFETY: the queue's reference, ours now, is not needed any more.
    unsafe { drop_ref(head) };
}

/// # Safety
/// `head` begins a `Cell<F>` that the caller polls alone.
unsafe fn poll_future<F: Future>(head: *mut Head, context: &mut Context<'_>) -> bool {
    // SAFETY: the table is the task's own.
    let task = unsafe { &*head.cast::<Cell<F>>() };
    // SAFETY: the caller polls alone.
    let place = unsafe { &mut *task.future.get() };
    let Some(future) = place.as_mut() else { return true };
    // SAFETY: the future lies in a box and is dropped in place, never moved.
    let pinned = unsafe { Pin::new_unchecked(future) };
    let output = match catch_unwind(AssertUnwindSafe(|| pinned.poll(context))) {
        Ok(Poll::Pending) => return false,
        Ok(Poll::Ready(output)) => Ok(output),
        // In a forked child: who waits for it does not exist there.
        Err(_) if orphan::is_orphan() => orphan::end_of_orphan(true),
        Err(panic) => Err(panic),
    };
    if catch_unwind(AssertUnwindSafe(|| *place = None)).is_err() {
        crate::message::fatal("a future panicked while it was dropped");
    }
    let unwanted = task.slot.fill(output);
    if catch_unwind(AssertUnwindSafe(|| drop(unwanted))).is_err() {
        crate::message::fatal("an output that nobody wanted panicked while it was dropped");
    }
    true
}

/// # Safety
/// `head` begins a `Cell<F>` to which nobody holds a reference any more.
unsafe fn free<F: Future>(head: *mut Head) {
    // SAFETY: it came from a box of this type, and is freed once.
    let task = unsafe { Box::from_raw(head.cast::<Cell<F>>()) };
    let all = AssertUnwindSafe(|| {
        if !task.head.state.is_done() {
            // SAFETY: nobody else has the task. The future is dropped where it lies.
            unsafe { *task.future.get() = None };
            // Nobody can wake it any more: its joiner must not wait for ever.
            drop(task.slot.fill(Err(Box::new("the task was dropped before its end: nobody held its waker"))));
            count_end_of(&task.head.header);
        }
        drop(task);
    });
    if catch_unwind(all).is_err() {
        crate::message::fatal("a future, or an output that nobody wanted, panicked while it was dropped");
    }
}

/// A task has ended without a last poll, on whatever thread dropped its last waker.
fn count_end_of(header: &Header) {
    // SAFETY: it was polled, so it has a worker; a runtime that still has a task is not freed.
    let home = unsafe { Worker::of(header) };
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match unsafe { Here::current() } {
        Some(worker) if std::ptr::eq(worker.shared(), home.shared()) => worker.count_exit(),
        _ => home.shared().count_exit_outside(),
    }
}

/// # Safety
/// The caller gives up a reference that it holds.
unsafe fn drop_ref(head: *mut Head) {
    // SAFETY: the caller's reference keeps it alive until here.
    if unsafe { (*head).state.drop_ref() } {
        // SAFETY: that was the last one, so the task is ours, and alive until it is freed here.
        let table = unsafe { (*head).table };
        // SAFETY: the table is the task's own, and nobody holds a reference any more.
        unsafe { (table.free)(head) };
    }
}

static WAKER: RawWakerVTable = RawWakerVTable::new(clone_waker, wake, wake_by_ref, drop_waker);

fn raw_waker(head: *mut Head) -> RawWaker {
    RawWaker::new(head.cast_const().cast(), &WAKER)
}

unsafe fn clone_waker(data: *const ()) -> RawWaker {
    let head = data.cast_mut().cast::<Head>();
    // SAFETY: the waker that is cloned holds a reference.
    unsafe { (*head).state.add_ref() };
    raw_waker(head)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker is used up by this; its reference is dropped after.
    unsafe { wake_by_ref(data) };
    // SAFETY: as above.
    unsafe { drop_waker(data) };
}

unsafe fn wake_by_ref(data: *const ()) {
    let head = data.cast_mut().cast::<Head>();
    // SAFETY: the waker holds a reference.
    if unsafe { (*head).state.wake() } {
        // SAFETY: the state made it ours to queue, with a reference for the queue.
        unsafe { worker::wake(head.cast()) };
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's reference.
    unsafe { drop_ref(data.cast_mut().cast::<Head>()) };
}
