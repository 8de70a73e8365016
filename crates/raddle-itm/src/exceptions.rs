//! Owns: C++'s exceptions of a transaction: what was made, thrown, caught and handled, to be rolled back.
//! May use: `cxx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, which has functions for that.

use crate::cxx::{cxx, optional};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Those of one transaction.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Made, and not thrown.
    pub(crate) made: Vec<*mut c_void>,
    /// Thrown, and not caught.
    pub(crate) flying: Vec<*mut c_void>,
    pub(crate) caught: u32,
    /// Handled. They are there until the transaction is over: what it writes to them is stored then, and what reads
    /// them by itself, such as their destructors, comes after that.
    pub(crate) handled: Vec<*mut c_void>,
    /// How many were under way in the thread, before one was thrown here.
    pub(crate) uncaught: Option<u32>,
}

/// How many of each there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct ExceptionMark {
    made: usize,
    flying: usize,
    caught: u32,
    handled: usize,
}

fn since<T>(list: &mut Vec<T>, mark: usize) -> Vec<T> {
    list.split_off(mark.min(list.len()))
}

impl Exceptions {
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.made.is_empty() && self.caught == 0 && self.handled.is_empty() && self.uncaught.is_none()
    }

    pub(crate) const fn mark(&self) -> ExceptionMark {
        ExceptionMark {
            made: self.made.len(),
            flying: self.flying.len(),
            caught: self.caught,
            handled: self.handled.len(),
        }
    }

    /// The transaction is over.
    pub(crate) fn commit(self) {
        self.handled.into_iter().for_each(give_up);
    }

    /// What came after `mark` was not so: those that are to go.
    pub(crate) fn undone(&mut self, mark: ExceptionMark) -> Exceptions {
        let caught = self.caught.saturating_sub(mark.caught);
        self.caught = self.caught.min(mark.caught);
        Exceptions {
            made: since(&mut self.made, mark.made),
            flying: since(&mut self.flying, mark.flying),
            caught,
            handled: since(&mut self.handled, mark.handled),
            uncaught: None,
        }
    }

    /// They are as if never thrown; nor is `thrown` under way, unless it is null. No destructor is called: what they
    /// hold is undone, too.
    pub(crate) fn clean_up(mut self, thrown: *mut c_void) {
        self.flying.retain(|&object| header(object) != thrown);
        if self.is_empty() && self.flying.is_empty() && thrown.is_null() {
            return;
        }
        static FOUND: OnceLock<usize> = OnceLock::new();
        type Cleanup = extern "C" fn(*mut c_void, *mut c_void, u32);
        let Some(cleanup) = optional(&FOUND, c"__cxa_tm_cleanup") else { return };
        // SAFETY: the function of this name has this type.
        let cleanup = unsafe { std::mem::transmute::<*const (), Cleanup>(cleanup) };
        cleanup(null_mut(), thrown, self.caught);
        self.made.into_iter().for_each(|exception| cleanup(exception, null_mut(), 0));
        self.flying
            .into_iter()
            .chain(self.handled)
            .for_each(|exception| cleanup(null_mut(), header(exception), 0));
    }

    /// As many are under way as before.
    pub(crate) fn count_anew(&mut self) {
        if let Some(before) = self.uncaught.take() {
            // SAFETY: the thread's own, and a number.
            unsafe { uncaught().write(before) };
        }
    }
}

/// The unwinder's part of an exception stands before it, and ends there.
pub(crate) fn header(object: *mut c_void) -> *mut c_void {
    object.wrapping_byte_sub(32)
}

/// How many exceptions of the thread are under way: a part of the ABI.
pub(crate) fn uncaught() -> *mut u32 {
    let globals = cxx!(c"__cxa_get_globals": extern "C" fn() -> *mut c_void)();
    globals.wrapping_byte_add(8).cast()
}

fn give_up(exception: *mut c_void) {
    cxx!(c"__cxa_decrement_exception_refcount": extern "C-unwind" fn(*mut c_void))(exception);
}
