//! Owns: the control words of x86-64.
//! May use: nothing.
//! Never: the x87 status word, which only a whole save of that unit would set.
//!
//! It uses MXCSR; the x87 control word.

use core::arch::asm;

/// MXCSR with its exception flags, and the x87 control word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlWords {
    mxcsr: u32,
    x87: u16,
}

impl ControlWords {
    /// Those of the OS thread that calls.
    #[inline]
    pub fn here() -> ControlWords {
        let (mut mxcsr, mut x87) = (0_u32, 0_u16);
        // SAFETY: stores 32 bits.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        // SAFETY: stores 16 bits.
        unsafe { asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags)) };
        ControlWords { mxcsr, x87 }
    }

    /// Whether these are the same but for exception flags.
    #[inline]
    pub(super) fn has_modes_of(self, other: ControlWords) -> bool {
        const FLAGS: u32 = 0x3f;
        (self.mxcsr ^ other.mxcsr) & !FLAGS == 0 && self.x87 == other.x87
    }

    /// Makes these those of the OS thread that calls.
    #[inline]
    pub(super) fn load(self) {
        // SAFETY: reads 32 bits, which came from this register: none that is reserved is set.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, preserves_flags)) };
        // SAFETY: reads 16 bits.
        unsafe { asm!("fldcw [{}]", in(reg) &raw const self.x87, options(nostack, preserves_flags)) };
    }
}
