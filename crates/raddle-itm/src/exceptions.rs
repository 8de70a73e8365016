//! Owns: C++'s exceptions of a transaction: what was made and not thrown, and what is caught, when it is rolled back.
//! May use: `heap`, `tx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, whose functions these calls stand for.

use crate::heap::{Block, cxx, optional};
use crate::tx;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Those of one transaction.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Made, and not thrown.
    made: Vec<*mut c_void>,
    /// Thrown, and not caught.
    flying: Vec<*mut c_void>,
    caught: u32,
    /// Handled. They are there until the transaction is over: what it writes to them is stored then, and what reads
    /// them by itself, such as their destructors, comes after that.
    handled: Vec<*mut c_void>,
    /// How many were under way in the thread, before one was thrown here.
    uncaught: Option<u32>,
}

/// How many of each there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark {
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

    pub(crate) const fn mark(&self) -> Mark {
        Mark {
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
    pub(crate) fn undone(&mut self, mark: Mark) -> Exceptions {
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
fn header(object: *mut c_void) -> *mut c_void {
    object.wrapping_byte_sub(32)
}

/// How many exceptions of the thread are under way: a part of the ABI.
fn uncaught() -> *mut u32 {
    let globals = cxx!(c"__cxa_get_globals": extern "C" fn() -> *mut c_void)();
    globals.wrapping_byte_add(8).cast()
}

/// A reference to the exception that is handled; null if there is none that can be held.
fn hold() -> *mut c_void {
    static FOUND: OnceLock<usize> = OnceLock::new();
    let Some(hold) = optional(&FOUND, c"__cxa_current_primary_exception") else { return null_mut() };
    // SAFETY: the function of this name has this type.
    let hold = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> *mut c_void>(hold) };
    hold()
}

fn give_up(exception: *mut c_void) {
    cxx!(c"__cxa_decrement_exception_refcount": extern "C-unwind" fn(*mut c_void))(exception);
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
    let block = Block::new(exception, free);
    if tx::is_speculative() { tx::current().blocks.give(block) } else { block.free() }
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
