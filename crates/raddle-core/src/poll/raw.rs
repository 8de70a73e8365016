//! Owns: `Cell`, the allocation behind a spawned future and its handles, and its table of functions.
//! May use: `message`, `orphan`, `worker`, `raddle-protocol`.
//! Never: two polls at once; the state word sees to that.

use crate::orphan;
use crate::poll::abort::Abort;
use crate::poll::error::JoinError;
use crate::poll::join::{HasSlot, JoinHandle, JoinSlot};
use crate::poll::share::{HasShares, ShareCount, TaskShare};
use crate::worker::rooms::take_room;
use crate::worker::{self, Here, Worker};
use raddle_protocol::header::{Header, Kind, MOVABLE, Runnable};
use raddle_protocol::protocol::task::{Polled, TaskWord};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// What to do with a task whose future's type is not known.
struct TaskVtable {
    /// Polls the future once; true if it has ended.
    poll: unsafe fn(*mut Head, &mut Context<'_>) -> bool,
    /// Drops the future before its end.
    cancel: unsafe fn(*mut Head),
    free: unsafe fn(*mut Head),
}

/// The part of a task that does not depend on the future's type.
#[repr(C)]
pub(crate) struct Head {
    header: Header,
    pub(crate) state: TaskWord,
    /// It is to end without another poll. Set before a wake, which orders it.
    aborted: AtomicBool,
    table: &'static TaskVtable,
}

/// A task that may be gone. It lies in the task's slot, which knows when.
#[derive(Debug)]
pub(crate) struct WeakTask(NonNull<Head>);

// SAFETY: what is done by it is done with a reference to the task, which any thread may have.
unsafe impl Send for WeakTask {}

impl WeakTask {
    /// Says that the task is to end; `None` if nobody can wake it any more. The waker is for the caller to call,
    /// without the slot's lock.
    ///
    /// # Safety
    /// The slot is locked, and has not been filled: whoever frees the task fills it first.
    pub(super) unsafe fn abort(&self) -> Option<Waker> {
        // SAFETY: passed on to the caller.
        let head = unsafe { self.0.as_ref() };
        if !head.state.try_add_ref() {
            return None;
        }
        head.aborted.store(true, Ordering::Relaxed);
        // SAFETY: the reference that was just made.
        Some(unsafe { Waker::from_raw(raw_waker(self.0.as_ptr())) })
    }
}

/// A spawned future, in a room that the task shares with its handles: the task has one share, which goes when its last
/// reference does, and with it the future.
#[repr(C)]
struct Cell<F: Future> {
    head: Head,
    shares: ShareCount,
    slot: JoinSlot<F::Output>,
    /// Touched by the one who polls, until the future has ended.
    future: UnsafeCell<Option<F>>,
}

// SAFETY: the future goes from one who polls to the next, one at a time, and is gone when the task lets go of this; so
// handles see the slot only, which is a mutex around what may be sent.
unsafe impl<F: Future<Output: Send> + Send> Send for Cell<F> {}
// SAFETY: as above; the head's fields are atomics, or touched by whoever has the right to queue or to poll.
unsafe impl<F: Future<Output: Send> + Send> Sync for Cell<F> {}

impl<F: Future<Output: Send> + Send + 'static> HasSlot<F::Output> for Cell<F> {
    fn slot(&self) -> &JoinSlot<F::Output> {
        &self.slot
    }

    fn abortable(&self, here: NonNull<()>) -> NonNull<dyn Abort> {
        here.cast::<Cell<F>>()
    }
}

// SAFETY: always that one.
unsafe impl<F: Future<Output: Send> + Send> HasShares for Cell<F> {
    fn shares(&self) -> &ShareCount {
        &self.shares
    }
}

impl<F: Future<Output: Send> + Send> Abort for Cell<F> {
    fn abort(&self) {
        self.slot.abort();
    }

    fn has_ended(&self) -> bool {
        self.slot.has_ended()
    }
}

trait HasTable: Future<Output: Send> + Send + Sized {
    const TABLE: TaskVtable =
        TaskVtable { poll: poll_future::<Self>, cancel: cancel::<Self>, free: free::<Self> };
}
impl<F: Future<Output: Send> + Send> HasTable for F {}

