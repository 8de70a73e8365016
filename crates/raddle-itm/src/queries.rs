//! Owns: what a program asks the library.
//! May use: `abi`, `tx`.
//! Never: a change.
//!
//! It holds `unsafe` for the declarations that C calls.

use crate::abi::VERSION;
use crate::tx::{self, Mode};
use std::ffi::{c_char, c_void};

#[unsafe(no_mangle)]
extern "C" fn _ITM_libraryVersion() -> *const c_char {
    concat!("Raddle's libitm ", env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_versionCompatible(version: i32) -> i32 {
    i32::from(version == VERSION)
}

/// 0 outside of a transaction, 1 in one that may run again, 2 in one that does not.
#[unsafe(no_mangle)]
extern "C" fn _ITM_inTransaction() -> u32 {
    match tx::mode() {
        Mode::Outside => 0,
        Mode::Speculative | Mode::Alone => 1,
        Mode::Irrevocable => 2,
    }
}

/// A number of the transaction's own; 1 outside of one.
#[unsafe(no_mangle)]
extern "C" fn _ITM_getTransactionId() -> u64 {
    if tx::mode() == Mode::Outside { 1 } else { tx::current().number() }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_addUserCommitAction(
    function: extern "C-unwind" fn(*mut c_void),
    _resumes: u64,
    argument: *mut c_void,
) {
    if tx::mode() == Mode::Outside {
        return function(argument);
    }
    tx::current().actions.on_commit(function, argument);
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_addUserUndoAction(function: extern "C-unwind" fn(*mut c_void), argument: *mut c_void) {
    if tx::is_speculative() {
        tx::current().actions.on_undo(function, argument);
    }
}

/// What others change there is no conflict from now on.
#[unsafe(no_mangle)]
extern "C" fn _ITM_dropReferences(address: *mut c_void, size: usize) {
    if tx::is_speculative() {
        tx::current().forget(address.addr(), size);
    }
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_error(_place: *const c_void, number: i32) -> ! {
    tx::fail(&format!("the compiler's code reports error {number}"))
}
