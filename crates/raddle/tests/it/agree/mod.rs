//! What `std::thread` documents, item by item. Included twice, with another `thread` each time: see the parents.
//!
//! Threads of these tests wait for each other by the module's own means only: a `std` channel would hold a worker.

use super::{PLACES, thread, thread_local};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

mod builder;
mod current;
mod local;
mod park;
mod programs;
mod scope;
mod signatures;
mod sleep;
mod spawn;
mod unwinding;

/// Runs the test in every kind of place.
fn everywhere(test: fn()) {
    for place in PLACES {
        place(test);
    }
}

/// The text of a panic that `f` ends with.
fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().expect("a panic with a text").to_string(),
    }
}

/// Opened once by anybody; a thread may wait for that.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn wait(&self) {
        while !self.is_open() {
            thread::yield_now();
        }
    }
}

/// Counts its own drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
