//! Owns: the primitives as loom models them.
//! May use: `loom`.
//! Never: an ordering that the machine would not give; where loom has none to offer, the weaker one.
//!
//! See the parent for what the shims promise. `futex_wait` yields between looks: a wake that is lost shows itself
//! as a thread that spins without end, which loom reports as a model that exceeds its branches.

#![allow(missing_docs, reason = "the twin on the machine says it")]

use std::time::Duration;

pub use loom::hint::spin_loop;
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A link of an intrusive list, whose every access loom checks for a race.
#[derive(Debug)]
pub struct Link<T>(loom::cell::Cell<*mut T>);

impl<T> Link<T> {
    pub fn new() -> Self {
        Link(loom::cell::Cell::new(std::ptr::null_mut()))
    }

    pub fn get(&self) -> *mut T {
        self.0.get()
    }

    pub fn set(&self, to: *mut T) {
        self.0.set(to);
    }
}

/// Lets another thread of the model run.
pub fn give_way(_round: u32) {
    loom::thread::yield_now();
}

/// Lets another thread of the model run.
pub fn pause(_turns: u32) {
    loom::thread::yield_now();
}

/// Stores over a word that others may change by read-modify-writes. What reads the old value then comes before this
/// store in the word's own order, since nothing stands between a read-modify-write and what it read; loom does not
/// know that of a store, but does of a swap, which has the same outcomes here.
macro_rules! overwrite {
    ($word:expr, $value:expr, $order:expr) => {{
        let _overwritten = $word.swap($value, $order);
    }};
}
pub(crate) use overwrite;

/// See the machine's twin: loom's words are made at run time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis fn $($rest)* };
}
pub(crate) use const_fn;

/// Lets the other threads of the model go on.
pub fn back_off(_round: u32) {
    loom::thread::yield_now();
}

/// A value that is replaced under a lock; loom checks every access.
#[derive(Debug)]
pub struct Guarded<T>(loom::cell::UnsafeCell<T>);

impl<T> Guarded<T> {
    pub fn new(value: T) -> Self {
        Guarded(loom::cell::UnsafeCell::new(value))
    }

    /// # Safety
    /// Nobody replaces the value meanwhile.
    pub unsafe fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: passed on to the caller; loom checks it.
        self.0.with(|p| f(unsafe { &*p }))
    }

    /// # Safety
    /// Nobody else looks at the value meanwhile.
    pub unsafe fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: passed on to the caller; loom checks it.
        self.0.with_mut(|p| f(unsafe { &mut *p }))
    }
}

/// Loops until the word has changed. Time does not pass in a model, so a time-out never fires.
pub fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    while word.load(Ordering::Relaxed) == expected {
        loom::thread::yield_now();
    }
}

/// As [`futex_wait`], with a whole word.
pub fn futex_wait_low(word: &AtomicU64, expected: u64, _timeout: Option<Duration>) {
    while word.load(Ordering::Relaxed) == expected {
        loom::thread::yield_now();
    }
}

/// The waiter looks by itself.
pub fn futex_wake_low(_word: &AtomicU64) {}

/// The waiter looks by itself.
pub fn futex_wake_one(_word: *const AtomicU32) {}

/// The waiters look by themselves.
pub fn futex_wake_all(_word: &AtomicU32) {}

/// In the model the two halves are two full fences; `order` may leave either out to show that it is needed.
pub fn light_fence(_asymmetric: bool) {
    fence(Ordering::SeqCst); // pairs with `heavy_fence`
}

/// A hint to a processor: nothing.
pub fn will_write<T>(_at: *const T) {}

/// See [`light_fence`].
pub fn heavy_fence(_asymmetric: bool) {
    fence(Ordering::SeqCst); // pairs with `light_fence`
}
