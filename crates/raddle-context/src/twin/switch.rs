//! Owns: the twin of `switch.rs`: a transfer between OS threads.
//! May use: `context`, `stack`.
//! Never: assembly, a stack of ours, speed.
//!
//! It uses threads of the standard library.

use crate::context::{Baton, Context, ContextEntry, CurrentWord};
use crate::stack::Stack;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::Arc;
use std::thread;

impl Context {
    /// Makes the next [`transfer`] to this context run `entry`, on an OS thread with as much stack as
    /// `stack` has.
    ///
    /// # Safety
    /// As in the plain build.
    pub unsafe fn prime(&mut self, stack: &Stack, entry: ContextEntry) {
        let left = AtomicBool::new(true);
        *self = Context { entry: Some(entry), stack_bytes: stack.class().bytes(), baton: None, left };
    }
}

/// As [`transfer_with`].
///
/// # Safety
/// As in the plain build.
pub unsafe fn transfer_here(from: *mut Context, to: *mut Context, _storage: usize) {
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
    // Whoever gives the baton from now on finds nobody who waits yet, which is as good. Pairs with `has_left`.
    // SAFETY: as above.
    unsafe { (*from).left.store(true, Ordering::Release) };
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
    let word = CurrentWord::of_this_thread();
    // SAFETY: the caller's guarantee; nobody else touches `*to` until it runs.
    let context = unsafe { &mut *to };
    *context.left.get_mut() = false;
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
