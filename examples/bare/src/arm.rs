//! Owns: the first instruction, and the two calls outside, on a microcontroller's processor (ARMv6-M, Thumb).
//! May use: assembly.
//! Never: anything but Linux's `write` and `exit`.

use core::arch::asm;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    exit(crate::run())
}

pub(crate) fn write(bytes: &[u8]) {
    // SAFETY: the call reads the bytes and changes r0; r7, which holds its number, is the compiler's and is put back.
    unsafe {
        asm!(
            "mov {kept}, r7", "movs r7, #4", "svc 0", "mov r7, {kept}",
            kept = out(reg) _,
            inlateout("r0") 1_usize => _,
            in("r1") bytes.as_ptr(),
            in("r2") bytes.len(),
        );
    }
}

pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: the call does not come back.
    unsafe { asm!("movs r7, #1", "svc 0", "udf #0", in("r0") code, options(noreturn)) }
}

/// The tables for unwinding name it, and nothing ever calls it: a panic ends the program.
// SAFETY: nothing else in this binary has the name.
#[unsafe(no_mangle)]
extern "C" fn __aeabi_unwind_cpp_pr0() {}
