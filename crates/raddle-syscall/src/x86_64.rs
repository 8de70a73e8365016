//! Owns: the system call of x86-64.
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
    // SAFETY: passed on to the caller. The kernel changes rcx and r11; it may read and write memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}
