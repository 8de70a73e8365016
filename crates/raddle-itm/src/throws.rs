//! Owns: the calls for exceptions of C++.
//! May use: `blocks`, `cxx`, `exceptions`, `tx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, whose functions these calls stand for.

use crate::blocks::HeapBlock;
use crate::cxx::{cxx, optional};
use crate::exceptions::{header, uncaught};
use crate::tx;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// A reference to the exception that is handled; null if there is none that can be held.
fn hold() -> *mut c_void {
    static FOUND: OnceLock<usize> = OnceLock::new();
    let Some(hold) = optional(&FOUND, c"__cxa_current_primary_exception") else { return null_mut() };
    // SAFETY: the function of this name has this type.
    let hold = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> *mut c_void>(hold) };
    hold()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_allocate_exception(size: usize) -> *mut c_void {
    let exception = cxx!(c"__cxa_allocate_exception": extern "C-unwind" fn(usize) -> *mut c_void)(size);
    if tx::is_speculative() {
        let tx = tx::current();
        tx.exceptions.made.push(exception);
        tx.captured.push(exception.addr(), size);
    }
    exception
}

/// It is there until the transaction is over, either way: it counts as made, and as a block that was given back.
#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_free_exception(exception: *mut c_void) {
    let free = cxx!(c"__cxa_free_exception": unsafe extern "C-unwind" fn(*mut c_void));
    let block = HeapBlock { address: exception, free };
    if tx::is_speculative() { tx::current().blocks.given.push(block) } else { block.free() }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_throw(exception: *mut c_void, of: *mut c_void, destructor: *mut c_void) {
    if tx::is_speculative() {
        let exceptions = &mut tx::current().exceptions;
        exceptions.made.retain(|&made| made != exception);
        exceptions.flying.push(exception);
        // SAFETY: the thread's own, and a number.
        exceptions.uncaught.get_or_insert_with(|| unsafe { uncaught().read() });
    }
    type Throw = extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void);
    cxx!(c"__cxa_throw": Throw)(exception, of, destructor);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_begin_catch(exception: *mut c_void) -> *mut c_void {
    if tx::is_speculative() {
        let exceptions = &mut tx::current().exceptions;
        exceptions.caught += 1;
        exceptions.flying.retain(|&object| header(object) != exception);
    }
    cxx!(c"__cxa_begin_catch": extern "C-unwind" fn(*mut c_void) -> *mut c_void)(exception)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_end_catch() {
    if tx::is_speculative() {
        let held = hold();
        let exceptions = &mut tx::current().exceptions;
        exceptions.caught = exceptions.caught.saturating_sub(1);
        if !held.is_null() {
            exceptions.handled.push(held);
        }
    }
    cxx!(c"__cxa_end_catch": extern "C-unwind" fn())();
}
