//! Owns: memory that a transaction gets and gives back: what it got goes if it fails, what it gives back goes if it
//! commits.
//! May use: `tx`, `libc`.
//! Never: memory of its own.
//!
//! It holds `unsafe` for the allocators of C and of C++, which are the program's. Those of C++ are looked for by name:
//! a program in C has none.

use crate::tx;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// A block, and what frees it.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    address: *mut c_void,
    free: unsafe extern "C-unwind" fn(*mut c_void),
}

impl Block {
    pub(crate) const fn new(address: *mut c_void, free: unsafe extern "C-unwind" fn(*mut c_void)) -> Block {
        Block { address, free }
    }

    pub(crate) fn free(self) {
        // SAFETY: its allocator's, and nobody has it any more.
        unsafe { (self.free)(self.address) };
    }
}

/// What one transaction got and gave back.
#[derive(Default)]
pub(crate) struct Blocks {
    got: Vec<Block>,
    given: Vec<Block>,
}

impl Blocks {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.got.is_empty() && self.given.is_empty()
    }

    pub(crate) const fn mark(&self) -> (usize, usize) {
        (self.got.len(), self.given.len())
    }

    pub(crate) fn give(&mut self, block: Block) {
        self.given.push(block);
    }

    pub(crate) fn commit(self) {
        self.given.into_iter().for_each(Block::free);
    }

    /// What came after `mark` was not so: those that are to be freed.
    pub(crate) fn undone(&mut self, mark: (usize, usize)) -> Vec<Block> {
        self.given.truncate(mark.1);
        self.got.split_off(mark.0)
    }
}

/// A function of the program's, or of a library that it has; null if there is none.
pub(crate) fn by_name(name: &CStr) -> usize {
    // SAFETY: a name of C's.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr()
}

/// A function of C++'s run-time library, as a value of this type.
macro_rules! cxx {
    ($name:literal: $type:ty) => {{
        static FOUND: ::std::sync::OnceLock<usize> = ::std::sync::OnceLock::new();
        let found = *FOUND.get_or_init(|| $crate::heap::by_name($name));
        assert!(found != 0, "{:?} is called, and the program has no run-time library of C++", $name);
        // SAFETY: the function of this name has this type.
        unsafe { ::std::mem::transmute::<*const (), $type>(::std::ptr::with_exposed_provenance(found)) }
    }};
}
pub(crate) use cxx;

fn got(address: *mut c_void, size: usize, free: unsafe extern "C-unwind" fn(*mut c_void)) -> *mut c_void {
    if !address.is_null() && tx::is_speculative() {
        let tx = tx::current();
        tx.blocks.got.push(Block::new(address, free));
        tx.captured.push(address.addr(), size);
    }
    address
}

fn given(address: *mut c_void, free: unsafe extern "C-unwind" fn(*mut c_void)) {
    let block = Block::new(address, free);
    if address.is_null() {
    } else if tx::is_speculative() {
        tx::current().blocks.give(block);
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

/// For [`cxx`], of what need not be there.
pub(crate) fn optional(found: &'static OnceLock<usize>, name: &CStr) -> Option<*const ()> {
    let found = *found.get_or_init(|| by_name(name));
    (found != 0).then(|| std::ptr::with_exposed_provenance(found))
}
