//! Owns: the calls for memory: what a failing transaction got is freed, what a committing one gives back is.
//! May use: `blocks`, `tx`, `libc`.
//! Never: memory of its own.
//!
//! It holds `unsafe` for the allocators of C and of C++, which are the program's.

use crate::blocks::HeapBlock;
use crate::cxx::cxx;
use crate::tx;
use std::ffi::c_void;

fn got(address: *mut c_void, size: usize, free: unsafe extern "C-unwind" fn(*mut c_void)) -> *mut c_void {
    if !address.is_null() && tx::is_speculative() {
        let tx = tx::current();
        tx.blocks.got.push(HeapBlock { address, free });
        tx.captured.push(address.addr(), size);
    }
    address
}

fn given(address: *mut c_void, free: unsafe extern "C-unwind" fn(*mut c_void)) {
    let block = HeapBlock { address, free };
    if address.is_null() {
    } else if tx::is_speculative() {
        tx::current().blocks.given.push(block);
    } else {
        block.free();
    }
}

unsafe extern "C-unwind" fn free(address: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { libc::free(address) };
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_malloc(size: usize) -> *mut c_void {
    // SAFETY: of any size.
    got(unsafe { libc::malloc(size) }, size, free)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: of any size.
    got(unsafe { libc::calloc(count, size) }, count.saturating_mul(size), free)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ITM_free(address: *mut c_void) {
    given(address, free);
}

type New = extern "C-unwind" fn(usize) -> *mut c_void;
type NewOrNull = extern "C-unwind" fn(usize, *const c_void) -> *mut c_void;
type Delete = unsafe extern "C-unwind" fn(*mut c_void);

fn delete() -> Delete {
    cxx!(c"_ZdlPv": Delete)
}

fn delete_array() -> Delete {
    cxx!(c"_ZdaPv": Delete)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtnwm(size: usize) -> *mut c_void {
    got(cxx!(c"_Znwm": New)(size), size, delete())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtnam(size: usize) -> *mut c_void {
    got(cxx!(c"_Znam": New)(size), size, delete_array())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtnwmRKSt9nothrow_t(size: usize, nothrow: *const c_void) -> *mut c_void {
    got(cxx!(c"_ZnwmRKSt9nothrow_t": NewOrNull)(size, nothrow), size, delete())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtnamRKSt9nothrow_t(size: usize, nothrow: *const c_void) -> *mut c_void {
    got(cxx!(c"_ZnamRKSt9nothrow_t": NewOrNull)(size, nothrow), size, delete_array())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdlPv(address: *mut c_void) {
    given(address, delete());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdaPv(address: *mut c_void) {
    given(address, delete_array());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdlPvRKSt9nothrow_t(address: *mut c_void, _nothrow: *const c_void) {
    given(address, delete());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdaPvRKSt9nothrow_t(address: *mut c_void, _nothrow: *const c_void) {
    given(address, delete_array());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdlPvm(address: *mut c_void, _size: usize) {
    given(address, delete());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn _ZGTtdlPvmRKSt9nothrow_t(address: *mut c_void, _size: usize, _nothrow: *const c_void) {
    given(address, delete());
}
