//! Owns: the stand-in where no stack can be walked: in the twin build and under ThreadSanitizer.
//! May use: `context`, `stack`.
//! Never: a frame.

use crate::context::Context;
use crate::stack::Stack;

/// No register is kept.
pub const REGISTERS: usize = 0;

/// Nothing is known of an OS thread that a signal has interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    /// Where it was.
    pub address: usize,
    /// None.
    pub registers: [usize; REGISTERS],
    /// None.
    pub blocked: u64,
}

impl Interrupted {
    /// Nothing.
    ///
    /// # Safety
    /// As in the plain build.
    pub unsafe fn of(_context: *const core::ffi::c_void) -> Interrupted {
        Interrupted { address: 0, registers: [], blocked: 0 }
    }

    /// That is not known.
    ///
    /// # Safety
    /// As in the plain build.
    pub unsafe fn is_at_system_call(&self) -> bool {
        false
    }

    /// Nowhere.
    pub fn stack_pointer(&self) -> usize {
        0
    }
}

/// No tables.
#[derive(Debug)]
pub struct Tables;

impl Tables {
    /// None are read.
    pub fn of_program() -> Tables {
        Tables
    }
}

/// Finds no frame.
///
/// # Safety
/// As in the plain build.
pub unsafe fn walk(_context: &Context, _stack: &Stack, _tables: &Tables, _each: impl FnMut(usize) -> bool) {}

/// Finds no frame.
///
/// # Safety
/// As in the plain build.
pub unsafe fn walk_interrupted(
    _thread: &Interrupted,
    _end: usize,
    _tables: &Tables,
    _each: impl FnMut(usize) -> bool,
) {
}

/// Nothing is known.
pub fn kept(_context: &Context, _stack: &Stack) -> core::ops::Range<usize> {
    0..0
}

/// Reads nothing.
///
/// # Safety
/// As in the plain build.
pub unsafe fn words(_memory: core::ops::Range<usize>, _each: impl FnMut(usize) -> bool) {}
