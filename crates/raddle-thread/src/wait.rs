//! Owns: `std::thread`'s ways to wait, by its names.
//! May use: `raddle-core`, `raddle-syscall`.
//! Never: another meaning than `process::wait` gives them.

use raddle_core::region;
use raddle_core::wait::park::{self, Caller, caller};
use raddle_core::worker::Here;
use raddle_core::worker::choice::{now, yields};
use std::time::{Duration, Instant};

/// Panics in a task, with the name that the program used.
#[inline]
#[track_caller]
pub(super) fn refuse_in_task(what: &str) {
    let _allowed = caller(what);
}

/// Waits until somebody unparks the caller, or uses up the token of an earlier [`unpark`](super::Thread::unpark). May
/// return for no reason.
///
/// # Panics
/// Inside a task, which must not wait.
///
/// ```
/// use raddle::thread;
/// let sleeper = thread::spawn(thread::park);
/// sleeper.thread().unpark();
/// sleeper.join().unwrap();
/// ```
#[inline]
#[track_caller]
pub fn park() {
    refuse_in_task("thread::park");
    park::park();
}

/// As `park`, and returns at the latest when `timeout` has passed, as far as the machine is free.
///
/// # Panics
/// Inside a task.
#[track_caller]
pub fn park_timeout(timeout: Duration) {
    refuse_in_task("thread::park_timeout");
    park::park_timeout(timeout);
}

/// As [`park_timeout`], in milliseconds.
///
/// # Panics
/// Inside a task.
#[deprecated(note = "use `park_timeout`")]
#[track_caller]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(ms.into()));
}

/// Waits for at least `duration`; its worker runs others meanwhile. Nothing happens if it is zero.
///
/// # Panics
/// Inside a task.
#[track_caller]
pub fn sleep(duration: Duration) {
    refuse_in_task("thread::sleep");
    if !duration.is_zero() {
        park::sleep(duration);
    }
}

/// As [`sleep`], in milliseconds.
///
/// # Panics
/// Inside a task.
#[deprecated(note = "use `sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}

/// Waits until `deadline` has passed; its worker runs others meanwhile.
///
/// # Panics
/// Inside a task.
#[track_caller]
pub fn sleep_until(deadline: Instant) {
    sleep(deadline.saturating_duration_since(now()));
}

/// Lets others run: the caller goes to the end of its worker's batch. Returns at once if nothing else can run here.
///
/// # Panics
/// Inside a task, whose way to yield is `raddle::task::yield_now`.
#[inline]
#[track_caller]
pub fn yield_now() {
    yields();
    match caller("thread::yield_now") {
        Caller::Process(block) => {
            region::check_process(block);
            // SAFETY: `block` is what runs here, and leaves its stack by this only.
            let here = unsafe { Here::of(&block.header) };
            // SAFETY: as above.
            unsafe { here.yield_process(block) };
        }
        Caller::Thread => {
            region::check();
            raddle_syscall::yield_processor();
        }
    }
}
