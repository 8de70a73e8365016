//! Owns: the twin of `context.rs` on OS threads.
//! May use: `current`, `libc`.
//! Never: assembly, a stack of ours, speed.
//!
//! Model checkers and race detectors follow OS threads, not our switch. Under `--cfg raddle_twin` each started context
//! is an OS thread of its own, and only one of a worker's contexts runs at a time: a transfer hands a *baton* to the
//! other OS thread, and waits for its own.
//!
//! | `Context` is | `entry` | `baton` |
//! |---|---|---|
//! | running, ended, or empty | none | none |
//! | primed | some | none |
//! | suspended | none | some: the one that its thread waits for |
//!
//! The baton carries the word of [`crate::current`]: it belongs to the worker, which in the twin moves
//! from one OS thread to the next. All other thread-local storage stays with the context, as it does with
//! Raddle's threads.
//!
//! A primed context that is never started costs nothing. One that is suspended and never resumed leaves
//! its OS thread waiting for ever.
//!
//! It uses locks and condition variables of the standard library.

use crate::current;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// As in the plain build.
pub type ContextEntry = unsafe extern "C" fn(me: *mut Context) -> *mut Context;

/// A flow of control that does not run; see the module's table.
#[derive(Debug)]
pub struct Context {
    pub(crate) entry: Option<ContextEntry>,
    pub(crate) stack_bytes: usize,
    pub(crate) baton: Option<Arc<Baton>>,
    /// It is primed or suspended.
    pub(crate) left: AtomicBool,
}

impl Context {
    /// A context that stands for whoever runs.
    pub const fn empty() -> Self {
        Context { entry: None, stack_bytes: 0, baton: None, left: AtomicBool::new(false) }
    }
}

impl Context {
    /// As in the plain build.
    pub fn has_left(&self) -> bool {
        // Pairs with the release in `transfer`.
        self.left.load(Ordering::Acquire)
    }

    /// Nothing that a cache could use.
    pub fn announce(&self) {}
}

/// The current word, on its way to another OS thread.
#[derive(Debug)]
pub(crate) struct CurrentWord(AtomicPtr<()>);

impl CurrentWord {
    /// That of the OS thread that calls.
    pub(crate) fn of_this_thread() -> CurrentWord {
        CurrentWord(AtomicPtr::new(current::get()))
    }

    pub(crate) fn install(self) {
        // SAFETY: it is the one who transfers that has said what runs next.
        unsafe { current::set(self.0.into_inner()) };
    }
}

/// The standard library's waits set `errno`, which is the context's: a switch leaves it alone.
struct ErrnoKept(libc::c_int);

impl ErrnoKept {
    fn new() -> ErrnoKept {
        // SAFETY: the address of this thread's variable.
        ErrnoKept(unsafe { *libc::__errno_location() })
    }
}

impl Drop for ErrnoKept {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// What a suspended context's thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Baton {
    word: Mutex<Option<CurrentWord>>,
    given: Condvar,
}

impl Baton {
    pub(crate) fn give(&self, word: CurrentWord) {
        let _as_it_was = ErrnoKept::new();
        *self.word.lock().unwrap_or_else(PoisonError::into_inner) = Some(word);
        self.given.notify_one();
    }

    pub(crate) fn wait(&self) {
        let _as_it_was = ErrnoKept::new();
        let mut place = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match place.take() {
                Some(word) => return word.install(),
                None => place = self.given.wait(place).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
