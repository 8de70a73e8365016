//! Owns: the load and the store of a word of which some bytes may never have been written, on aarch64.
//! May use: nothing.
//! Never: an order; the protocols have fences for that.

use std::arch::asm;
use std::mem::MaybeUninit;

/// # Safety
/// `from` is the address of a word, and aligned.
#[inline(always)]
pub(super) unsafe fn load(from: *const MaybeUninit<u64>) -> MaybeUninit<u64> {
    let word: MaybeUninit<u64>;
    // SAFETY: one load, of a word that the caller says is there.
    unsafe {
        asm!("ldr {}, [{}]", lateout(reg) word, in(reg) from, options(nostack, preserves_flags, readonly))
    };
    word
}

/// # Safety
/// `to` is the address of a word, and aligned.
#[inline(always)]
pub(super) unsafe fn store(to: *mut MaybeUninit<u64>, word: MaybeUninit<u64>) {
    // SAFETY: one store, to a word that the caller says is there.
    unsafe { asm!("str {}, [{}]", in(reg) word, in(reg) to, options(nostack, preserves_flags)) };
}

/// Whether two words are the same, whatever was never written in them.
#[inline(always)]
pub(super) fn same(one: MaybeUninit<u64>, other: MaybeUninit<u64>) -> bool {
    let differs: u64;
    // SAFETY: an instruction on two registers.
    unsafe {
        asm!("eor {0}, {0}, {1}", inlateout(reg) one => differs, in(reg) other, options(pure, nomem, nostack));
    };
    differs == 0
}
