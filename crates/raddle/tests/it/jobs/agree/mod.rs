//! What `rayon-core` documents of `join`, `scope`, `spawn` and their kin, item by item. Included twice, with another
//! `jobs` each time: see the parents.
//!
//! Rayon's jobs must not wait for each other but by blocking a worker, so that these tests do that or nothing.

use super::{PLACES, jobs, on_workers};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

mod broadcast;
mod depth;
mod fifo;
mod join;
mod order;
mod order_of_spawns;
mod panics;
mod pool;
mod pool_edges;
mod pool_storage;
mod programs;
mod scope;
mod signatures;
mod spawn;
mod yields;

/// Runs the test in every kind of place.
fn everywhere(test: fn()) {
    for place in PLACES {
        place(test);
    }
}

/// The payload of the panic that `f` ends with.
fn panic_of<T>(f: impl FnOnce() -> T) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<&str>().expect("a text")
}

/// Panics without a message on the screen.
fn throw(text: &'static str) {
    resume_unwind(Box::new(text));
}

fn tick(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Blocks its worker, so that each side needs one of its own.
fn meet(barrier: &Barrier) {
    barrier.wait();
}

/// What happened, in order.
#[derive(Default)]
struct Notes(Mutex<Vec<&'static str>>);

impl Notes {
    fn note(&self, text: &'static str) {
        self.0.lock().unwrap().push(text);
    }

    fn all(self) -> Vec<&'static str> {
        self.0.into_inner().unwrap()
    }
}

/// Counts its own drops.
struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
