//! Owns: the calls for values that only C passes: of the floating-point stack, and of the long vector registers.
//! May use: nothing.
//! Never: the algorithm.
//!
//! It holds `unsafe` for code that takes them from where C puts them to a place in memory, and back.

use super::{keep, read_bytes, write_bytes};
use std::arch::naked_asm;

/// The bytes of C's `long double` that have a meaning; it takes 16.
const REAL: usize = 10;

unsafe extern "C-unwind" fn read_real(address: usize, to: *mut [u8; REAL]) {
    // SAFETY: in the frame of the calls below.
    read_bytes(address, unsafe { &mut *to });
}

unsafe extern "C-unwind" fn write_real(address: usize, from: *const [u8; REAL]) {
    // SAFETY: where C's caller has put it.
    write_bytes(address, unsafe { &*from });
}

unsafe extern "C-unwind" fn write_reals(address: usize, from: *const [[u8; REAL]; 2]) {
    let second = from.addr() + 16;
    // SAFETY: where C's caller has put the two, 16 bytes from each other.
    write_bytes(address, unsafe { &(*from)[0] });
    // SAFETY: as above.
    write_bytes(address + 16, unsafe { &*std::ptr::with_exposed_provenance::<[u8; REAL]>(second) });
}

unsafe extern "C-unwind" fn read_vector(address: usize, to: *mut [u8; 32]) {
    // SAFETY: in the frame of the calls below.
    read_bytes(address, unsafe { &mut *to });
}

unsafe extern "C-unwind" fn write_vector(address: usize, from: *const [u8; 32]) {
    // SAFETY: in the frame of the calls below.
    write_bytes(address, unsafe { &*from });
}

/// Calls for these values. A value that is written lies on the stack, behind the return address.
macro_rules! reals {
    ($($read:ident $read_two:ident)*; $($write:ident $write_two:ident)*;) => {
        $(
            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $read(address: usize) {
                naked_asm!(
                    ".cfi_startproc",
                    "sub rsp, 24",
                    ".cfi_adjust_cfa_offset 24",
                    "mov rsi, rsp",
                    "call {read}",
                    "fld tbyte ptr [rsp]",
                    "add rsp, 24",
                    ".cfi_adjust_cfa_offset -24",
                    "ret",
                    ".cfi_endproc",
                    read = sym read_real,
                )
            }

            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $read_two(address: usize) {
                naked_asm!(
                    ".cfi_startproc",
                    "sub rsp, 40",
                    ".cfi_adjust_cfa_offset 40",
                    "mov [rsp + 32], rdi",
                    "lea rdi, [rdi + 16]",
                    "mov rsi, rsp",
                    "call {read}",
                    "mov rdi, [rsp + 32]",
                    "lea rsi, [rsp + 16]",
                    "call {read}",
                    "fld tbyte ptr [rsp]",
                    "fld tbyte ptr [rsp + 16]",
                    "add rsp, 40",
                    ".cfi_adjust_cfa_offset -40",
                    "ret",
                    ".cfi_endproc",
                    read = sym read_real,
                )
            }
        )*
        $(
            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $write(address: usize) {
                naked_asm!("lea rsi, [rsp + 8]", "jmp {write}", write = sym write_real)
            }

            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $write_two(address: usize) {
                naked_asm!("lea rsi, [rsp + 8]", "jmp {write}", write = sym write_reals)
            }
        )*
    };
}

reals! {
    _ITM_RE _ITM_RCE _ITM_RaRE _ITM_RaRCE _ITM_RaWE _ITM_RaWCE _ITM_RfWE _ITM_RfWCE;
    _ITM_WE _ITM_WCE _ITM_WaRE _ITM_WaRCE _ITM_WaWE _ITM_WaWCE;
}

/// Calls for vectors of 32 bytes, which a program has whose processor has them.
macro_rules! vectors {
    ($($read:ident)*; $($write:ident)*;) => {
        $(
            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $read(address: usize) {
                naked_asm!(
                    ".cfi_startproc",
                    "sub rsp, 40",
                    ".cfi_adjust_cfa_offset 40",
                    "mov rsi, rsp",
                    "call {read}",
                    "vmovups ymm0, [rsp]",
                    "add rsp, 40",
                    ".cfi_adjust_cfa_offset -40",
                    "ret",
                    ".cfi_endproc",
                    read = sym read_vector,
                )
            }
        )*
        $(
            /// # Safety
            /// As the interface demands.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $write(address: usize) {
                naked_asm!(
                    ".cfi_startproc",
                    "sub rsp, 40",
                    ".cfi_adjust_cfa_offset 40",
                    "vmovups [rsp], ymm0",
                    "mov rsi, rsp",
                    "call {write}",
                    "add rsp, 40",
                    ".cfi_adjust_cfa_offset -40",
                    "ret",
                    ".cfi_endproc",
                    write = sym write_vector,
                )
            }
        )*
    };
}

vectors! {
    _ITM_RM256 _ITM_RaRM256 _ITM_RaWM256 _ITM_RfWM256;
    _ITM_WM256 _ITM_WaRM256 _ITM_WaWM256;
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_LE(address: usize) {
    keep(address, 16);
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_LCE(address: usize) {
    keep(address, 32);
}

#[unsafe(no_mangle)]
extern "C" fn _ITM_LM256(address: usize) {
    keep(address, 32);
}
