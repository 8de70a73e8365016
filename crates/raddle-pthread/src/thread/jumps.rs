//! Owns: `sigsetjmp` and the jumps, which put back what a thread blocks.
//! May use: `raddle-context`.
//! Never: a frame of its own that a jump would need.
//!
//! The C library keeps the kernel's mask in the buffer, that of the worker, and puts it back on the worker where the
//! thread is then, which has the same one. What the thread itself blocks is a record of ours. It lies in the part of
//! the set that the kernel does not know: of 128 bytes it has eight, and the C library up to 24.

use crate::next::next;
use crate::thread::signals;
use raddle_context::interpose;
use std::ffi::c_int;
use std::ptr::with_exposed_provenance_mut;

interpose! {
    siglongjmp => jump_with_mask;
    longjmp => jump;
    _longjmp => jump_plain;
    __longjmp_chk => jump_checked;
}

/// Where the buffer says that the mask is kept, and where ours lies.
const IS_SAVED: usize = 64;
const MASK: usize = 72 + 32;
/// Says that it is ours.
const MARK: u64 = 0x7261_6464_6c65_6a6d;

/// Keeps the mask. Where the C library's `__sigsetjmp` is.
unsafe extern "C" fn keep_mask(buffer: usize, saves: c_int) -> usize {
    type SetJump = usize;
    if let Some(mask) = signals::own_mask().filter(|_| saves != 0) {
        let place = with_exposed_provenance_mut::<[u64; 2]>(buffer + MASK);
        // SAFETY: in the caller's buffer of 200 bytes.
        unsafe { place.write([MARK, mask]) };
    }
    next!(c"__sigsetjmp": SetJump)
}

/// As the C library's, which sees the caller's registers and its return address.
///
/// # Safety
/// As `sigsetjmp`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __sigsetjmp(buffer: usize, saves: c_int) -> c_int {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {keep}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        keep = sym keep_mask,
    )
}

/// Puts the mask back that the buffer has, if it has one.
///
/// # Safety
/// The buffer is one of `setjmp`'s.
unsafe fn put_back(buffer: usize) {
    let is_saved = with_exposed_provenance_mut::<c_int>(buffer + IS_SAVED);
    // SAFETY: the caller's.
    if unsafe { is_saved.read() } == 0 {
        return;
    }
    let place = with_exposed_provenance_mut::<[u64; 2]>(buffer + MASK);
    // SAFETY: as above; whole, since the C library has room for a set there.
    let [mark, mask] = unsafe { place.read() };
    if mark == MARK {
        signals::set_own_mask(mask);
    }
}

type Jump = unsafe extern "C" fn(usize, c_int) -> !;

macro_rules! jumps {
    ($($ours:ident, $name:literal;)+) => {$(
        unsafe extern "C" fn $ours(buffer: usize, value: c_int) -> ! {
            // SAFETY: the caller's.
            unsafe { put_back(buffer) };
            // SAFETY: the caller's arguments.
            unsafe { next!($name: Jump)(buffer, value) }
        }
    )+};
}

jumps! {
    jump_with_mask, c"siglongjmp";
    jump, c"longjmp";
    jump_plain, c"_longjmp";
    jump_checked, c"__longjmp_chk";
}
