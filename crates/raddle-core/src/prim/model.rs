//! Owns: the primitives as loom models them.
//! May use: `loom`.
//! Never: an ordering that the machine would not give; where loom has none to offer, the weaker one.
//!
//! See the parent for what the shims promise. `futex_wait` yields between looks: a wake that is lost shows itself
//! as a thread that spins without end, which loom reports as a model that exceeds its branches.

use std::time::Duration;

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// A link of an intrusive list, whose every access loom checks for a race.
#[derive(Debug)]
pub(crate) struct Link<T>(loom::cell::Cell<*mut T>);

impl<T> Link<T> {
    pub(crate) fn new() -> Self {
        Link(loom::cell::Cell::new(std::ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.get()
    }

    pub(crate) fn set(&self, to: *mut T) {
        self.0.set(to);
    }
}

/// Loops until the word has changed. Time does not pass in a model, so a time-out never fires.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    while word.load(Ordering::Relaxed) == expected {
        loom::thread::yield_now();
    }
}

/// The waiter looks by itself.
pub(crate) fn futex_wake_one(_word: *const AtomicU32) {}

/// In the model the two halves are two full fences; `order` may leave either out to show that it is needed.
pub(crate) fn light_fence(_asymmetric: bool) {
    fence(Ordering::SeqCst); // pairs with `heavy_fence`
}

/// See [`light_fence`].
pub(crate) fn heavy_fence(_asymmetric: bool) {
    fence(Ordering::SeqCst); // pairs with `light_fence`
}
