//! Owns: the control words of aarch64.
//! May use: nothing.
//! Never: a register that a call keeps anyway.

use core::arch::asm;

/// FPCR, and FPSR with its exception flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlWords {
    fpcr: u64,
    fpsr: u64,
}

impl ControlWords {
    /// Those of the OS thread that calls.
    #[inline]
    pub fn here() -> ControlWords {
        let (fpcr, fpsr);
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, preserves_flags)) };
        // SAFETY: as above.
        unsafe { asm!("mrs {}, fpsr", out(reg) fpsr, options(nostack, preserves_flags)) };
        ControlWords { fpcr, fpsr }
    }

    /// Whether these are the same but for exception flags.
    #[inline]
    pub(super) fn has_modes_of(self, other: ControlWords) -> bool {
        self.fpcr == other.fpcr
    }

    /// Makes these those of the OS thread that calls.
    #[inline]
    pub(super) fn load(self) {
        // SAFETY: what came from this register.
        unsafe { asm!("msr fpcr, {}", in(reg) self.fpcr, options(nostack, preserves_flags)) };
        // SAFETY: as above.
        unsafe { asm!("msr fpsr, {}", in(reg) self.fpsr, options(nostack, preserves_flags)) };
    }
}
