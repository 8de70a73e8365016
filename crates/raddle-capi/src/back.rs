//! Owns: `waits!`, a function of the interface that may wait, and then goes back by a jump or by a return.
//! May use: `fault`, `raddle-core`.
//! Never: a jump where nobody has waited.
//!
//! Why is in `raddle_core::door::returns`. The function itself is two instructions and a jump into `through`, which
//! calls the body. So all bodies return to one place, whoever has waited in which of them, and those returns are
//! predicted rightly, too. The body has the address to which the function returns as an argument more, and says with
//! its code how to get there. On aarch64 it is a plain function.
//!
//! PERF: `speed.c`, a message through a rendezvous: 68.7 to 58.7 ns. What does not wait apart from what does, each with
//! a frame of its own and so with fewer registers saved twice: 60.2.

use crate::fault::{CResult, entry};
use raddle_core::door::returns::{is_unexpected, will_leave};
#[cfg(target_arch = "x86_64")]
use std::arch::naked_asm;

/// A code, and whether to jump.
#[repr(C)]
pub(crate) struct Back {
    code: usize,
    jumps: usize,
}

#[cfg(not(target_arch = "x86_64"))]
impl Back {
    pub(crate) fn code(self) -> std::ffi::c_int {
        self.code as std::ffi::c_int
    }
}

/// As `fault::entry`, for the body of a function that returns to `site`.
#[inline(always)]
pub(crate) fn entry_back(site: usize, body: impl FnOnce() -> CResult) -> Back {
    will_leave(site);
    let code = entry(body);
    Back { code: code.cast_unsigned() as usize, jumps: is_unexpected(site).into() }
}

/// Calls the body whose address is in RAX.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) extern "C" fn through() {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call rax",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "test edx, edx",
        "jne 2f",
        "ret",
        "2:",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rcx",
        "jmp rcx",
        ".cfi_endproc",
    )
}

/// A function of the interface with two arguments, of words, whose body has where it returns to as its third.
macro_rules! waits {
    ($name:ident, $body:path, $first:ty, $second:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name(_: $first, _: $second) -> c_int {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "lea rax, [rip + {body}]",
                "mov rdx, [rsp]",
                "jmp {through}",
                ".cfi_endproc",
                body = sym $body,
                through = sym crate::back::through,
            )
        }

        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        extern "C" fn $name(first: $first, second: $second) -> c_int {
            $body(first, second, 0).code()
        }
    };
}

pub(crate) use waits;
