//! Owns: C++'s exceptions of a transaction: what was made and not thrown, and what is caught, when it is rolled back.
//! May use: `heap`, `tx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, whose functions these calls stand for.

use crate::heap::{cxx, optional};
use crate::tx;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Those of one transaction.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Made, and not thrown.
    made: Vec<*mut c_void>,
    caught: u32,
}

impl Exceptions {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.made.is_empty() && self.caught == 0
    }

    pub(crate) const fn mark(&self) -> (usize, u32) {
        (self.made.len(), self.caught)
    }

    pub(crate) fn clear(&mut self) {
        self.made.clear();
        self.caught = 0;
    }

    /// What came after `mark` was not so: those that are to go.
    pub(crate) fn undone(&mut self, mark: (usize, u32)) -> Exceptions {
        let caught = self.caught.saturating_sub(mark.1);
        self.caught = self.caught.min(mark.1);
        Exceptions { made: self.made.split_off(mark.0.min(self.made.len())), caught }
    }

    /// They are as if never thrown; nor is `thrown` under way, unless it is null.
    pub(crate) fn clean_up(self, thrown: *mut c_void) {
        if self.is_empty() && thrown.is_null() {
            return;
        }
        static FOUND: OnceLock<usize> = OnceLock::new();
        type Cleanup = extern "C" fn(*mut c_void, *mut c_void, u32);
        let Some(cleanup) = optional(&FOUND, c"__cxa_tm_cleanup") else { return };
        // SAFETY: the function of this name has this type.
        let cleanup = unsafe { std::mem::transmute::<*const (), Cleanup>(cleanup) };
        cleanup(null_mut(), thrown, self.caught);
        self.made.into_iter().for_each(|exception| cleanup(exception, null_mut(), 0));
    }
}

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
