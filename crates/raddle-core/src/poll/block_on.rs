//! Owns: `block_on`: a future run to its end by whoever calls.
//! May use: `process`, `wait::park`.
//! Never: a worker blocked by it.

use crate::process::{self, Process};
use crate::wait::park::{self, Caller};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

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
/// As the future; and inside a task, which must not wait.
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
        if in_process { park::park_or_yield() } else { park::park_os_thread() }
    }
}
