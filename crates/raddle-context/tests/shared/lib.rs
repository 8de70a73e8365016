//! A shared library on the stacks and the switch, with a C interface of two versions: see `tests/shared.rs`.

use raddle_context::{Context, SizeClass, StackDepot, StackPool, current, transfer};
use std::ffi::{c_int, c_void};

/// What a context of [`shared_run`] is given.
#[repr(C)]
struct Run {
    own: Context,
    back: Context,
    function: extern "C" fn(*mut c_void) -> c_int,
    data: *mut c_void,
    answer: c_int,
}

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    let run = me.cast::<Run>();
    // SAFETY: `own` is the first field of a `Run`, which waits for this.
    let run = unsafe { &mut *run };
    run.answer = (run.function)(run.data);
    &raw mut run.back
}

/// Runs a C function on a stack of its own; what it returns, or -1 if there is no stack.
#[unsafe(no_mangle)]
extern "C" fn shared_run(function: extern "C" fn(*mut c_void) -> c_int, data: *mut c_void) -> c_int {
    let mut pool = StackPool::new(StackDepot::new());
    let Ok(stack) = pool.take(SizeClass::DEFAULT) else { return -1 };
    let mut run = Run { own: Context::empty(), back: Context::empty(), function, data, answer: -1 };
    // SAFETY: the stack is given back after the context has ended.
    unsafe { run.own.prime(&stack, entry) };
    // SAFETY: `back` is empty, `own` primed, and one thread touches both.
    unsafe { transfer(&raw mut run.back, &raw mut run.own) };
    pool.give(stack);
    run.answer
}

/// Sets the word that says what runs, and gives the one before.
#[unsafe(no_mangle)]
extern "C" fn shared_exchange(word: *mut c_void) -> *mut c_void {
    let before = current::get();
    // SAFETY: nobody takes it for anything.
    unsafe { current::set(word.cast()) };
    before.cast()
}
