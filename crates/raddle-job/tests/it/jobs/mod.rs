//! `scope`, `spawn`, `fork` and the loops: what rayon-core promises of the first two, and that all of them may wait.

use crate::child::{assert_said, assert_success, in_child};
use crate::runtime;
use crate::watch::{Progress, Watchdog};
use raddle::{
    Fork, Scope, blocking, channel, csp, fork, in_place_scope, join, par_for, par_for_each, par_map, scope,
    scope_fifo, task, thread,
};
use std::cell::RefCell;
use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

mod forks;
mod loops;
mod scopes;
mod spawned;

/// In a process of one, two and eight workers, and on an OS thread, which uses the default runtime.
fn everywhere(test: impl Fn() + Sync) {
    for workers in [1, 2, 8] {
        let _dog = Watchdog::new(format!("jobs, {workers} workers"), Progress::default(), || {
            String::from("it hangs")
        });
        runtime(workers).run(&test);
    }
    test();
}

fn panic_of<T>(f: impl FnOnce() -> T) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    panic.downcast_ref::<&str>().expect("a text")
}

fn tick(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Blocks the OS thread, so that each side needs a worker of its own.
fn meet(barrier: &Barrier) {
    barrier.wait();
}

fn throw(text: &'static str) {
    resume_unwind(Box::new(text));
}
