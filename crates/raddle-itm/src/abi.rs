//! Owns: the numbers of the interface between gcc's code and a library of transactions.
//! May use: nothing.
//! Never: what they lead to.
//!
//! They are those of Intel's *Transactional Memory Compiler and Runtime Application Binary Interface*, revision 1.1, as
//! gcc's `libitm.h` has them.

/// What the compiler knows of a transaction, when it begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct Properties(u32);

impl Properties {
    pub(crate) const fn new(bits: u32) -> Properties {
        Properties(bits)
    }

    /// There is code of it that reads and writes by calls.
    pub(crate) const fn has_instrumented(self) -> bool {
        self.0 & 0x1 != 0
    }

    /// There is code of it that reads and writes by itself.
    pub(crate) const fn has_plain(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// It is never cancelled.
    pub(crate) const fn has_no_abort(self) -> bool {
        self.0 & 0x8 != 0
    }

    /// It does what cannot be undone, on every way through it.
    pub(crate) const fn does_go_irrevocable(self) -> bool {
        self.0 & 0x40 != 0
    }
}

/// What the code is told to do, when a transaction begins, and when it begins anew.
pub(crate) mod action {
    pub(crate) const INSTRUMENTED: u32 = 0x1;
    pub(crate) const PLAIN: u32 = 0x2;
    pub(crate) const SAVE: u32 = 0x4;
    pub(crate) const RESTORE: u32 = 0x8;
    pub(crate) const ABORTED: u32 = 0x10;
}

/// Why the program gives a transaction up.
pub(crate) mod reason {
    pub(crate) const CANCEL: u32 = 0x1;
    pub(crate) const OUTERMOST: u32 = 0x10;
}

/// The interface's version, of the only one there is.
pub(crate) const VERSION: i32 = 90;
