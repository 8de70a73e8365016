//! Owns: the twin of `context.rs` on OS threads.
//! May use: `current`, `stack`.
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
//! It uses threads, locks and condition variables of the standard library.

use crate::current;
use crate::stack::Stack;
use core::sync::atomic::AtomicPtr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// As [`crate::Entry`] of the plain build.
pub type Entry = unsafe extern "C" fn(me: *mut Context) -> *mut Context;

/// A flow of control that does not run; see the module's table.
#[derive(Debug)]
pub struct Context {
    entry: Option<Entry>,
    stack_bytes: usize,
    baton: Option<Arc<Baton>>,
}

impl Context {
    /// A context that stands for whoever runs.
    pub const fn empty() -> Self {
        Context { entry: None, stack_bytes: 0, baton: None }
    }

    /// Makes the next [`transfer`] to this context run `entry`, on an OS thread with as much stack as
    /// `stack` has.
    ///
    /// # Safety
    /// As in the plain build.
    pub unsafe fn prime(&mut self, stack: &Stack, entry: Entry) {
        *self = Context { entry: Some(entry), stack_bytes: stack.class().bytes(), baton: None };
    }
}

/// As [`transfer`].
///
/// # Safety
/// As in the plain build.
pub unsafe fn transfer_here(from: *mut Context, to: *mut Context) {
    // SAFETY: passed on to the caller.
    unsafe { transfer(from, to) }
}

/// Saves the running flow of control into `*from` and goes on with `*to`.
///
/// # Safety
/// As in the plain build.
pub unsafe fn transfer(from: *mut Context, to: *mut Context) {
    let own = Arc::new(Baton::default());
    // SAFETY: the caller says that `from` is valid and ours.
    unsafe { (*from).baton = Some(own.clone()) };
    // SAFETY: the caller says that `to` is suspended or primed.
    unsafe { hand_over(to) };
    own.wait();
}

/// As [`transfer`]: in the twin each context has thread-local storage of its own anyway.
///
/// # Safety
/// As in the plain build.
pub unsafe fn transfer_with(from: *mut Context, to: *mut Context, _storage: usize) {
    // SAFETY: passed on to the caller.
    unsafe { transfer(from, to) };
}

/// Lets `*to` run, with this OS thread's current word.
///
/// # Safety
/// `*to` is suspended or primed, and the caller stops touching what it shares with other contexts.
unsafe fn hand_over(to: *mut Context) {
    let word = CurrentWord(AtomicPtr::new(current::get()));
    // SAFETY: the caller's guarantee; nobody else touches `*to` until it runs.
    let context = unsafe { &mut *to };
    if let Some(baton) = context.baton.take() {
        return baton.give(word);
    }
    let entry = context.entry.take().expect("a transfer goes to a suspended or a primed context");
    let start = (AtomicPtr::new(to), word);
    // Debug builds of std and of the program take more than ours; a twin is not about sizes.
    let builder =
        thread::Builder::new().name("raddle twin".into()).stack_size(context.stack_bytes.max(1 << 20));
    let started = builder.spawn(move || {
        let (me, word) = start;
        word.install();
        // SAFETY: `to` was primed with this entry, which is called once.
        let next = unsafe { entry(me.into_inner()) };
        // SAFETY: an entry returns a context that is suspended or primed.
        unsafe { hand_over(next) };
    });
    started.expect("the twin needs an OS thread per started context");
}

/// The current word, on its way to another OS thread.
#[derive(Debug)]
struct CurrentWord(AtomicPtr<()>);

impl CurrentWord {
    fn install(self) {
        current::set(self.0.into_inner());
    }
}

/// What a suspended context's thread waits for.
#[derive(Debug, Default)]
struct Baton {
    word: Mutex<Option<CurrentWord>>,
    given: Condvar,
}

impl Baton {
    fn give(&self, word: CurrentWord) {
        *self.word.lock().unwrap_or_else(PoisonError::into_inner) = Some(word);
        self.given.notify_one();
    }

    fn wait(&self) {
        let mut place = self.word.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match place.take() {
                Some(word) => return word.install(),
                None => place = self.given.wait(place).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
