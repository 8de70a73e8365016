//! Owns: tasks as programs use them: spawning, sleeping, calls that block.
//! May use: `message`, `poll`, `runtime`, `worker::submit`.
//! Never: a wait inside a poll.

mod sleep;
mod spawn_blocking;

pub use crate::poll::{AbortHandle, JoinError, JoinHandle, block_on};
pub use sleep::{Sleep, YieldNow, sleep, sleep_until, yield_now};
pub use spawn_blocking::spawn_blocking;

use crate::message;
use crate::poll;
use crate::runtime;
use crate::worker::submit_task;

/// Spawns a future as a task of the caller's runtime (from an OS thread: the default one, which starts on first use).
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
    let (task, handle) = poll::new(future);
    if let Err(task) = submit_task(task) {
        message::started(runtime::with_here(|runtime| runtime.inject_task(task)));
    }
    handle
}
