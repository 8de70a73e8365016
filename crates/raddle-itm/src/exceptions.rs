//! Owns: C++'s exceptions of a transaction: what was made and not thrown, and what is caught, to be rolled back.
//! May use: `cxx`.
//! Never: an exception of its own.
//!
//! It holds `unsafe` for the run-time library of C++, which has a function for that.

use crate::cxx::optional;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Those of one transaction.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Made, and not thrown.
    pub(crate) made: Vec<*mut c_void>,
    pub(crate) caught: u32,
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
