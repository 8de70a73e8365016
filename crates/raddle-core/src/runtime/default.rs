//! Owns: the default runtime: started on first use, never ended.
//! May use: `block::current`, `message`, `worker`, `libc`.
//! Never: a second one, but in a forked child, which has none of its parent's OS threads.

use super::{BuildError, Builder, Runtime, Shared};
use crate::worker::{Worker, current_header};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

static DEFAULT: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());
static STARTING: Mutex<()> = Mutex::new(());

/// Calls `f` with the runtime that a call from here belongs to: the caller's own, else the default one.
pub fn with_here<T>(f: impl FnOnce(&Shared) -> T) -> Result<T, BuildError> {
    // SAFETY: `f` cannot keep it.
    unsafe { here() }.map(f)
}

/// The runtime that a call from here belongs to: the caller's own, else the default one.
///
/// # Safety
/// It is not used any more when what runs here has ended, or does not stand for a worker any more.
pub unsafe fn here<'a>() -> Result<&'a Shared, BuildError> {
    // SAFETY: passed on to the caller.
    if let Some(worker) = unsafe { Worker::current() } {
        return Ok(worker.shared());
    }
    // As in `place::place`.
    // SAFETY: passed on to the caller.
    if let Some(shared) = unsafe { super::place::stood_for() } {
        return Ok(shared);
    }
    // SAFETY: the word is null or the header of what runs here, which is alive.
    if let Some(away) = unsafe { current_header().as_ref() } {
        // SAFETY: only the public half of the worker is used that it came from; its runtime waits for it.
        return Ok(unsafe { Worker::of(away) }.shared());
    }
    match started() {
        Some(shared) => Ok(shared),
        None => start(),
    }
}

/// The default runtime, if it has been started. It is never freed.
pub(super) fn started() -> Option<&'static Shared> {
    // SAFETY: null, or a runtime that is never freed. Acquire pairs with the release in `keep`.
    unsafe { DEFAULT.load(Ordering::Acquire).as_ref() }
}

#[cold]
fn start<'a>() -> Result<&'a Shared, BuildError> {
    let only_one = starting();
    // SAFETY: as in `here`. Relaxed: the lock orders it.
    match unsafe { DEFAULT.load(Ordering::Relaxed).as_ref() } {
        Some(shared) => Ok(shared),
        None => Ok(keep(Builder::default().build()?, &only_one)),
    }
}

/// Makes the runtime that `build` gives the default one.
pub fn install(build: impl FnOnce() -> Result<Runtime, BuildError>) -> Result<(), BuildError> {
    let only_one = starting();
    if !DEFAULT.load(Ordering::Relaxed).is_null() {
        return Err(BuildError::AlreadyStarted);
    }
    keep(build()?, &only_one);
    Ok(())
}

fn keep<'a>(runtime: Runtime, _only_one: &MutexGuard<'_, ()>) -> &'a Shared {
    // Its workers run until the program ends; nobody joins them.
    let kept = Arc::into_raw(runtime.release()).cast_mut();
    DEFAULT.store(kept, Ordering::Release); // pairs with the acquire in `here`
    register_exit_report();
    // SAFETY: kept for ever by the `Arc` that was just leaked.
    unsafe { &*kept }
}

/// Held over a fork, so that the child does not find it locked by a thread that it does not have.
pub fn starting() -> MutexGuard<'static, ()> {
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a forked child: the parent's runtime has no threads here. The next use starts another.
pub fn forget() {
    DEFAULT.store(std::ptr::null_mut(), Ordering::Relaxed);
}

/// `RADDLE_STATS=on` prints when the program ends.
fn register_exit_report() {
    // Once for a program and all that it forks.
    static REGISTERED: Once = Once::new();
    extern "C" fn at_exit() {
        if let Some(shared) = started().filter(|shared| shared.prints_stats) {
            crate::message::say(&shared.stats_text());
        }
    }
    REGISTERED.call_once(|| {
        // SAFETY: registers a function that lives as long as the program. Full tables leave the report out.
        unsafe { libc::atexit(at_exit) };
    });
}
