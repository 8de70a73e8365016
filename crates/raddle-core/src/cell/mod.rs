//! Owns: cells: Rust futures as runnables, without a stack.
//! May use: `worker` to be scheduled, `timer`.
//! Never: blocking; a cell waits by returning `Pending`.
//!
//! A cell is one allocation: header, state word, future, and the place for its output. It may run on any worker at
//! each poll (its future is `Send`), so it is the kind that moves most freely; a woken cell comes to its waker.

mod join;
mod raw;
mod sleep;
mod spawn_blocking;
mod state;

pub use join::JoinHandle;
pub use sleep::{Sleep, YieldNow, sleep, sleep_until, yield_now};
pub use spawn_blocking::spawn_blocking;

use crate::process::{self, Process};
use crate::runtime;
use crate::wait::park::{self, Caller};
use crate::worker::Worker;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Spawns a future as a cell of the caller's runtime (from an OS thread: the default one, which starts on first use).
///
/// # Panics
/// If the default runtime cannot be started.
///
/// ```
/// use raddle::task;
/// let sum = task::block_on(async { task::spawn(async { 1 + 2 }).await.unwrap() });
/// assert_eq!(sum, 3);
/// ```
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (cell, handle) = raw::new(future);
    match Worker::current() {
        Some(worker) => worker.submit_cell(cell),
        None => runtime::here().expect("the default runtime cannot be started").inject_cell(cell),
    }
    handle
}

/// Unparks a process or an OS thread.
enum Sleeper {
    Process(Process),
    Thread(std::thread::Thread),
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match &**self {
            Sleeper::Process(process) => process.unpark(),
            Sleeper::Thread(thread) => thread.unpark(),
        }
    }
}

/// Runs a future to its end on the caller: a process parks while it is pending, an OS thread blocks.
///
/// # Panics
/// As the future; and inside a cell, which must not wait.
///
/// ```
/// assert_eq!(raddle::task::block_on(async { 6 * 7 }), 42);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let sleeper = match (park::caller("task::block_on"), process::current()) {
        (Caller::Process(_), Some(process)) => Sleeper::Process(process),
        _ => Sleeper::Thread(std::thread::current()),
    };
    let in_process = matches!(sleeper, Sleeper::Process(_));
    let waker = Waker::from(Arc::new(sleeper));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if in_process { park::park_or_yield() } else { std::thread::park() }
    }
}
