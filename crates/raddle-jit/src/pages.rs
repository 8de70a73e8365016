//! Owns: memory that holds code.
//! May use: `libc`.
//! Never: memory that can be written and executed at once.
//!
//! It asks the kernel for pages.

use std::io;
use std::ptr;

/// Pages with code, which can be executed and not written.
#[derive(Debug)]
pub(crate) struct Pages {
    address: usize,
    bytes: usize,
}

impl Pages {
    /// Pages with that code.
    pub(crate) fn with(code: &[u8]) -> io::Result<Pages> {
        let bytes = code.len().max(1);
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: fresh pages, anywhere.
        let place = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let pages = Pages { address: place as usize, bytes };
        // SAFETY: it is as large, and nobody else knows of it.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), place.cast::<u8>(), code.len()) };
        // SAFETY: the pages are ours.
        if unsafe { libc::mprotect(place, bytes, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        pages.show_to_instructions();
        Ok(pages)
    }

    /// Where they begin.
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Where instructions have a cache of their own, it must not hold what lay there before.
    fn show_to_instructions(&self) {
        #[cfg(target_arch = "aarch64")]
        {
            unsafe extern "C" {
                /// The compiler's library has it.
                fn __clear_cache(from: usize, to: usize);
            }
            // SAFETY: the pages are ours.
            unsafe { __clear_cache(self.address, self.address + self.bytes) };
        }
    }
}

/// Other OS threads, which have run code before, are about to find new code: what is known of it is theirs from here
/// on, in whatever order they look. (x86 has that by itself.)
pub(crate) fn show_to_all() {
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: it has two numbers, and touches no memory.
    let _ =
        unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0) };
}

/// Whether code may be made while others run.
pub(crate) fn may_come_later() -> bool {
    #[cfg(target_arch = "x86_64")]
    return true;
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: it has two numbers, and touches no memory.
    return 0
        == unsafe {
            libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0)
        };
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: nobody runs the code any more: the machine that had it is dropped.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }
}

#[test]
fn pages_hold_what_they_were_given() {
    let code = [1, 2, 3, 4, 5];
    let pages = Pages::with(&code).unwrap();
    // SAFETY: as many bytes lie there.
    let there = unsafe { std::slice::from_raw_parts(pages.address() as *const u8, code.len()) };
    assert_eq!(there, code);
}
