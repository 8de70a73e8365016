//! Owns: the choice of the assembly that this machine runs.
//! May use: `libc`.
//! Never: a difference that a caller could see.

pub(crate) mod carried;
#[cfg_attr(all(target_arch = "x86_64", not(raddle_tsan)), path = "x86_64.rs")]
#[cfg_attr(all(target_arch = "x86_64", raddle_tsan), path = "x86_64_tsan.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;
#[cfg(all(target_arch = "x86_64", raddle_tsan))]
mod tsan_word;

pub(crate) use machine::switch;
#[cfg(not(any(raddle_asan, raddle_tsan)))]
pub(crate) use machine::switch_here;
#[cfg(all(target_arch = "x86_64", not(any(raddle_asan, raddle_tsan))))]
pub(crate) use machine::{NOTE, NOTE_MARK, NOTE_MARK_BYTES, switch_here_noting};
#[cfg(not(raddle_tsan))]
pub(crate) use machine::{RETURN, SAVED, SAVED_BYTES, STACK_POINTER, interrupted, peek};
#[cfg(target_env = "gnu")]
pub(crate) use machine::{begin_carrying, prepare_storage, set_storage, set_storage_alone};

/// The general registers of x86-64 (and its return address, 16) and aarch64 have numbers of DWARF's below this.
#[cfg(not(raddle_tsan))]
pub const REGISTERS: usize = 33;

/// Whether the kernel lets programs write the FS base (Linux 5.9).
#[cfg(target_arch = "x86_64")]
fn may_write_fs_base() -> bool {
    const FSGSBASE: libc::c_ulong = 1 << 1;
    // SAFETY: no preconditions.
    let abilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    abilities & FSGSBASE != 0
}
