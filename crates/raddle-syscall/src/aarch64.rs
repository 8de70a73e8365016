//! Owns: the system call of aarch64.
//! May use: nothing.
//! Never: anything else.

use core::arch::asm;

/// Makes a system call; the kernel's answer as it comes.
///
/// # Safety
/// As the call of this number says for these arguments.
#[inline(always)]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 6]) -> usize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: passed on to the caller. The kernel changes x0 only; it may read and write memory.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    result
}