/// Makes a task, scheduled but in no queue yet.
pub(crate) fn new<F>(future: F) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let place = take_room::<Cell<F>>();
    let raw: NonNull<Head> = place.cast();
    let head = Head {
        header: Header::acting(Kind::Task, MOVABLE, poll),
        state: TaskWord::new(),
        aborted: AtomicBool::new(false),
        table: &F::TABLE,
    };
    let (slot, shares) = (JoinSlot::of(Some(WeakTask(raw))), ShareCount::of::<Cell<F>>());
    // SAFETY: room for one, which nobody else has; the slot is shown to nobody before this.
    unsafe { place.write(Cell { head, shares, slot, future: UnsafeCell::new(Some(future)) }) };
    // SAFETY: it lies in a room, and its maker has one share, which is the handle's. That has no reference to the task:
    // it needs the output only.
    let share = unsafe { TaskShare::from_raw(place) };
    // The other one is the task's.
    share.clone().into_raw();
    // SAFETY: just made; the state says scheduled, and the right to queue it is ours.
    let runnable = unsafe { Runnable::from_raw(raw.as_ptr().cast()) }.expect("it is not null");
    (runnable, JoinHandle::of(share))
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
    // SAFETY: alive as above. Relaxed: whoever sets it wakes the task after that.
    let aborted = unsafe { &(*head).aborted }.load(Ordering::Relaxed);
    let ended = if aborted {
        // SAFETY: the table is the task's own, and `begin_poll` made us the only one who polls.
        unsafe { (table.cancel)(head) };
        true
    } else {
        // SAFETY: as above.
        unsafe { (table.poll)(head, &mut context) }
    };
    if ended {
        // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
        if let Some(worker) = unsafe { Here::current() } {
            worker.count_exit();
            worker.note_exit();
        }
        let is_last = state.end_and_drop_ref();
        // SAFETY: the queue's reference, ours now, has just been dropped.
        return unsafe { free_if(is_last, head) };
    } else if state.end_poll() == Polled::Again {
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
    // SAFETY: the future lies in a room and is dropped in place, never moved.
    let pinned = unsafe { Pin::new_unchecked(future) };
    let output = match catch_unwind(AssertUnwindSafe(|| pinned.poll(context))) {
        Ok(Poll::Pending) => return false,
        Ok(Poll::Ready(output)) => Ok(output),
        // In a forked child: who waits for it does not exist there.
        Err(_) if orphan::is_orphan() => orphan::end_of_orphan(true),
        Err(panic) => Err(JoinError::panic(panic)),
    };
    // If its drop panics that is the task's panic, as in `cancel`, whatever it has put out.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| *place = None)) {
        bring(&task.slot, Err(JoinError::panic(panic)));
        drop_unwanted(output);
    } else {
        bring(&task.slot, output);
    }
    true
}

/// The output, or that there is none.
fn bring<T>(slot: &JoinSlot<T>, output: Result<T, JoinError>) {
    drop_unwanted(slot.fill(output));
}

fn drop_unwanted<T>(unwanted: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(unwanted))).is_err() {
        crate::message::fatal("an output that nobody wanted panicked while it was dropped");
    }
}

/// The task was aborted.
///
/// # Safety
/// `head` begins a `Cell<F>` that the caller polls alone.
unsafe fn cancel<F: Future>(head: *mut Head) {
    // SAFETY: the table is the task's own.
    let task = unsafe { &*head.cast::<Cell<F>>() };
    // SAFETY: the caller polls alone.
    let place = unsafe { &mut *task.future.get() };
    // The future is dropped where it lies. If that panics it is the task's panic, as if it had been its last poll's.
    let dropped = catch_unwind(AssertUnwindSafe(|| *place = None));
    bring(&task.slot, Err(dropped.map_or_else(JoinError::panic, |()| JoinError::aborted())));
}

/// # Safety
/// `head` begins a `Cell<F>` to which nobody holds a reference any more.
unsafe fn free<F: Future<Output: Send> + Send>(head: *mut Head) {
    // SAFETY: it begins a task, which is not null.
    let task = unsafe { NonNull::new_unchecked(head) }.cast::<Cell<F>>();
    // SAFETY: it lies in a room, and the task has one share, which it gives up once.
    let task = unsafe { TaskShare::from_raw(task) };
    let all = AssertUnwindSafe(|| {
        if !task.head.state.is_done() {
            // SAFETY: nobody else has the task. The future is dropped where it lies.
            unsafe { *task.future.get() = None };
            // Nobody can wake it any more: its joiner must not wait for ever.
            drop(task.slot.fill(Err(JoinError::lost())));
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
    let is_last = unsafe { (*head).state.drop_ref() };
    // SAFETY: the caller's reference has just been dropped.
    unsafe { free_if(is_last, head) };
}

/// # Safety
/// The caller has just dropped a reference, of which the state has told whether it was the last.
unsafe fn free_if(is_last: bool, head: *mut Head) {
    if is_last {
        // SAFETY: the task is the caller's, and alive until it is freed here.
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
    if !unsafe { (*head).state.add_ref() } {
        crate::message::fatal("more wakers of one task than fit into a word");
    }
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
