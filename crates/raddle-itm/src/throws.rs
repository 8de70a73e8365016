//! Owns: the calls for exceptions of C++.
//! May use: `tx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, whose functions these calls stand for.

use crate::cxx::cxx;
use crate::tx;
use std::ffi::c_void;

fn is_thrown(exception: *mut c_void) {
    if tx::is_speculative() {
        let tx = tx::current();
        tx.exceptions.made.retain(|&made| made != exception);
        // It may be freed while the transaction runs, and given to others.
        tx.captured.remove(exception.addr());
    }
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

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_free_exception(exception: *mut c_void) {
    is_thrown(exception);
    cxx!(c"__cxa_free_exception": extern "C-unwind" fn(*mut c_void))(exception);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_throw(exception: *mut c_void, of: *mut c_void, destructor: *mut c_void) {
    is_thrown(exception);
    type Throw = extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void);
    cxx!(c"__cxa_throw": Throw)(exception, of, destructor);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_begin_catch(exception: *mut c_void) -> *mut c_void {
    if tx::is_speculative() {
        tx::current().exceptions.caught += 1;
    }
    cxx!(c"__cxa_begin_catch": extern "C-unwind" fn(*mut c_void) -> *mut c_void)(exception)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_cxa_end_catch() {
    if tx::is_speculative() {
        let caught = &mut tx::current().exceptions.caught;
        *caught = caught.saturating_sub(1);
    }
    cxx!(c"__cxa_end_catch": extern "C-unwind" fn())();
}
