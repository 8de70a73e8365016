//! Owns: the first instruction, and the two calls outside, on aarch64.
//! May use: assembly.
//! Never: anything but Linux's `write` and `exit`.

use core::arch::asm;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    exit(crate::run())
}

pub(crate) fn write(bytes: &[u8]) {
    // SAFETY: the call reads the bytes and changes x0.
    unsafe {
        asm!("svc 0", in("x8") 64, inlateout("x0") 1_usize => _, in("x1") bytes.as_ptr(), in("x2") bytes.len());
    }
}

pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: the call does not come back.
    unsafe { asm!("svc 0", in("x8") 93, in("x0") code, options(noreturn)) }
}
