//! Owns: functions of the program's with their arguments, and the words that they return.
//! May use: `fault`.
//! Never: a call after the interface has promised that there is none.

use crate::fault::{CResult, Fault};
use std::ffi::{c_int, c_void};

/// `raddle_fn`.
pub(crate) type Start = Option<unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void>;
/// `raddle_body`.
pub(crate) type BodyFn = Option<unsafe extern "C-unwind" fn(*mut c_void) -> c_int>;

/// A word of the program's: what it means, and who may use it, is the program's affair.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Word(pub(crate) *mut c_void);

// SAFETY: it is not followed here.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

/// A function with its argument: two words.
#[derive(Clone, Copy)]
pub(crate) struct CCall {
    function: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: Word,
}

impl CCall {
    #[inline(always)]
    pub(crate) fn new(function: Start, argument: *mut c_void) -> CResult<CCall> {
        Ok(CCall { function: function.ok_or(Fault::Invalid)?, argument: Word(argument) })
    }

    #[inline(always)]
    pub(crate) fn run(self) -> Word {
        // SAFETY: the interface asks for a function that may be called so, once, anywhere.
        Word(unsafe { (self.function)(self.argument.0) })
    }
}

/// As [`CCall`], of a function that returns a code.
#[derive(Clone, Copy)]
pub(crate) struct CBodyCall {
    function: unsafe extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: Word,
}

impl CBodyCall {
    pub(crate) fn new(function: BodyFn, argument: *mut c_void) -> CResult<CBodyCall> {
        Ok(CBodyCall { function: function.ok_or(Fault::Invalid)?, argument: Word(argument) })
    }

    pub(crate) fn run(self) -> c_int {
        // SAFETY: as in `CCall::run`.
        unsafe { (self.function)(self.argument.0) }
    }
}
