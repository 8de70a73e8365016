//! Owns: `task::spawn_blocking`.
//! May use: `blocking::spare`, `message`, `orphan`, `poll::error`, `poll::join`, `runtime`, `worker::shared`.
//! Never: a task: what blocks is a function, and only its end is awaited.

use crate::blocking::run_detached;
use crate::message;
use crate::orphan;
use crate::poll::{JoinError, JoinHandle, LoneSlot};
use crate::runtime::{self, Shared};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`, which may block an OS thread, on a spare one, and returns a future of its value.
///
/// What [`blocking`](crate::blocking()) is to a process this is to a task. The runtime does not end before `f` has; a
/// dropped handle leaves `f` running, and so does [`abort`](JoinHandle::abort).
///
/// # Panics
/// If the default runtime cannot be started.
///
/// ```
/// use raddle::task;
/// let text = task::block_on(async {
///     task::spawn(async { task::spawn_blocking(|| std::fs::read("Cargo.toml")).await.unwrap() }).await.unwrap()
/// });
/// assert!(text.is_ok());
/// ```
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let slot = LoneSlot::new();
    let handle = JoinHandle::of(slot.clone());
    let runtime = message::started(runtime::with_here(Shared::hold));
    runtime.leave_outside();
    let of = runtime.clone();
    run_detached(&of, move || {
        let generation = orphan::generation();
        let result = catch_unwind(AssertUnwindSafe(f));
        if generation != orphan::generation() {
            // Forked in the call: in the child nobody awaits it, and no spare OS thread is to go on.
            orphan::end_of_orphan(result.is_err());
        }
        let unwanted = slot.fill(result.map_err(JoinError::panic));
        if catch_unwind(AssertUnwindSafe(|| drop(unwanted))).is_err() {
            message::fatal("a value that nobody wanted panicked while it was dropped");
        }
        runtime.back_outside();
    });
    handle
}
